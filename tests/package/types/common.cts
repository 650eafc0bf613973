// A CommonJS file: `require` of ES modules, as Node 20.19 and later do it.
import omnigrad = require('omnigrad');
import nn = require('omnigrad/nn');

export function use(x: omnigrad.Tensor): omnigrad.Tensor {
  return new nn.Linear(2, 2).call(x).relu();
}

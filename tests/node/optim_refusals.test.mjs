// What optimizers, clipping and schedules refuse: by the name of the class or function, with the value and the rule.
import { describe } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';
import { refused } from './lib/refused.mjs';

await og.init({ variant: 'single' });

class Net extends nn.Module {
  weight = nn.parameter(og.ones([2]));
  forward(x) {
    return x.mul(this.weight);
  }
}
const net = new Net();
const params = net.parameters();
const loss = () => net.weight.square().sum();
const sgd = (options) => new optim.SGD(params, { lr: 0.1, ...options });

describe('optimizers', () => {
  refused([
    [() => new optim.Adam(net), 'Adam', /params is an object of Net; .*net.parameters\(\)/],
    [() => new optim.Adam(net.weight), 'Adam', /params is an object of Tensor/],
    [() => new optim.Adam(), 'Adam', /params is undefined/],
    [() => new optim.Adam([...params, ...params]), 'Adam', /parameter 1 is there twice/],
    [() => new optim.Adam([{ params: 3 }]), 'Adam', /params is 3/],
    [() => new optim.Adam([{ params, lrr: 1 }]), 'Adam', /'lrr'; allowed: lr/],
    [() => new optim.Adam(params, 0.1), 'Adam', /options must be an object/],
    [() => new optim.Adam(params, { learningRate: 1 }), 'Adam', /'learningRate'; allowed: lr, betas/],
    [() => new optim.Adam(params, { lr: NaN }), 'Adam', /lr is NaN; it must be a finite number, 0 or more/],
    [() => new optim.Adam(params, { lr: -1 }), 'Adam', /lr is -1/],
    [() => new optim.Adam(params, { lr: '0.1' }), 'Adam', /lr is '0.1'/],
    [
      () => new optim.Adam(params, { betas: [0.9, 1] }),
      'Adam',
      /betas is \[0.9, 1\]; it must be 2 of: a number from 0 to below 1/,
    ],
    [() => new optim.Adam(params, { betas: [0.9] }), 'Adam', /betas/],
    [() => new optim.Adam(params, { betas: 0.9 }), 'Adam', /betas/],
    [() => new optim.Adam(params, { amsgrad: 1 }), 'Adam', /amsgrad is 1; it must be true or false/],
    [() => new optim.RMSprop(params, { alpha: 2 }), 'RMSprop', /alpha is 2; it must be a number from 0 to 1/],
    [() => new optim.Muon(params, { nsSteps: 0.5 }), 'Muon', /nsSteps is 0.5; it must be a whole number/],
    [() => new optim.Muon(params, { adjustLrFn: 'x' }), 'Muon', /'original', 'matchRmsAdamw'/],
    [() => new optim.LBFGS(params, { maxIter: 0 }), 'LBFGS', /maxIter/],
    [() => new optim.LBFGS(params, { lineSearchFn: 'wolfe' }), 'LBFGS', /'strongWolfe', null/],
    [() => sgd({ nesterov: true }), 'SGD', /nesterov.*momentum/],
    [() => sgd({ momentum: 'x' }), 'SGD', /momentum is 'x'/],
    [() => (sgd().lr = '1'), 'SGD', /lr is '1'/],
    [() => (sgd().lr = NaN), 'SGD', /lr is NaN/],
    [
      () => {
        const optimizer = sgd();
        optimizer.paramGroups[0].options.lr = 'fast';
        optimizer.step();
      },
      'SGD',
      /lr is 'fast'/,
    ],
    [() => sgd().step(3), 'SGD', /closure is 3; it must be a function/],
    [() => sgd().step(() => 3), 'SGD', /must return its loss, a Tensor; it returned 3/],
    [() => sgd().loadStateDict(null), 'SGD.loadStateDict', /what stateDict\(\) gives; got null/],
    [() => sgd().loadStateDict({ state: {}, paramGroups: [3] }), 'SGD.loadStateDict', /what stateDict/],
    [() => sgd().minimize(() => {}), 'minimize', /must return its loss.*it returned undefined/],
    [() => sgd().minimize(), 'minimize', /fn is undefined; it must be a function/],
    [() => sgd().minimize(async () => net.weight.sum()), 'minimize', /promise/],
    [() => sgd().minimize(() => net.weight.mul(2)), 'minimize', /shape \[2\].*mean\(\) or sum\(\)/],
    [() => sgd().minimize(loss, { clipnorm: 1 }), 'minimize', /'clipnorm'; allowed: clipNorm/],
    [() => sgd().minimize(loss, { clipNorm: -1 }), 'minimize', /clipNorm is -1/],
    [() => sgd().minimize(loss, { clipNorm: '1' }), 'minimize', /clipNorm is '1'/],
    [
      () => sgd().minimize(loss, { accumulate: 0 }),
      'minimize',
      /accumulate is 0; .*true or false, or a whole number/,
    ],
    [() => optim.clipGradNorm(net, 1), 'clipGradNorm', /params is an object of Net/],
    [() => optim.clipGradNorm([3], 1), 'clipGradNorm', /each of params is 3/],
    [() => optim.clipGradNorm(params, -1), 'clipGradNorm', /maxNorm is -1/],
    [() => optim.clipGradNorm(params, 1, { norm: 1 }), 'clipGradNorm', /'norm'; allowed: normType/],
    [() => optim.clipGradValue(params), 'clipGradValue', /clipValue is undefined/],
  ]);
});

describe('schedules', () => {
  refused([
    [() => new optim.StepLR(sgd()), 'StepLR', /options must be an object/],
    [() => new optim.StepLR(sgd(), {}), 'StepLR', /stepSize is undefined; it must be a whole number from 1/],
    [() => new optim.StepLR(sgd(), { step: 1 }), 'StepLR', /'step'; allowed: stepSize, gamma/],
    [() => new optim.StepLR(net, { stepSize: 1 }), 'StepLR', /optimizer is an object of Net/],
    [() => new optim.MultiStepLR(sgd(), { milestones: 3 }), 'MultiStepLR', /milestones is 3/],
    [() => new optim.ExponentialLR(sgd(), { gamma: NaN }), 'ExponentialLR', /gamma is NaN/],
    [() => new optim.LinearLR(sgd(), { totalIters: 0 }), 'LinearLR', /totalIters is 0/],
    [() => new optim.LambdaLR(sgd(), { lrLambda: 1 }), 'LambdaLR', /lrLambda is 1; it must be a function/],
    [
      () => new optim.SequentialLR(sgd(), { schedulers: [1], milestones: [1] }),
      'SequentialLR',
      /schedulers is \[1\]/,
    ],
    [() => new optim.OneCycleLR(sgd(), { maxLr: 1 }), 'OneCycleLR', /totalSteps/],
    [() => new optim.OneCycleLR(sgd(), { totalSteps: 1 }), 'OneCycleLR', /maxLr is undefined/],
    [
      () => new optim.OneCycleLR(sgd(), { maxLr: 1, totalSteps: 5, annealStrategy: 'no' }),
      'OneCycleLR',
      /'cos', 'linear'/,
    ],
    [
      () => new optim.CyclicLR(sgd(), { baseLr: 1, maxLr: 2, stepSizeUp: -1 }),
      'CyclicLR',
      /stepSizeUp is -1/,
    ],
  ]);
});

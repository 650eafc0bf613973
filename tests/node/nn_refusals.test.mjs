// What layers' constructors refuse: every one by its own name, with the value and the rule.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

await og.init({ variant: 'single' });

/** Each row: the layer, its arguments, what the message says after the layer's name. */
const rows = [
  ['Bilinear', [2, 2], /outFeatures is undefined; it must be a whole number from 1/],
  ['Unflatten', [1, 4], /unflattenedSize is 4; it must be a list/],
  ['ConvNd', [2, 1, 1, [3]], /kernelSize is \[3\]; it must be a whole number from 1, or a list of 2/],
  ['Conv2d', [1, 1, 3, { paddingMode: 'zero' }], /paddingMode is 'zero'; it must be one of 'zeros'/],
  ['ConvTranspose1d', [1, 1, 3, { padding: 'same' }], /padding is 'same'; it must be a whole number/],
  [
    'DeformConv1d',
    [4, 4, 3, { offsetGroups: 3 }],
    /offsetGroups is 3; it must be a divisor of inChannels, which is 4/,
  ],
  ['DeformConv3dPack', [4, 4, 3, { mask: true }], /unknown option 'mask'; allowed: .*modulated/],
  ['MaxPool1d', [2, { returnIndices: 1 }], /returnIndices is 1; it must be true or false/],
  ['MaxPool3d', [[2, 2]], /kernelSize is \[2, 2\]; it must be a whole number from 1, or a list of 3/],
  ['LPPool2d', [0, 2], /normType is 0; it must be a number above 0/],
  ['AdaptiveAvgPool2d', [[1, 2, 3]], /outputSize is \[1, 2, 3\]; .*a list of 2/],
  ['AdaptiveMaxPool1d', [0], /outputSize is 0; it must be a whole number from 1 or null/],
  ['MaxUnpool2d', [2, { outputSize: [4, 4] }], /unknown option 'outputSize'; allowed: stride, padding/],
  ['BatchNorm1d', [], /numFeatures is undefined; it must be a whole number from 1/],
  ['BatchNorm2d', [4, { momentum: 2 }], /momentum is 2; it must be a number from 0 to 1, or null/],
  ['InstanceNorm2d', [4, { affine: 'yes' }], /affine is 'yes'; it must be true or false/],
  ['GroupNorm', [3, 4], /numGroups is 3; it must divide numChannels, 4/],
  ['LayerNorm', [[]], /normalizedShape is \[\]; it must be a whole number from 1, or a list/],
  ['RMSNorm', [4, { eps: -1 }], /eps is -1; it must be a finite number, 0 or more, or null/],
  ['LocalResponseNorm', [0], /size is 0/],
  ['Upsample', [{ scale: 2 }], /unknown option 'scale'; allowed: size, scaleFactor/],
  ['PixelShuffle', [1.5], /upscaleFactor is 1.5; it must be a whole number from 1/],
  ['Fold', [[4, 4]], /kernelSize is undefined/],
  [
    'ReflectionPad2d',
    [-1],
    /padding is -1; it must be a whole number from 0, or a list of 2 \[before, after\]/,
  ],
  ['ConstantPad1d', [1, 'x'], /value is 'x'; it must be a finite number/],
  ['Dropout2d', [2], /p is 2; it must be a number from 0 to 1/],
  ['GaussianNoise', [-1], /std is -1/],
  ['PReLU', [0], /numParameters is 0/],
  ['RReLU', [{ lower: 0.5, upper: 0.1 }], /lower is 0.5; it must be at most upper, 0.1/],
  ['Softmax', [0.5], /dim is 0.5; it must be a whole number/],
  ['GELU', [{ approximate: 'erf' }], /approximate is 'erf'; it must be one of 'none', 'tanh'/],
  ['LeakyReLU', [0.1], /options must be an object, e\.g\. \{ negativeSlope: 0\.1 \}; got a number/],
  ['Threshold', [0], /value is undefined; it must be a finite number/],
  ['Embedding', [4, 2, { paddingIdx: 4 }], /paddingIdx is 4; there are 4 rows/],
  ['EmbeddingBag', [4, 2, { mode: 'min' }], /mode is 'min'; it must be one of 'sum', 'mean', 'max'/],
  ['CrossEntropyLoss', [{ weight: [1, 2] }], /weight is \[1, 2\]; it must be a Tensor, or null/],
  ['MSELoss', [{ reduction: 'avg' }], /reduction is 'avg'; it must be one of 'none', 'mean', 'sum'/],
  ['HuberLoss', [{ beta: 1 }], /unknown option 'beta'; allowed: reduction, delta/],
  ['MultiMarginLoss', [{ p: 3 }], /p is 3; it must be one of 1, 2/],
  ['CTCLoss', [{ blank: -1 }], /blank is -1; it must be a whole number from 0/],
  ['TripletMarginWithDistanceLoss', [2], /distance is 2; it must be a function/],
  ['GRU', [2, 2, { numLayers: 0 }], /numLayers is 0; it must be a whole number from 1/],
  ['RNNCell', [2, 2, { nonlinearity: 'gelu' }], /nonlinearity is 'gelu'; it must be one of 'tanh', 'relu'/],
  ['PositionalEncoding', [4, { length: 2 }], /unknown option 'length'; allowed: maxLength/],
  ['RotaryEncoding', [{ base: 0 }], /base is 0; it must be a number above 0/],
  ['KeyValueCache', [{ fix: true }], /unknown option 'fix'; allowed: fixed/],
  ['Transformer', [{ layers: 2 }], /unknown option 'layers'; allowed: .*numEncoderLayers/],
  ['ModuleList', [3], /modules is 3; it must be a list of modules/],
  ['LSTM', [1, 1, { numLayers: 1e9 }], /numLayers is 1000000000; it must be a whole number from 1 to 10000/],
  ['RNN', [1, 1, { numLayers: 10_001 }], /numLayers is 10001/],
  [
    'TransformerEncoder',
    [() => new nn.TransformerEncoderLayer(2, 1), 1e9],
    /numLayers is 1000000000; it must be a whole number from 1 to 10000/,
  ],
  ['TransformerDecoder', [() => new nn.TransformerDecoderLayer(2, 1), 1e9], /numLayers is 1000000000/],
  ['Transformer', [{ numDecoderLayers: 1e9 }], /numDecoderLayers is 1000000000/],
  ['MultiheadAttention', [16, 1e9], /numHeads is 1000000000; it must divide embedDim, which is 16/],
  ['ConvNd', [1e9, 1, 1, 3], /rank is 1000000000; it must be a whole number from 1 to 14/],
  ['ConvTransposeNd', [15, 1, 1, 1], /rank is 15; it must be a whole number from 1 to 14/],
  ['Upsample', [{ scaleFactor: [2, 0] }], /scaleFactor is \[2, 0\]; it must be a number above 0, or a list/],
  ['Upsample', [{ scaleFactor: [2, 2], size: 4 }], /needs either size or scaleFactor, not both/],
  ['ParameterList', [[3]], /tensor 0 is 3; it must be a Tensor/],
];

describe('constructors', () => {
  for (const [name, args, rule] of rows) {
    test(`${name} ${JSON.stringify(args)}`, () => {
      assert.throws(
        () => new nn[name](...args),
        (error) => {
          assert.ok(og.OmnigradError.is(error), String(error.stack));
          assert.equal(error.op, name);
          assert.match(error.message, new RegExp(`^${name}: ${rule.source}`));
          return true;
        },
      );
    });
  }
});

test('a refused layer leaves nothing behind', () => {
  const { tensors } = og.memory();
  for (const [name, args] of rows) assert.throws(() => new nn[name](...args));
  assert.equal(og.memory().tensors, tensors);
});

describe('what memory ends before', () => {
  const held = () => og.memory().tensors;
  test('a stack of layers names the one that did not fit, and frees those that did', () => {
    const before = held();
    const size = (layer) => (layer < 3 ? 8 : 1e6);
    assert.throws(() => new nn.TransformerEncoder((i) => new nn.TransformerEncoderLayer(size(i), 2), 1000), {
      code: 'memory',
      op: 'TransformerEncoder',
      message: /^TransformerEncoder: layer 3 of 1000: \w+: out of memory/,
    });
    assert.throws(() => new nn.LSTM(1e9, 1e3, { numLayers: 9 }), {
      code: 'memory',
      op: 'LSTM',
      message: /^LSTM: layer 0 of 9: uniform: out of memory/,
    });
    assert.equal(held(), before);
  });
  test('a table of positions', () => {
    assert.throws(() => new nn.PositionalEncoding(1e9), { code: 'memory' });
  });
});

test("MultiLabelMarginLoss is PyTorch's formula", () => {
  const [x, t] = [
    [0.1, 0.2, 0.4, 0.8],
    [3, 0, -1, 1],
  ];
  const expected = 0.25 * (1 - (0.1 - 0.2) + (1 - (0.1 - 0.4)) + (1 - (0.8 - 0.2)) + (1 - (0.8 - 0.4)));
  const loss = new nn.MultiLabelMarginLoss().call(og.tensor(x), og.tensor(t, { dtype: 'int64' }));
  assert.ok(Math.abs(loss.item() - expected) < 1e-6, `${loss.item()} against ${expected}`);
  assert.throws(
    () => new nn.MultiLabelMarginLoss().call(og.ones([2, 3]), og.ones([2])),
    /the input is \[2, 3\], the target \[2\]; both must be \[N, C\] or \[C\]/,
  );
});

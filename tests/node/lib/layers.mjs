// One row a layer: how it is made, what it is called with, the shape of what it gives. The tests run each row; a layer
// without a row fails them.
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

// What several layers of a row are given, made once.
const once = (make) => {
  let x;
  return () => (x ??= og.keep(make()));
};
const six = once(() => og.rand([6]));
const samples = [1, 2, 3].reduce((all, n) => ({ ...all, [n]: once(() => og.full([2, 4, n], 0.6)) }), {});
const index = (high, ...shape) => og.randint(0, high, shape);
const signs = (...shape) => og.randint(0, 2, shape, { dtype: 'float32' }).mul(2).sub(1);
const share = (...shape) => og.uniform(shape, 0.1, 0.9);
const small = { dimFeedforward: 8, activation: 'gelu' };
const states = (name, ...shape) => (name === 'LSTM' ? [og.randn(shape), og.randn(shape)] : og.randn(shape));
const leaf = (x) => Object.assign(x, { requiresGrad: true });
const image = { 1: [6], 2: [6, 5], 3: [6, 5, 4] };
const ranks = [1, 2, 3];

/** [name, make, inputs (a shape: random with gradient; a function: made by it), shape of the output] */
const row = (name, make, inputs, shape, options = {}) => ({ name, make, inputs, shape, ...options });
const same = (name, make, shape = [4, 6]) => row(name, make, [shape], shape);
const spatial = (prefix, make, after, suffix = 'd') =>
  ranks.map((n) =>
    row(
      `${prefix}${n}${suffix}`,
      () => make(nn[`${prefix}${n}${suffix}`], n),
      [[2, 4, ...image[n]]],
      after(n),
    ),
  );
const halved = (n) => [2, 4, ...image[n].map((size) => Math.floor(size / 2))];
const whole = (n) => [2, 4, ...image[n]];

const activations =
  'ReLU ReLU6 LeakyReLU ELU CELU SELU GELU SiLU Mish Softplus Softsign Sigmoid LogSigmoid Tanh Tanhshrink Hardsigmoid ' +
  'Hardswish Hardtanh Hardshrink Softshrink PReLU RReLU Softmax Softmin LogSoftmax Identity';

const pairLosses = 'L1Loss MSELoss HuberLoss SmoothL1Loss';

export const layers = [
  row('Linear', () => new nn.Linear(3, 2), [[4, 5, 3]], [4, 5, 2]),
  row(
    'Bilinear',
    () => new nn.Bilinear(3, 4, 2),
    [
      [5, 3],
      [5, 4],
    ],
    [5, 2],
  ),
  row('Flatten', () => new nn.Flatten(), [[2, 3, 4]], [2, 12]),
  row('Unflatten', () => new nn.Unflatten(1, [3, -1]), [[2, 12]], [2, 3, 4]),
  row('Sequential', () => new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh()), [[2, 3]], [2, 4]),
  ...activations.split(' ').map((name) => same(name, () => new nn[name]())),
  same('Threshold', () => new nn.Threshold(0.1, 2)),
  same('Softmax2d', () => new nn.Softmax2d(), [2, 3, 4, 5]),
  row('GLU', () => new nn.GLU(), [[4, 6]], [4, 3]),
  row('SwiGLU', () => new nn.SwiGLU(6, 3), [[4, 6]], [4, 3]),

  ...spatial(
    'Conv',
    (Layer) => new Layer(4, 6, 3, { padding: 1 }),
    (n) => [2, 6, ...image[n]],
  ),
  row('ConvNd', () => new nn.ConvNd(4, 2, 3, 2), [[1, 2, 3, 3, 3, 3]], [1, 3, 2, 2, 2, 2]),
  ...spatial(
    'ConvTranspose',
    (Layer) => new Layer(4, 3, 2, { stride: 2 }),
    (n) => [...[2, 3], ...image[n].map((size) => 2 * size)],
  ),
  row('ConvTransposeNd', () => new nn.ConvTransposeNd(2, 4, 2, 3), [[1, 4, 3, 3]], [1, 2, 5, 5]),
  ...ranks.map((n) =>
    row(
      `DeformConv${n}d`,
      () => new nn[`DeformConv${n}d`](4, 6, 3, { padding: 1 }),
      [
        [2, 4, ...image[n]],
        [2, n * 3 ** n, ...image[n]],
        [2, 3 ** n, ...image[n]],
      ],
      [2, 6, ...image[n]],
    ),
  ),
  ...spatial(
    'DeformConv',
    (Layer) => new Layer(4, 6, 3, { padding: 1, modulated: true }),
    (n) => [2, 6, ...image[n]],
    'dPack',
  ),

  ...spatial('MaxPool', (Layer) => new Layer(2), halved),
  ...spatial('AvgPool', (Layer) => new Layer(2), halved),
  ...spatial('LPPool', (Layer) => new Layer(2, 2), halved),
  ...spatial(
    'AdaptiveAvgPool',
    (Layer) => new Layer(3),
    (n) => [2, 4, ...image[n].map(() => 3)],
  ),
  ...spatial(
    'AdaptiveMaxPool',
    (Layer) => new Layer(3),
    (n) => [2, 4, ...image[n].map(() => 3)],
  ),
  ...[2, 3].map((n) =>
    row(
      `FractionalMaxPool${n}d`,
      // Windows at places of their own, since eval draws them too.
      () => new nn[`FractionalMaxPool${n}d`](2, { outputRatio: 0.5, randomSamples: samples[n]() }),
      [[2, 4, ...image[n]]],
      halved(n),
    ),
  ),
  ...ranks.map((n) =>
    row(
      `MaxUnpool${n}d`,
      () => new nn[`MaxUnpool${n}d`](2),
      [
        [2, 3, ...image[n].map(() => 2)],
        () =>
          og
            .arange(2 ** n, { dtype: 'int64' })
            .expand([2, 3, 2 ** n])
            .reshape([2, 3, ...image[n].map(() => 2)]),
      ],
      [2, 3, ...image[n].map(() => 4)],
    ),
  ),

  ...spatial('BatchNorm', (Layer) => new Layer(4), whole),
  ...spatial('InstanceNorm', (Layer) => new Layer(4, { affine: true, trackRunningStats: true }), whole),
  same('GroupNorm', () => new nn.GroupNorm(2, 4), [2, 4, 5]),
  same('LayerNorm', () => new nn.LayerNorm([4, 5]), [2, 4, 5]),
  same('RMSNorm', () => new nn.RMSNorm(5), [2, 4, 5]),
  same('LocalResponseNorm', () => new nn.LocalResponseNorm(3), [2, 4, 5]),

  row(
    'Interpolate',
    () => new nn.Interpolate({ scaleFactor: 2, mode: 'bilinear' }),
    [[1, 2, 3, 4]],
    [1, 2, 6, 8],
  ),
  row('Upsample', () => new nn.Upsample({ size: [5, 7], mode: 'nearest' }), [[1, 2, 3, 4]], [1, 2, 5, 7]),
  row(
    'UpsamplingNearest2d',
    () => new nn.UpsamplingNearest2d({ scaleFactor: 2 }),
    [[1, 2, 3, 4]],
    [1, 2, 6, 8],
  ),
  row(
    'UpsamplingBilinear2d',
    () => new nn.UpsamplingBilinear2d({ size: [5, 7] }),
    [[1, 2, 3, 4]],
    [1, 2, 5, 7],
  ),
  same('ChannelShuffle', () => new nn.ChannelShuffle(2), [2, 4, 3]),
  row('PixelShuffle', () => new nn.PixelShuffle(2), [[1, 8, 3, 4]], [1, 2, 6, 8]),
  row('PixelUnshuffle', () => new nn.PixelUnshuffle(2), [[1, 2, 6, 8]], [1, 8, 3, 4]),
  row('Unfold', () => new nn.Unfold(2), [[1, 3, 4, 5]], [1, 12, 12]),
  row('Fold', () => new nn.Fold([4, 5], 2), [[1, 12, 12]], [1, 3, 4, 5]),
  ...['ZeroPad', 'ReflectionPad', 'ReplicationPad', 'CircularPad', 'ConstantPad'].flatMap((name) =>
    spatial(
      name,
      (Layer) => new Layer(1, 3),
      (n) => [2, 4, ...image[n].map((size) => size + 2)],
    ),
  ),

  same('Dropout', () => new nn.Dropout(0.3)),
  same('AlphaDropout', () => new nn.AlphaDropout(0.3)),
  same('FeatureAlphaDropout', () => new nn.FeatureAlphaDropout(0.3), [4, 6, 2]),
  ...spatial('Dropout', (Layer) => new Layer(0.3), whole),
  same('GaussianNoise', () => new nn.GaussianNoise(0.1)),

  row('Embedding', () => new nn.Embedding(7, 3, { paddingIdx: 0 }), [() => index(7, 2, 5)], [2, 5, 3]),
  ...['RNN', 'GRU', 'LSTM'].flatMap((name) => [
    row(
      name,
      () => new nn[name](4, 3, { numLayers: 2, bidirectional: true, dropout: 0.2 }),
      [[6, 2, 4], () => null, () => ({ lengths: [6, 4] })],
      [6, 2, 6],
    ),
    row(`${name}Cell`, () => new nn[`${name}Cell`](4, 3), [[2, 4], () => states(name, 2, 3)], [2, 3]),
  ]),
  row(
    'MultiheadAttention',
    () => new nn.MultiheadAttention(6, 2, { dropout: 0.2 }),
    [
      [4, 2, 6],
      [5, 2, 6],
    ],
    [4, 2, 6],
  ),
  row(
    'MultiheadAttention',
    () =>
      new nn.MultiheadAttention(6, 2, {
        kdim: 3,
        vdim: 4,
        addBiasKv: true,
        addZeroAttn: true,
        batchFirst: true,
      }),
    [
      [2, 4, 6],
      [2, 5, 3],
      [2, 5, 4],
    ],
    [2, 4, 6],
  ),
  row('TransformerEncoderLayer', () => new nn.TransformerEncoderLayer(6, 2, small), [[4, 2, 6]], [4, 2, 6]),
  row(
    'TransformerDecoderLayer',
    () => new nn.TransformerDecoderLayer(6, 2, small),
    [
      [4, 2, 6],
      [5, 2, 6],
    ],
    [4, 2, 6],
  ),
  row(
    'TransformerEncoder',
    () =>
      new nn.TransformerEncoder(() => new nn.TransformerEncoderLayer(6, 2, small), 2, {
        norm: new nn.LayerNorm(6),
      }),
    [[4, 2, 6]],
    [4, 2, 6],
  ),
  row(
    'TransformerDecoder',
    () => new nn.TransformerDecoder(() => new nn.TransformerDecoderLayer(6, 2, small), 2),
    [
      [4, 2, 6],
      [5, 2, 6],
    ],
    [4, 2, 6],
  ),
  row(
    'Transformer',
    () => new nn.Transformer({ dModel: 6, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1, ...small }),
    [
      [5, 2, 6],
      [4, 2, 6],
    ],
    [4, 2, 6],
  ),
  row('PositionalEncoding', () => new nn.PositionalEncoding(6, { maxLength: 9 }), [[2, 4, 6]], [2, 4, 6]),
  row('RotaryEncoding', () => new nn.RotaryEncoding(), [[2, 4, 6]], [2, 4, 6]),
  row(
    'LSTM',
    () => new nn.LSTM(4, 3, { numLayers: 2, bidirectional: true, dropout: 0.2, projSize: 2 }),
    [[6, 2, 4], () => null, () => ({ lengths: [6, 4] })],
    [6, 2, 4],
  ),
  row('EmbeddingBag', () => new nn.EmbeddingBag(7, 3, { paddingIdx: 0 }), [() => index(7, 2, 5)], [2, 3]),
  row('EmbeddingBag', () => new nn.EmbeddingBag(7, 3), [() => index(7, 2, 5)], [2, 3]),
  row(
    'CosineSimilarity',
    () => new nn.CosineSimilarity(),
    [
      [4, 6],
      [4, 6],
    ],
    [4],
  ),
  row(
    'PairwiseDistance',
    () => new nn.PairwiseDistance(),
    [
      [4, 6],
      [4, 6],
    ],
    [4],
  ),

  ...pairLosses.split(' ').map((name) =>
    row(
      name,
      () => new nn[name](),
      [
        [4, 6],
        [4, 6],
      ],
      [],
    ),
  ),
  row(
    'LpLoss',
    () => new nn.LpLoss(3),
    [
      [4, 6],
      [4, 6],
    ],
    [],
  ),
  row('CrossEntropyLoss', () => new nn.CrossEntropyLoss({ weight: six() }), [[4, 6], () => index(6, 4)], []),
  row(
    'AdaptiveLogSoftmaxWithLoss',
    () => new nn.AdaptiveLogSoftmaxWithLoss(6, 9, [2, 5], { divValue: 2 }),
    [[4, 6], () => og.tensor([0, 3, 8, 1], { dtype: 'int64' })],
    [4],
  ),
  row('NLLLoss', () => new nn.NLLLoss({ weight: six() }), [[4, 6], () => index(6, 4)], []),
  row('BCELoss', () => new nn.BCELoss(), [() => leaf(share(4, 6)), () => share(4, 6)], []),
  row(
    'BCEWithLogitsLoss',
    () => new nn.BCEWithLogitsLoss({ posWeight: six() }),
    [[4, 6], () => share(4, 6)],
    [],
  ),
  row('KLDivLoss', () => new nn.KLDivLoss({ reduction: 'batchmean' }), [[4, 6], () => share(4, 6)], []),
  row('PoissonNLLLoss', () => new nn.PoissonNLLLoss(), [[4, 6], () => share(4, 6)], []),
  row('HingeEmbeddingLoss', () => new nn.HingeEmbeddingLoss(), [[4, 6], () => signs(4, 6)], []),
  row('SoftMarginLoss', () => new nn.SoftMarginLoss(), [[4, 6], () => signs(4, 6)], []),
  row('MultiMarginLoss', () => new nn.MultiMarginLoss(), [[4, 6], () => index(6, 4)], []),
  row('MultiLabelSoftMarginLoss', () => new nn.MultiLabelSoftMarginLoss(), [[4, 6], () => share(4, 6)], []),
  row(
    'MultiLabelMarginLoss',
    () => new nn.MultiLabelMarginLoss(),
    [[6, 4], () => og.tensor([3, 0, -1, 1], { dtype: 'int64' }).expand([6, 4])],
    [],
  ),
  row('MarginRankingLoss', () => new nn.MarginRankingLoss({ margin: 9 }), [[4], [4], () => signs(4)], []),
  row(
    'CosineEmbeddingLoss',
    () => new nn.CosineEmbeddingLoss({ margin: -1 }),
    [[4, 6], [4, 6], () => signs(4)],
    [],
  ),
  row(
    'TripletMarginLoss',
    () => new nn.TripletMarginLoss({ margin: 9 }),
    [
      [4, 6],
      [4, 6],
      [4, 6],
    ],
    [],
  ),
  row(
    'TripletMarginWithDistanceLoss',
    () =>
      new nn.TripletMarginWithDistanceLoss((x, y) => og.pairwiseDistance(x, y), { margin: 9, swap: true }),
    [
      [4, 6],
      [4, 6],
      [4, 6],
    ],
    [],
  ),
  row('GaussianNLLLoss', () => new nn.GaussianNLLLoss(), [[4, 6], [4, 6], () => share(4, 6)], []),
  row(
    'CTCLoss',
    () => new nn.CTCLoss(),
    [
      () => leaf(og.logSoftmax(og.randn([6, 2, 4]), -1)),
      () => og.randint(1, 4, [2, 2]),
      () => [6, 5],
      () => [2, 1],
    ],
    [],
  ),
  row(
    'RNNTLoss',
    () => new nn.RNNTLoss(),
    [[2, 5, 3, 4], () => index(3, 2, 2), () => [5, 4], () => [2, 1]],
    [],
  ),
];

/** Classes that only hold others. */
export const holders = ['Module', 'ModuleList', 'ModuleDict', 'ParameterList', 'ParameterDict'];

/** The inputs of a row, made anew; those given as shapes require grad. */
export function inputsOf({ inputs }) {
  return inputs.map((input) =>
    typeof input === 'function' ? input() : og.randn(input, { requiresGrad: true }),
  );
}

/** The first tensor of what a layer gave. */
export function tensorOf(output) {
  return output instanceof og.Tensor
    ? output
    : tensorOf(Array.isArray(output) ? output[0] : Object.values(output)[0]);
}

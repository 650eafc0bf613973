// The work that is timed, and the bars it is held to. Data only: how each library does a kind of work is in peers/.
//
// A case: { name, entries, bars }. An entry: { id, runner, spec }; the first is the one that the bars judge. A spec:
// { kind, inputs: { name: { shape, ... } }, ... }, the same for every library. A bar: { versus: entry id or 'peak',
// least: ratio of its time to ours (of our rate to the peak), or most: ours in its times }, or { below: microseconds },
// or { error: largest difference from float64 in parts of the largest element }. Bars hold for one thread unless
// the case names its own runners.
import { count } from './inputs.mjs';

const t = (...shape) => ({ shape });
const list = (n, rank) => Array(rank).fill(n);

/** Numbers each input's seed by its place. */
function seeded(inputs) {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, input], i) => [name, { seed: i + 1, ...input }]),
  );
}

function matmul(n) {
  return { kind: 'matmul', inputs: seeded({ a: t(n, n), b: t(n, n) }), operations: 2 * n * n * n };
}

/** A convolution that keeps its size up to the stride; `pass`: forward, inputGrad, weightGrad, both. */
function conv(pass, x, weight, options = {}) {
  const { stride = 1, dilation = 1, groups = 1 } = options;
  const kernel = weight.slice(2);
  const padding = (dilation * (kernel[0] - 1)) / 2;
  const sizes = x.slice(2).map((size) => Math.ceil(size / stride));
  const output = [x[0], weight[0], ...sizes];
  const forward = 2 * count(output) * weight[1] * count(kernel);
  return {
    kind: 'conv',
    pass,
    stride,
    dilation,
    groups,
    padding,
    inputs: seeded({ x: t(...x), weight: t(...weight), g: t(...output) }),
    operations: forward * (pass === 'both' ? 3 : 1),
  };
}

function pool(kind, pass, x) {
  const output = [...x.slice(0, 2), ...x.slice(2).map((size) => size / 2)];
  return { kind, pass, inputs: seeded({ x: t(...x), g: t(...output) }) };
}

function resample(mode, pass, x) {
  const output = [...x.slice(0, 2), ...x.slice(2).map((size) => size * 2)];
  return { kind: 'interpolate', mode, pass, inputs: seeded({ x: t(...x), g: t(...output) }) };
}

/** softmax or layerNorm over the last axis. */
function rows(kind, pass, n) {
  const inputs = { x: t(n, n), g: t(n, n) };
  if (kind === 'layerNorm') Object.assign(inputs, { weight: { ...t(n), scale: 0.5, shift: 1 }, bias: t(n) });
  return { kind, pass, inputs: seeded(inputs) };
}

const image = [8, 64, 56, 56];
const weight3 = [64, 64, 3, 3];
const depthwise = (pass) => conv(pass, image, [64, 1, 3, 3], { groups: 64 });

const deform = {
  kind: 'deformConv',
  pass: 'both',
  padding: 1,
  inputs: seeded({
    x: t(4, 64, 28, 28),
    offset: t(4, 18, 28, 28),
    weight: t(64, 64, 3, 3),
    mask: { ...t(4, 9, 28, 28), scale: 0.5, shift: 0.5 },
    g: t(4, 64, 28, 28),
  }),
};

const ctc = {
  kind: 'ctc',
  // PyTorch sums a float32 lattice in float32; ours is float64.
  tolerance: 1e-3,
  inputs: seeded({ logits: { ...t(200, 16, 64), scale: 2 }, targets: { ...t(16, 40), below: 64, from: 1 } }),
};

const attention = {
  kind: 'attention',
  inputs: seeded({ q: t(8, 4, 128, 32), g: t(8, 4, 128, 32) }),
};

const cnn = {
  kind: 'cnnStep',
  inputs: seeded({
    x: t(64, 1, 28, 28),
    labels: { ...t(64), below: 10 },
    w1: { ...t(32, 1, 3, 3), scale: 0.3 },
    w2: { ...t(64, 32, 3, 3), scale: 0.06 },
    w3: { ...t(128, 3136), scale: 0.02 },
    w4: { ...t(10, 128), scale: 0.09 },
  }),
};

const add = (pass, n = 1) => ({
  kind: 'add',
  pass,
  calls: n === 1 ? 1000 : 1,
  inputs: seeded({ x: t(n), y: t(n) }),
});

// Other libraries beside ours. One in brackets is slow and bears no bar: it runs only if --peers names it.
function against(spec, peers) {
  return [
    { id: 'omnigrad', runner: 'omnigrad', spec },
    ...peers.split(' ').map((id) => {
      const name = id.replace(/[[\]]/g, '');
      return { id: name, runner: name, spec, byName: id.startsWith('[') };
    }),
  ];
}

const bar = (versus, least) => ({ versus, least });
const main = (name, spec, peers, ...bars) => ({ name, entries: against(spec, peers), bars });
/** Ours alone; its results are held against its own in float64. */
const alone = (name, spec, ...bars) => ({
  name,
  entries: [{ id: 'omnigrad', runner: 'omnigrad', spec }],
  bars,
});

/** The first entry's spec with another beside it. */
const beside = (one, id, spec) => ({
  ...one,
  entries: [...one.entries, { id, runner: 'omnigrad', spec, other: true }],
});

const table = [
  ...[512, 1024].map((n) =>
    main(
      `matmul ${n}`,
      matmul(n),
      'tfjs tfjs-threads jax ort torch torch-avx512',
      bar('peak', 0.78),
      bar('tfjs', 1.3),
    ),
  ),
  main(
    'conv2d 3x3 forward',
    conv('forward', image, weight3),
    'tfjs tfjs-threads [jax] ort torch',
    bar('tfjs', 3.2),
    bar('torch', 0.7),
  ),
  main(
    'conv2d 3x3 input gradient',
    conv('inputGrad', image, weight3),
    'tfjs [jax] ort torch',
    bar('torch', 0.7),
  ),
  main('conv2d 3x3 weight gradient', conv('weightGrad', image, weight3), '[jax] torch', bar('torch', 0.8)),
  ...[
    [3, 3, 16],
    [3, 16, 16],
    [5, 3, 16],
  ].map(([k, from, to]) =>
    main(
      `conv2d few channels ${k}x${k}, ${from} to ${to}, 224x224`,
      conv('forward', [1, from, 224, 224], [to, from, k, k]),
      'tfjs ort torch',
      bar('peak', 0.6),
    ),
  ),
  main('conv2d 1x1', conv('forward', image, [64, 64, 1, 1]), 'tfjs ort torch', bar('peak', 0.6)),
  main(
    'conv2d 5x5 stride 2',
    conv('forward', image, [64, 64, 5, 5], { stride: 2 }),
    'tfjs ort torch',
    bar('peak', 0.6),
  ),
  main(
    'conv2d 3x3 dilation 2',
    conv('forward', image, weight3, { dilation: 2 }),
    'tfjs ort torch',
    bar('peak', 0.6),
  ),
  main('depthwise 3x3 forward', depthwise('forward'), 'tfjs tfjs-threads jax ort torch', bar('tfjs', 1.4)),
  main('depthwise 3x3 with gradients', depthwise('both'), '[jax] torch', bar('torch', 0.9)),
  ...['maxPool', 'avgPool'].flatMap((kind) => {
    const forward = pool(kind, 'forward', image);
    const label = kind === 'maxPool' ? 'max-pool 2' : 'avg-pool 2';
    return [
      main(`${label} forward`, forward, `tfjs jax${kind === 'maxPool' ? ' ort' : ''} torch`, bar('tfjs', 1)),
      {
        ...beside(
          main(`${label} gradient`, pool(kind, 'gradient', image), 'tfjs jax torch', {
            versus: 'our forward',
            most: 2,
          }),
          'our forward',
          forward,
        ),
        ...(kind === 'maxPool' && { known: { tfjs: 'wrong where the largest is not above 0' } }),
      },
    ];
  }),
  ...[
    ['nearest', 2.3],
    ['bilinear', 4],
    ['bicubic', 11],
  ].map(([mode, least]) =>
    main(`${mode} 2x with gradient`, resample(mode, 'both', image), 'torch', bar('torch', least)),
  ),
  main(
    'bilinear 2x forward',
    resample('bilinear', 'forward', image),
    'tfjs tfjs-threads torch',
    bar('tfjs', 1),
  ),
  main('deformable conv with gradients', deform, 'torch torch-avx512', bar('torch', 8)),
  main('CTC with gradient', ctc, 'torch', bar('torch', 1.5)),
  ...['softmax', 'layerNorm'].flatMap((kind) => {
    const label = kind === 'softmax' ? 'softmax 1024x1024' : 'layer norm 1024x1024';
    return [
      main(
        `${label} forward`,
        rows(kind, 'forward', 1024),
        `tfjs tfjs-threads jax${kind === 'softmax' ? ' ort' : ''} torch`,
        bar('tfjs', 1),
      ),
      main(`${label} with gradient`, rows(kind, 'both', 1024), 'torch', bar('torch', 0.6)),
    ];
  }),
  main(
    'conv3d with gradients',
    conv('both', [2, 16, 16, 32, 32], [16, 16, 3, 3, 3]),
    'torch',
    bar('torch', 0.6),
  ),
  alone('4-D conv forward', conv('forward', [2, 8, 8, 8, 16, 16], [8, 8, ...list(3, 4)]), bar('peak', 1.5)),
  main('attention with gradient', attention, 'torch torch-avx512', bar('torch', 0.5)),
  main('CNN training step, batch 64', cnn, 'jax torch torch-avx512', bar('jax', 140), bar('torch', 0.75)),
  alone('add of one element, plain', add('plain'), { below: 0.8 }),
  alone('add of one element, recorded', add('recorded'), { below: 1.5 }),
  {
    ...alone(
      'Winograd error, 3x3',
      { ...conv('forward', image, weight3), kind: 'convError' },
      { error: 2e-5 },
    ),
    untimed: true,
  },
];

/** The same spec on two of our runners. */
const pair = (group, name, spec, [mine, other], least) => ({
  name: `${group}: ${name}`,
  entries: [
    { id: mine, runner: mine, spec },
    { id: other, runner: other, spec },
  ],
  bars: [bar(other, least)],
  same: true,
});

const large = [
  ...[512, 1024].map((n) => [`matmul ${n}`, matmul(n)]),
  ...['forward', 'inputGrad', 'weightGrad'].map((pass) => [`conv2d 3x3 ${pass}`, conv(pass, image, weight3)]),
];
const small = [
  ['matmul 64', matmul(64)],
  ['matmul 128', matmul(128)],
  ['conv2d 1x8x16x16, 8 to 8, 3x3', conv('both', [1, 8, 16, 16], [8, 8, 3, 3])],
  ['softmax 32x32', rows('softmax', 'both', 32)],
  ['max-pool 4x8x16x16', pool('maxPool', 'forward', [4, 8, 16, 16])],
  ['add of 10 000 elements', add('plain', 10000)],
];
const anySize = [
  ['matmul 512', matmul(512)],
  ['conv2d 3x3 forward', conv('forward', image, weight3)],
  ['conv2d 3x3 weightGrad', conv('weightGrad', image, weight3)],
  ['softmax 1024x1024', rows('softmax', 'both', 1024)],
  ['bilinear 2x', resample('bilinear', 'both', image)],
  ['deformable conv', deform],
  ['CTC', ctc],
  ['attention', attention],
  ['CNN training step', cnn],
];

const groups = [
  ...large.map(([name, spec]) => pair('two threads', name, spec, ['omnigrad-2', 'omnigrad-1'], 1.8)),
  pair('two threads', 'CNN training step', cnn, ['omnigrad-2', 'omnigrad-1'], 1.6),
  ...small.map(([name, spec]) => pair('two threads, small', name, spec, ['omnigrad-2', 'omnigrad-1'], 0.97)),
  ...anySize.map(([name, spec]) => ({
    name: `float64: ${name}`,
    entries: [
      { id: 'float64', runner: 'omnigrad-1', spec: { ...spec, dtype: 'float64' } },
      { id: 'float32', runner: 'omnigrad-1', spec },
    ],
    bars: [bar('float32', 0.5)],
  })),
  ...[...anySize, ['add of one element', add('recorded')]].map(([name, spec]) =>
    pair('single build', name, spec, ['omnigrad-single', 'omnigrad-1'], 0.97),
  ),
];

export const cases = [...table, ...groups];

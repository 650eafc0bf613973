// omnigrad, called as its users call it.
import {
  add,
  avgPool,
  conv,
  crossEntropy,
  ctcLoss,
  deformConv,
  grad,
  init,
  interpolate,
  layerNorm,
  linear,
  logSoftmax,
  matmul,
  maxPool,
  scaledDotProductAttention,
  scope,
  softmax,
  tensor,
  zeros,
} from 'omnigrad';
import { Adam } from 'omnigrad/optim';
import { answer } from './answer.mjs';

const array = (x) => x.toTypedArray();

/** The inputs as tensors of the spec's dtype; indices as they are. */
function tensorsOf(spec, inputs, trained = []) {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, values]) => {
      const dtype = values instanceof Int32Array ? 'int32' : (spec.dtype ?? 'float32');
      const data = dtype === 'float64' ? Float64Array.from(values) : values;
      const requiresGrad = trained.includes(name);
      return [name, tensor(data, { shape: spec.inputs[name].shape, dtype, requiresGrad })];
    }),
  );
}

/**
 * The passes of a function: forward alone, forward with the gradients of `wanted`, or one gradient of a graph recorded
 * before (`inputGrad`, `weightGrad`, `gradient`).
 */
function passes(spec, inputs, forward, wanted) {
  const pass = spec.pass ?? 'both';
  const targets = { forward: [], inputGrad: ['x'], weightGrad: ['weight'], gradient: ['x'], both: wanted }[
    pass
  ];
  const at = tensorsOf(spec, inputs, targets);
  const xs = targets.map((name) => at[name]);
  const close = () => Object.values(at).forEach((x) => x.dispose());
  if (pass === 'forward') return freed(() => [forward(at)], close);
  if (pass === 'both') {
    return freed(() => {
      const y = forward(at);
      return [y, ...grad(y, xs, at.g && { gradOutputs: [at.g] })];
    }, close);
  }
  const y = forward(at);
  const options = { gradOutputs: [at.g], retainGraph: true };
  return freed(
    () => grad(y, xs, options),
    () => {
      y.dispose();
      close();
    },
  );
}

function freed(fn, close) {
  return {
    run: () =>
      scope(() => {
        fn();
      }),
    results: () => scope(() => fn().map(array)),
    close,
  };
}

const kinds = {
  matmul: (spec, inputs) => passes({ pass: 'forward', ...spec }, inputs, ({ a, b }) => matmul(a, b)),
  conv(spec, inputs) {
    const { stride, padding, dilation, groups } = spec;
    const options = { stride, padding, dilation, groups };
    return passes(spec, inputs, ({ x, weight }) => conv(x, weight, options), ['x', 'weight']);
  },
  maxPool: (spec, inputs) => passes(spec, inputs, ({ x }) => maxPool(x, 2), ['x']),
  avgPool: (spec, inputs) => passes(spec, inputs, ({ x }) => avgPool(x, 2), ['x']),
  interpolate(spec, inputs) {
    const options = { scaleFactor: 2, mode: spec.mode };
    return passes(spec, inputs, ({ x }) => interpolate(x, options), ['x']);
  },
  deformConv: (spec, inputs) =>
    passes(
      spec,
      inputs,
      ({ x, offset, weight, mask }) => deformConv(x, offset, weight, { mask, padding: 1 }),
      ['x', 'offset', 'weight', 'mask'],
    ),
  ctc: (spec, inputs) =>
    passes(spec, inputs, ({ logits, targets }) => ctcLoss(logSoftmax(logits, -1), targets), ['logits']),
  softmax: (spec, inputs) => passes(spec, inputs, ({ x }) => softmax(x, -1), ['x']),
  layerNorm: (spec, inputs) =>
    passes(spec, inputs, ({ x, weight, bias }) => layerNorm(x, [weight.numel], { weight, bias }), [
      'x',
      'weight',
      'bias',
    ]),
  attention: (spec, inputs) => passes(spec, inputs, ({ q }) => scaledDotProductAttention(q, q, q), ['q']),
  cnnStep,
  /** Not timed: the largest difference of a float32 convolution from float64's, in parts of the largest element. */
  convError(spec, inputs) {
    const [single, double] = ['float32', 'float64'].map(
      (dtype) => kinds.conv({ ...spec, dtype }, inputs).results()[0],
    );
    const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const error = largest(double.map((value, i) => value - single[i])) / largest(double);
    return { results: () => [Float64Array.of(error)] };
  },
  /** `calls` additions in one scope, as in a training step. */
  add(spec, inputs) {
    const { x, y } = tensorsOf(spec, inputs, spec.pass === 'recorded' ? ['x'] : []);
    return {
      run: () =>
        scope(() => {
          for (let i = 0; i < spec.calls; i++) add(x, y);
        }),
      results: () => scope(() => [array(add(x, y))]),
      close() {
        x.dispose();
        y.dispose();
      },
    };
  },
};

/** One Adam step of the convolutional network; its results are the losses of the first four. */
function cnnStep(spec, inputs) {
  const { x, labels, ...weights } = tensorsOf(spec, inputs, ['w1', 'w2', 'w3', 'w4']);
  const { w1, w2, w3, w4 } = weights;
  const [b1, b2, b3, b4] = Object.values(weights).map((w) =>
    zeros([w.shape[0]], { dtype: w.dtype, requiresGrad: true }),
  );
  const forward = () => {
    const h1 = maxPool(conv(x, w1, { bias: b1, padding: 1 }).relu(), 2);
    const h2 = maxPool(conv(h1, w2, { bias: b2, padding: 1 }).relu(), 2);
    const h3 = linear(h2.reshape([x.shape[0], -1]), w3, { bias: b3 }).relu();
    return linear(h3, w4, { bias: b4 });
  };
  const params = [w1, b1, w2, b2, w3, b3, w4, b4];
  const optimizer = new Adam(params, { lr: 1e-3 });
  const step = () => optimizer.minimize(() => crossEntropy(forward(), labels));
  return {
    run() {
      step();
    },
    results: () => [Float64Array.from({ length: 4 }, step)],
    close() {
      for (const one of [x, labels, ...params]) one.dispose();
    },
  };
}

answer({
  async start(options) {
    const { variant, threads } = await init(options);
    if (variant !== options.variant || threads !== options.threads)
      throw new Error(`got ${variant} with ${threads} threads`);
    return `${variant} build, ${threads} thread${threads > 1 ? 's' : ''}`;
  },
  kinds,
});

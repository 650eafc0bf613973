// jax-js on its wasm backend, compiled by jit as its users would. Arrays are consumed by use, so each use takes a `.ref`.
import * as jax from '@jax-js/jax';
import { answer } from '../answer.mjs';

const { lax, nn, numpy: np, tree } = jax;

const made = (spec, values, name) => np.array(values[name]).reshape(spec.inputs[name].shape);

/** A compiled function of arrays that stay. */
function compiled(fn, held) {
  const run = jax.jit(fn);
  const call = () => run(...held.map((x) => x.ref));
  return {
    async run() {
      tree.dispose(await jax.blockUntilReady(call()));
    },
    async results() {
      const y = await jax.blockUntilReady(call());
      return [Float32Array.from(await y.data())];
    },
    close: () => tree.dispose(held),
  };
}

/** The gradient of sum(g * fn(...)) by one argument. */
const gradient =
  (fn, by) =>
  (...args) => {
    const g = args.pop();
    return jax.grad((x) =>
      fn(...args.map((arg, i) => (i === by ? x : arg.ref)))
        .mul(g.ref)
        .sum(),
    )(args[by].ref);
  };

function withPass(spec, values, fn, names) {
  const held = names.map((name) => made(spec, values, name));
  if (spec.pass === 'forward') return compiled(fn, held);
  const by = { gradient: 0, inputGrad: 0, weightGrad: 1 }[spec.pass];
  if (by === undefined) throw new Error(`not used for ${spec.pass} of ${spec.kind}`);
  return compiled(gradient(fn, by), [...held, made(spec, values, 'g')]);
}

const kinds = {
  matmul: (spec, values) =>
    compiled((a, b) => np.matmul(a, b), [made(spec, values, 'a'), made(spec, values, 'b')]),
  conv(spec, values) {
    const rank = spec.inputs.x.shape.length - 2;
    const fn = (x, weight) =>
      lax.convGeneralDilated(x, weight, Array(rank).fill(spec.stride), 'SAME', {
        featureGroupCount: spec.groups,
      });
    return withPass(spec, values, fn, ['x', 'weight']);
  },
  maxPool: (spec, values) =>
    withPass(spec, values, (x) => lax.reduceWindow(x, np.max, [2, 2], [2, 2]), ['x']),
  avgPool: (spec, values) =>
    withPass(spec, values, (x) => lax.reduceWindow(x, np.mean, [2, 2], [2, 2]), ['x']),
  softmax: (spec, values) => withPass(spec, values, (x) => nn.softmax(x), ['x']),
  layerNorm: (spec, values) =>
    withPass(spec, values, (x, weight, bias) => nn.standardize(x).mul(weight).add(bias), [
      'x',
      'weight',
      'bias',
    ]),
  cnnStep,
};

function cnnStep(spec, values) {
  const x = made(spec, values, 'x');
  const y = nn.oneHot(np.array(values.labels, { dtype: np.int32 }), 10);
  let params = {};
  for (const name of ['w1', 'w2', 'w3', 'w4']) {
    const shape = spec.inputs[name].shape;
    params[name] = made(spec, values, name);
    params[`b${name[1]}`] = np.zeros(shape.length === 4 ? [shape[0], 1, 1] : [shape[0]]);
  }
  const zerosOf = (all) => tree.map((p) => np.zeros(p.shape), tree.ref(all));
  let first = zerosOf(params);
  let second = zerosOf(params);
  const halved = (h) => lax.reduceWindow(h, np.max, [2, 2], [2, 2]);
  const convolved = (h, w, b) => nn.relu(lax.convGeneralDilated(h, w, [1, 1], 'SAME').add(b));
  const forward = (p, images) => {
    const h = halved(convolved(halved(convolved(images, p.w1, p.b1)), p.w2, p.b2));
    const dense = nn.relu(np.dot(h.reshape([-1, 3136]), p.w3.transpose()).add(p.b3));
    return np.dot(dense, p.w4.transpose()).add(p.b4);
  };
  const lossAndGrads = jax.jit((p, images, labels) =>
    jax.valueAndGrad((q, a, b) =>
      nn
        .logSoftmax(forward(q, a))
        .mul(b)
        .sum()
        .mul(-1 / 64),
    )(p, images, labels),
  );
  const adam = jax.jit((p, m, v, g, rate, scale) => {
    const m2 = m.mul(0.9).add(g.ref.mul(0.1));
    const v2 = v.mul(0.999).add(g.ref.mul(g).mul(0.001));
    return [p.sub(m2.ref.mul(rate).div(np.sqrt(v2.ref).mul(scale).add(1e-8))), m2, v2];
  });
  let steps = 0;
  const step = async () => {
    steps++;
    const [loss, grads] = lossAndGrads(tree.ref(params), x.ref, y.ref);
    const rate = 1e-3 / (1 - 0.9 ** steps);
    const scale = 1 / Math.sqrt(1 - 0.999 ** steps);
    const next = [{}, {}, {}];
    for (const name of Object.keys(params)) {
      const updated = adam(
        params[name],
        first[name],
        second[name],
        grads[name],
        np.array(rate),
        np.array(scale),
      );
      next.forEach((all, i) => (all[name] = updated[i]));
    }
    [params, first, second] = next;
    await jax.blockUntilReady(tree.ref(params));
    return (await loss.data())[0];
  };
  return {
    run: step,
    async results() {
      const losses = [];
      for (let i = 0; i < 4; i++) losses.push(await step());
      return [Float64Array.from(losses)];
    },
    close: () => tree.dispose([params, first, second, x, y]),
  };
}

answer({
  async start({ version, threads = 1 }) {
    // It takes as many workers as there are cores, where there are workers; in Node there are none.
    if (typeof Worker === 'function')
      Object.defineProperty(navigator, 'hardwareConcurrency', { value: threads, configurable: true });
    await jax.init('wasm');
    jax.defaultDevice('wasm');
    return `${version}, wasm, ${threads} thread${threads > 1 ? 's' : ''}`;
  },
  kinds,
});

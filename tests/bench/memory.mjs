// npm run bench -- --memory [--variant threads] [--steps N]: the pool's peak over a training step of the bench's
// convolutional network, class rounding and workspaces included, as a multiple of the most that the tape needs at any one
// time; and what is live after many steps. The need is measured too: the bytes that tensors ask for, without rounding
// and workspaces, while the same step runs with each tensor freed by hand once no later line reads it.
import { parseArgs } from 'node:util';
import {
  backward,
  conv,
  crossEntropy,
  init,
  linear,
  maxPool,
  memory,
  rand,
  scope,
  tensor,
  zeros,
} from '../../dist/index.js';
import { Adam } from '../../dist/optim/index.js';
import { runtime } from '../../dist/runtime.js';

const { values } = parseArgs({
  options: { variant: { type: 'string', default: 'single' }, steps: { type: 'string', default: '2000' } },
});
await init(values.variant === 'single' ? { variant: 'single' } : { variant: 'threads', threads: 2 });

function network(batch) {
  const x = rand([batch, 1, 28, 28]);
  const labels = tensor(Int32Array.from({ length: batch }, (_, i) => i % 10));
  const weights = [
    [[32, 1, 3, 3], 0.3],
    [[64, 32, 3, 3], 0.06],
    [[128, 3136], 0.02],
    [[10, 128], 0.09],
  ].map(([shape, scale]) => parameter(shape, scale));
  const biases = weights.map((w) => zeros([w.shape[0]], { requiresGrad: true }));
  const optimizer = new Adam(
    weights.flatMap((w, i) => [w, biases[i]]),
    { lr: 1e-3 },
  );
  return { x, labels, weights, biases, optimizer };
}

function parameter(shape, scale) {
  const w = scope(() =>
    rand(shape)
      .sub(0.5)
      .mul(2 * scale)
      .detach(),
  );
  w.requiresGrad = true;
  return w;
}

/** The step as its user writes it. */
function step({ x, labels, weights: [w1, w2, w3, w4], biases: [b1, b2, b3, b4], optimizer }) {
  return optimizer.minimize(() => {
    const h1 = maxPool(conv(x, w1, { bias: b1, padding: 1 }).relu(), 2);
    const h2 = maxPool(conv(h1, w2, { bias: b2, padding: 1 }).relu(), 2);
    const h3 = linear(h2.reshape([x.shape[0], -1]), w3, { bias: b3 }).relu();
    return crossEntropy(linear(h3, w4, { bias: b4 }), labels);
  });
}

/** The same, each tensor freed as soon as only the tape may need it. */
function frugalStep({ x, labels, weights: [w1, w2, w3, w4], biases: [b1, b2, b3, b4], optimizer }) {
  const then = (tensor, next) => {
    const result = next(tensor);
    tensor.dispose();
    return result;
  };
  optimizer.zeroGrad();
  const c1 = conv(x, w1, { bias: b1, padding: 1 });
  const p1 = then(
    then(c1, (t) => t.relu()),
    (t) => maxPool(t, 2),
  );
  const c2 = then(p1, (t) => conv(t, w2, { bias: b2, padding: 1 }));
  const p2 = then(
    then(c2, (t) => t.relu()),
    (t) => maxPool(t, 2),
  );
  const flat = then(p2, (t) => t.reshape([x.shape[0], -1]));
  const h3 = then(
    then(flat, (t) => linear(t, w3, { bias: b3 })),
    (t) => t.relu(),
  );
  const loss = then(
    then(h3, (t) => linear(t, w4, { bias: b4 })),
    (t) => crossEntropy(t, labels),
  );
  const value = loss.item();
  backward(loss);
  loss.dispose();
  optimizer.step();
  return value;
}

/** Peaks over one run of `f`, in bytes: of the pool, and of what tensors asked for. */
function peaks(f) {
  const rt = runtime('bench');
  rt.module.resetPeak();
  f();
  rt.module.memoryStats();
  return { pool: rt.scratch[3], tensors: rt.scratch[5] };
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;

const large = network(64);
for (let i = 0; i < 3; i++) step(large);
const used = peaks(() => step(large)).pool;
frugalStep(large);
const needed = peaks(() => frugalStep(large)).tensors;
const ratio = used / needed;
console.log(
  `training step, batch 64 (${values.variant}): peak of the pool ${megabytes(used)}, needed ${megabytes(needed)}: ` +
    `${ratio.toFixed(3)} times  at most 1.25  ${ratio <= 1.25 ? 'met' : 'MISSED'}`,
);

const small = network(4);
const live = (steps) => {
  for (let i = 0; i < steps; i++) step(small);
  const { tensors, liveBytes } = memory();
  return `${tensors} tensors, ${liveBytes} bytes`;
};
const early = live(20);
const late = live(Number(values.steps) - 20);
console.log(
  `live after 20 steps: ${early}; after ${values.steps}: ${late}  ${early === late ? 'met' : 'MISSED'}`,
);

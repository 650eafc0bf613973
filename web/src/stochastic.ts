// Ops that draw random numbers. Each takes its part of a generator's stream, the default one's unless told otherwise;
// with `seed` and `offset` it is a pure function of them and moves no generator. A call that is refused draws nothing.

import { type CreateOptions, full, withGrad } from './create.js';
import { failure, shown } from './errors.js';
import * as ops from './ops.generated.js';
import { aTensor, boolean, checkOptions, checkValue, checkedOptions, instance, share } from './options.js';
import { Generator, defaultGenerator, drawing } from './random.js';
import { scope } from './scope.js';
import type { Tensor } from './tensor.js';

/** Where the random numbers come from. */
export interface Stream {
  readonly generator?: Generator | undefined;
}

interface Place {
  readonly seed?: number | undefined;
  readonly offset?: number | undefined;
}

const generatorRule = instance(Generator);

// Options as an object at least; which there are is the op's to check.
function objectOf<O extends object>(op: string, options: O): O {
  checkedOptions(op, options, Object.keys(Object(options) as object));
  return options;
}

// Runs an op at the place that its options name, else at a generator's.
function drawn<O extends Stream & Place>(
  op: string,
  given: O,
  run: (options: Omit<O, 'generator'> & Place) => Tensor,
  count: (y: Tensor) => number,
): Tensor {
  const { generator, ...options } = objectOf(op, given);
  if (generator === undefined && options.seed !== undefined) return run(options);
  return drawing(op, generator ?? defaultGenerator(), (at) => run({ ...options, ...at }), count);
}

type Drop = (x: Tensor, p: number, options: ops.DropoutOptions) => Tensor;

function dropping(
  name: string,
  op: Drop,
  x: Tensor,
  p: number,
  options: ops.DropoutOptions & Stream,
): Tensor {
  if (objectOf(name, options).training === false || p === 0) return op(x, p, { training: false });
  return drawn(
    name,
    options,
    (at) => op(x, p, at),
    (y) => y.numel,
  );
}

/** In training sets each element to 0 with probability p and divides the others by 1 - p; else gives x. */
export function dropout(x: Tensor, p = 0.5, options: ops.DropoutOptions & Stream = {}): Tensor {
  return dropping('dropout', ops.dropout, x, p, options);
}

/** Dropout of whole channels of x [N, C, ...]. */
export function featureDropout(x: Tensor, p = 0.5, options: ops.FeatureDropoutOptions & Stream = {}): Tensor {
  return dropping('featureDropout', ops.featureDropout, x, p, options);
}

/** Dropout for selu: keeps mean 0 and variance 1. */
export function alphaDropout(x: Tensor, p = 0.5, options: ops.AlphaDropoutOptions & Stream = {}): Tensor {
  return dropping('alphaDropout', ops.alphaDropout, x, p, options);
}

/** Alpha dropout of whole channels of x [N, C, ...]: each is set to selu's limit with probability p, all then scaled. */
export function featureAlphaDropout(
  x: Tensor,
  p = 0.5,
  options: Stream & { readonly training?: boolean } = {},
): Tensor {
  const op = 'featureAlphaDropout';
  checkOptions(op, options, { training: boolean, generator: generatorRule });
  checkValue(op, 'x', x, aTensor);
  checkValue(op, 'p', p, share);
  if (x.ndim < 2) throw failure(op, 'shape', `x is ${shown([...x.shape])}; it must be [N, C, ...]`);
  const { training = true, generator } = options;
  if (!training || p === 0) return alphaDropout(x, p, { training: false });
  return scope(() => {
    const channels = [...x.shape.slice(0, 2), ...x.shape.slice(2).map(() => 1)];
    // A channel that is kept has 1: alpha dropout gives it a + b, others b - a limit.
    const marks = alphaDropout(full(channels, 1, { dtype: x.dtype }), p, generator ? { generator } : {});
    const scale = p === 1 ? 0 : 1 / Math.sqrt((1 - p) * (1 + p * seluLimit * seluLimit));
    const shift = scale * p * seluLimit;
    const kept = marks.gt(shift).cast(x.dtype);
    return ops.add(
      ops.mul(ops.mul(x, kept), scale),
      ops.add(ops.mul(kept, scale * seluLimit), shift - scale * seluLimit),
    );
  });
}

// What selu tends to far below 0, negated: its scale times its alpha.
const seluLimit = 1.7580993408473766;

/** In training adds normal noise of mean 0 and deviation `std`; else gives x. */
export function gaussianNoise(x: Tensor, std = 0.1, options: ops.GaussianNoiseOptions & Stream = {}): Tensor {
  if (objectOf('gaussianNoise', options).training === false)
    return ops.gaussianNoise(x, std, { training: false });
  return drawn(
    'gaussianNoise',
    options,
    (at) => ops.gaussianNoise(x, std, at),
    (y) => y.numel,
  );
}

/** Leaky relu whose slope below 0 is drawn for each element in training; else it is the middle of the range. */
export function rrelu(x: Tensor, options: ops.RreluOptions & Stream = {}): Tensor {
  const { generator: _, ...plain } = objectOf('rrelu', options);
  if (plain.training === false) return ops.rrelu(x, plain);
  return drawn(
    'rrelu',
    options,
    (at) => ops.rrelu(x, at),
    (y) => y.numel,
  );
}

/** 1 with probability p, else 0: an element for each of p. */
export function bernoulli(p: Tensor, options: ops.BernoulliOptions & Stream = {}): Tensor {
  return drawn(
    'bernoulli',
    options,
    (at) => ops.bernoulli(p, at),
    (y) => y.numel,
  );
}

/** Indices drawn from weights [n] or [rows, n] of any sum, without replacement unless told; int64. */
export function multinomial(
  weights: Tensor,
  numSamples: number,
  options: ops.MultinomialOptions & Stream = {},
): Tensor {
  // A block a draw or weight, and a block is two numbers.
  return drawn(
    'multinomial',
    options,
    (at) => ops.multinomial(weights, numSamples, at),
    (y) => 2 * Math.max(weights.numel, y.numel),
  );
}

/** Exponential with a rate. */
export function exponential(
  shape: readonly number[],
  given: ops.ExponentialOptions & Stream & Pick<CreateOptions, 'requiresGrad'> = {},
): Tensor {
  const { requiresGrad = false, ...options } = objectOf('exponential', given);
  const made = drawn(
    'exponential',
    options,
    (at) => ops.exponential(shape, at),
    (y) => y.numel,
  );
  return withGrad(made, { requiresGrad });
}

/** Normal with a mean and a standard deviation, within [low, high]. */
export function truncNormal(
  shape: readonly number[],
  given: ops.TruncNormalOptions & Stream & Pick<CreateOptions, 'requiresGrad'> = {},
): Tensor {
  const { requiresGrad = false, ...options } = objectOf('truncNormal', given);
  const made = drawn(
    'truncNormal',
    options,
    (at) => ops.truncNormal(shape, at),
    (y) => y.numel,
  );
  return withGrad(made, { requiresGrad });
}

/** softmax(q k^T * scale + mask) v over the last two axes; a query without any key gives 0. */
export function scaledDotProductAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  { generator, ...options }: ops.ScaledDotProductAttentionOptions & Stream = {},
): Tensor {
  if (!options.dropoutP) return ops.scaledDotProductAttention(q, k, v, options);
  // y is [*, L, F] and the weights [*, L, S].
  return drawn(
    'scaledDotProductAttention',
    { generator, ...options },
    (at) => ops.scaledDotProductAttention(q, k, v, at),
    (y) => y.shape.slice(0, -1).reduce((product, size) => product * size, 1) * (k.shape.at(-2) ?? 1),
  );
}

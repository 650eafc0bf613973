// Functions that are sentences in ops of the core: each has the gradients, of any order, that its parts have. Names and
// meanings are PyTorch's. What reads elements (unique, searchsorted, repeatInterleave with a tensor) has none by nature.

import { full, tensor, zeros } from './create.js';
import { isFloating } from './dtype.js';
import { failure, shown } from './errors.js';
import * as ops from './ops.generated.js';
import {
  aTensor,
  boolean,
  checkOptions,
  checkValue,
  either,
  finite,
  instance,
  integer,
  manyOf,
  number,
  positive,
  share,
  whole,
} from './options.js';
import { Generator } from './random.js';
import { scope } from './scope.js';
import { exponential } from './stochastic.js';
import { type Tensor, isTensor } from './tensor.js';
import { axis, narrow, unsqueeze } from './views.js';

const shapeText = (x: Tensor): string => `[${x.shape.join(', ')}]`;
const numbersOf = (x: Tensor): number[] => Array.from(x.toTypedArray() as ArrayLike<number | bigint>, Number);
const wholeIndices = (x: Tensor): Tensor => (x.dtype === 'int64' ? x : ops.cast(x, 'int64'));

function needsRank(op: string, name: string, x: Tensor, rank: number): void {
  checkValue(op, name, x, aTensor);
  if (x.ndim !== rank) throw failure(op, 'shape', `${name} ${shapeText(x)} must have ${rank} dimensions`);
}

/** The sum of the diagonal of a matrix. */
export function trace(x: Tensor): Tensor {
  return scope(() => {
    needsRank('trace', 'x', x, 2);
    return ops.sum(ops.diagonal(x));
  });
}

/** A vector [n] as the diagonal of a matrix, or the diagonal of a matrix; `diagonal` places lie above the main one. */
export function diag(x: Tensor, diagonal = 0): Tensor {
  checkValue('diag', 'diagonal', diagonal, integer);
  if (isTensor(x) && x.ndim === 2) return ops.diagonal(x, { offset: diagonal });
  needsRank('diag', 'x', x, 1);
  return diagEmbed(x, { offset: diagonal });
}

/** [..., n] as the diagonals of matrices [..., n + |offset|, n + |offset|], zeros elsewhere. */
export function diagEmbed(x: Tensor, options: { readonly offset?: number } = {}): Tensor {
  return scope(() => {
    checkValue('diagEmbed', 'x', x, aTensor);
    checkOptions('diagEmbed', options, { offset: integer });
    const { offset = 0 } = options;
    const n = x.shape.at(-1);
    if (n === undefined) throw failure('diagEmbed', 'shape', 'x [] must have a dimension');
    const size = n + Math.abs(offset);
    // Element i lies at (i + below) * size + i + above of the flattened matrix.
    const places = Array.from(
      { length: n },
      (_, i) => (i + Math.max(-offset, 0)) * size + i + Math.max(offset, 0),
    );
    const index = tensor(places, { dtype: 'int64', shape: [n] });
    const flat = zeros([...x.shape.slice(0, -1), size * size], { dtype: x.dtype });
    const lead = x.shape.slice(0, -1);
    return ops.reshape(ops.scatter(flat, -1, ops.expand(index, x.shape), x), [...lead, size, size]);
  });
}

/** Differences of neighbours along a dimension (-1), `n` (1) times over. */
export function diff(x: Tensor, options: { readonly n?: number; readonly dim?: number } = {}): Tensor {
  return scope(() => {
    checkOptions('diff', options, { n: whole(), dim: integer });
    const { n = 1, dim = -1 } = options;
    const at = axis('diff', x, dim);
    let y = x;
    for (let i = 0; i < n; i++) {
      const size = y.shape[at] as number;
      if (size === 0) break;
      y = ops.sub(narrow(y, at, 1, size - 1), narrow(y, at, 0, size - 1));
    }
    return y;
  });
}

/** The Kronecker product of two matrices, [m, n] and [p, q] to [m p, n q]. */
export function kron(a: Tensor, b: Tensor): Tensor {
  return scope(() => {
    needsRank('kron', 'a', a, 2);
    needsRank('kron', 'b', b, 2);
    const [[m, n], [p, q]] = [a.shape, b.shape] as [[number, number], [number, number]];
    return ops.reshape(ops.mul(ops.reshape(a, [m, 1, n, 1]), ops.reshape(b, [1, p, 1, q])), [m * p, n * q]);
  });
}

/** beta * input + alpha * (a @ b) for batches of matrices a [B, m, k] and b [B, k, n]. */
export function baddbmm(
  input: Tensor,
  a: Tensor,
  b: Tensor,
  options: { readonly beta?: number; readonly alpha?: number } = {},
): Tensor {
  return scope(() => {
    checkOptions('baddbmm', options, { beta: number, alpha: number });
    const { beta = 1, alpha = 1 } = options;
    return ops.add(ops.mul(input, beta), ops.mul(ops.bmm(a, b), alpha));
  });
}

/** The logarithm of the determinant: -Infinity where it is 0, NaN where it is negative. */
export function logdet(x: Tensor): Tensor {
  return scope(() => {
    const [sign, logabs] = ops.slogdet(x);
    return ops.where(ops.lt(sign, 0), NaN, logabs);
  });
}

/** log(exp(a) + exp(b)), without overflow; shapes broadcast. */
export function logaddexp(a: Tensor, b: Tensor): Tensor {
  return scope(() => {
    const { shape } = ops.eq(a, b);
    return ops.logsumexp(ops.stack([ops.expand(a, shape), ops.expand(b, shape)]), 0);
  });
}

const greatest = { float32: 3.4028234663852886e38, float64: Number.MAX_VALUE };

/** NaN, Infinity and -Infinity replaced: by 0, and by the greatest and least numbers of x's dtype unless told. */
export function nanToNum(
  x: Tensor,
  options: { readonly nan?: number; readonly posinf?: number; readonly neginf?: number } = {},
): Tensor {
  return scope(() => {
    checkOptions('nanToNum', options, { nan: number, posinf: number, neginf: number });
    checkValue('nanToNum', 'x', x, aTensor);
    if (!isFloating(x.dtype)) return ops.clone(x);
    const most = x.dtype === 'float64' ? greatest.float64 : greatest.float32;
    const { nan = 0, posinf = most, neginf = -most } = options;
    const low = ops.where(ops.eq(x, -Infinity), neginf, x);
    return ops.where(ops.isnan(x), nan, ops.where(ops.eq(x, Infinity), posinf, low));
  });
}

export interface CloseOptions {
  /** Allowed share of |b|; default 1e-5. */
  readonly rtol?: number;
  /** Allowed difference beside it; default 1e-8. */
  readonly atol?: number;
  /** NaN is close to NaN; default false. */
  readonly equalNan?: boolean;
}

/** |a - b| <= atol + rtol |b| for each element, or both the same infinity; shapes broadcast; bool. */
export function isclose(a: Tensor, b: Tensor, options: CloseOptions = {}): Tensor {
  return scope(() => {
    checkOptions('isclose', options, { rtol: finite, atol: finite, equalNan: boolean });
    const { rtol = 1e-5, atol = 1e-8, equalNan = false } = options;
    const near = ops.le(ops.abs(ops.sub(a, b)), ops.add(ops.mul(ops.abs(b), rtol), atol));
    const close = ops.logicalOr(ops.eq(a, b), ops.logicalAnd(near, ops.isfinite(b)));
    return equalNan ? ops.logicalOr(close, ops.logicalAnd(ops.isnan(a), ops.isnan(b))) : close;
  });
}

/** Whether all elements are close; see isclose. */
export function allclose(a: Tensor, b: Tensor, options: CloseOptions = {}): boolean {
  return scope(() => ops.all(isclose(a, b, options)).item()) !== 0;
}

/** How many elements are not 0, of all or along dimensions; int64. */
export function countNonzero(x: Tensor, dim?: ops.Sizes): Tensor {
  return scope(() => {
    return ops.sum(ops.cast(ops.ne(x, 0), 'int64'), dim);
  });
}

// Of a list that is made in JavaScript.
const mostEntries = 0x4000000;

/** Each entry of a dimension (of the flattened tensor if none is given) as often as told: a number, or one for each. */
export function repeatInterleave(x: Tensor, repeats: number | Tensor, dim?: number): Tensor {
  return scope(() => {
    const flat = dim === undefined ? ops.reshape(x, [-1]) : x;
    const at = axis('repeatInterleave', flat, dim ?? 0);
    const size = flat.shape[at] as number;
    if (typeof repeats !== 'number') checkValue('repeatInterleave', 'repeats', repeats, aTensor);
    const each = typeof repeats === 'number' ? new Array<number>(size).fill(repeats) : numbersOf(repeats);
    if (each.length !== size || !each.every((count) => Number.isInteger(count) && count >= 0)) {
      const given = typeof repeats === 'number' ? shown(repeats) : shapeText(repeats);
      const text = `repeats ${given} must be a whole number from 0, or one for each of ${size} entries`;
      throw failure('repeatInterleave', 'option', text);
    }
    const total = each.reduce((sum, count) => sum + count, 0);
    if (total > mostEntries)
      throw failure('repeatInterleave', 'memory', `${total} entries are more than ${mostEntries}`);
    const places = each.flatMap((count, i) => new Array<number>(count).fill(i));
    return ops.indexSelect(flat, at, tensor(places, { dtype: 'int64', shape: [places.length] }));
  });
}

/** x with entries of a dimension set to a number. */
export function indexFill(x: Tensor, dim: number, index: Tensor, value: number): Tensor {
  return scope(() => {
    const at = axis('indexFill', x, dim);
    checkValue('indexFill', 'index', index, aTensor);
    const hit = zeros([x.shape[at] as number], { dtype: 'int64' });
    const one = full([index.numel], 1, { dtype: 'int64' });
    const mask = ops.gt(ops.indexAdd(hit, 0, ops.reshape(index, [-1]), one), 0);
    const shape = x.shape.map((size, i) => (i === at ? size : 1));
    return ops.maskedFill(x, ops.reshape(mask, shape), value);
  });
}

/** Elements of the flattened x by index, in the index's shape. */
export function take(x: Tensor, index: Tensor): Tensor {
  return scope(() => {
    return ops.reshape(ops.indexSelect(ops.reshape(x, [-1]), 0, ops.reshape(index, [-1])), index.shape);
  });
}

/** How often each of 0, 1, ... occurs in x [n] of whole numbers, or the sums of their weights. */
export function bincount(
  x: Tensor,
  options: { readonly weights?: Tensor | undefined; readonly minLength?: number } = {},
): Tensor {
  return scope(() => {
    needsRank('bincount', 'x', x, 1);
    checkOptions('bincount', options, { weights: aTensor, minLength: whole() });
    const { weights, minLength = 0 } = options;
    const size = x.numel === 0 ? 0 : scope(() => ops.amax(wholeIndices(x)).item()) + 1;
    const source = weights ?? full(x.shape, 1, { dtype: 'int64' });
    const empty = zeros([Math.max(size, minLength)], { dtype: source.dtype });
    return ops.indexAdd(empty, 0, x, source);
  });
}

/** The different elements of x in ascending order; where in them each of x's is; and how often each occurs. */
export function unique(x: Tensor): { values: Tensor; inverse: Tensor; counts: Tensor } {
  return scope(() => {
    const [ascending, indices] = ops.sort(ops.reshape(x, [-1]), 0);
    const [sorted, order] = [ascending.toTypedArray(), numbersOf(indices)];
    const [firsts, counts]: [number[], number[]] = [[], []];
    const inverse = new Array<number>(order.length);
    order.forEach((place, i) => {
      if (i === 0 || sorted[i] !== sorted[i - 1]) {
        firsts.push(place);
        counts.push(0);
      }
      counts[counts.length - 1] = (counts.at(-1) as number) + 1;
      inverse[place] = firsts.length - 1;
    });
    const whole64 = (values: number[], shape: readonly number[] = [values.length]): Tensor =>
      tensor(values, { dtype: 'int64', shape });
    return { values: take(x, whole64(firsts)), inverse: whole64(inverse, x.shape), counts: whole64(counts) };
  });
}

/** Where each of `values` would go in `sorted` [n], which ascends: before equal ones, or behind them with `right`; int64. */
export function searchsorted(
  sorted: Tensor,
  values: Tensor,
  options: { readonly right?: boolean } = {},
): Tensor {
  needsRank('searchsorted', 'sorted', sorted, 1);
  checkValue('searchsorted', 'values', values, aTensor);
  checkOptions('searchsorted', options, { right: boolean });
  const { right = false } = options;
  const steps = numbersOf(sorted);
  const places = numbersOf(values).map((value) => {
    let [low, high] = [0, steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const step = steps[middle] as number;
      if (step < value || (right && step === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  });
  return tensor(places, { dtype: 'int64', shape: values.shape });
}

/**
 * The q-quantiles along a dimension, or of all elements, with linear interpolation between neighbours: for a number q of x's
 * shape without the dimension, for a list with the quantiles in front. NaN counts as the greatest.
 */
export function quantile(
  x: Tensor,
  q: number | readonly number[],
  options: { readonly dim?: number; readonly keepdim?: boolean } = {},
): Tensor {
  return scope(() => {
    const many = Array.isArray(q);
    checkValue('quantile', 'q', q, either(share, manyOf(share)));
    checkOptions('quantile', options, { dim: integer, keepdim: boolean });
    const flat = options.dim === undefined ? ops.reshape(x, [-1]) : x;
    const at = axis('quantile', flat, options.dim ?? 0);
    const size = flat.shape[at] as number;
    if (size === 0)
      throw failure('quantile', 'shape', `of no elements there is no quantile; x ${shapeText(x)}`);
    const [sorted] = ops.sort(flat, at);
    const parts = ((many ? q : [q]) as number[]).map((one) => {
      const place = one * (size - 1);
      const low = Math.floor(place);
      const [below, above] = [low, Math.min(low + 1, size - 1)].map((i) => narrow(sorted, at, i, 1));
      return ops.lerp(below as Tensor, above as Tensor, place - low);
    });
    const kept = options.keepdim === true && options.dim !== undefined;
    const shape = (parts[0] as Tensor).shape.filter((_, i) => kept || i !== at);
    const done = parts.map((part) => ops.reshape(part, shape));
    return many ? ops.stack(done) : (done[0] as Tensor);
  });
}

/** softmax((x + Gumbel noise) / tau) along a dimension (-1); with `hard` its greatest as 1, the gradient the soft one's. */
export function gumbelSoftmax(
  x: Tensor,
  options: {
    readonly tau?: number;
    readonly hard?: boolean;
    readonly dim?: number;
    readonly generator?: Generator | undefined;
  } = {},
): Tensor {
  return scope(() => {
    checkOptions('gumbelSoftmax', options, {
      tau: positive,
      hard: boolean,
      dim: integer,
      generator: instance(Generator),
    });
    const { tau = 1, hard = false, dim = -1, generator } = options;
    const at = axis('gumbelSoftmax', x, dim);
    if (x.dtype !== 'float32' && x.dtype !== 'float64')
      throw failure('gumbelSoftmax', 'dtype', `x has dtype ${x.dtype}, it needs float32 or float64`);
    // -log of an exponential variable is a Gumbel one.
    const noise = ops.neg(ops.log(ops.maximum(exponential(x.shape, { dtype: x.dtype, generator }), 1e-30)));
    const soft = ops.softmax(ops.div(ops.add(x, noise), tau), at);
    if (!hard) return soft;
    const winner = unsqueeze(ops.argmax(soft, at), at);
    const one = ops.scatter(
      zeros(x.shape, { dtype: x.dtype }),
      at,
      winner,
      full(winner.shape, 1, { dtype: x.dtype }),
    );
    return ops.add(ops.sub(one, soft.detach()), soft);
  });
}

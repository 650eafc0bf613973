// nn.init: new values for parameters, in place and without recording, by PyTorch's names and formulas. The numbers come
// from the core, so that every engine draws the same.

import { noGrad } from '../autograd.js';
import { eye, zeros } from '../create.js';
import { failure } from '../errors.js';
import { diagonal, qr, truncNormal } from '../ops.generated.js';
import { aTensor, checkOptions, checkValue, finite, oneOf, whole } from '../options.js';
import { type Generator, type RandomOptions, defaultGenerator, normal, uniform } from '../random.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { generatorRules } from './checks.js';

export interface InitializerOptions {
  /** Where the numbers come from; default: the generator that manualSeed seeds. */
  readonly generator?: Generator;
}

export interface KaimingOptions extends InitializerOptions {
  /** Slope of leakyRelu; default 0. */
  readonly a?: number;
  /** Keep the size of what goes forward, or of gradients; default 'fanIn'. */
  readonly mode?: 'fanIn' | 'fanOut';
  /** What follows the layer; default 'leakyRelu'. */
  readonly nonlinearity?: Nonlinearity;
}

export interface GainOptions extends InitializerOptions {
  /** Factor; default 1. */
  readonly gain?: number;
}

export type Nonlinearity = (typeof nonlinearities)[number];

const nonlinearities = ['linear', 'conv', 'sigmoid', 'tanh', 'relu', 'leakyRelu', 'selu'] as const;
const gainRules = { ...generatorRules, gain: finite };
const kaimingRules = {
  ...generatorRules,
  a: finite,
  mode: oneOf('fanIn', 'fanOut'),
  nonlinearity: oneOf(...nonlinearities),
};

/** The factor that keeps variances through a nonlinearity; `param` is leakyRelu's slope, 0.01 by default. */
export function calculateGain(nonlinearity: Nonlinearity, param = 0.01): number {
  checkValue('calculateGain', 'nonlinearity', nonlinearity, oneOf(...nonlinearities));
  switch (nonlinearity) {
    case 'tanh':
      return 5 / 3;
    case 'relu':
      return Math.SQRT2;
    case 'leakyRelu':
      return Math.sqrt(2 / (1 + param * param));
    case 'selu':
      return 0.75;
    default:
      return 1;
  }
}

// Writes what `make` gives, and gives the tensor back.
function fill(name: string, target: Tensor, make: () => Tensor, least = 0): Tensor {
  checkValue(name, 'tensor', target, aTensor);
  if (target.ndim < least) {
    const shape = `[${target.shape.join(', ')}]`;
    throw failure(name, 'shape', `the tensor is ${shape}; it must have ${least} dimensions or more`);
  }
  noGrad(() => {
    scope(() => {
      target.copy_(make());
    });
  });
  return target;
}

// How random values for that tensor are drawn: in its own dtype.
function drawing({ dtype }: Tensor, { generator }: InitializerOptions): RandomOptions {
  return { dtype: dtype === 'float64' ? dtype : 'float32', ...(generator ? { generator } : {}) };
}

// [inputs, outputs] that an element of the result, or of the input, meets.
function fans({ shape }: Tensor): [number, number] {
  const [outputs = 1, inputs = 1, ...taps] = shape;
  const field = taps.reduce((product, size) => product * size, 1);
  return [inputs * field, outputs * field];
}

/** Every element this value. */
export function constant_(tensor: Tensor, value: number): Tensor {
  checkValue('constant_', 'tensor', tensor, aTensor);
  noGrad(() => {
    tensor.fill_(value);
  });
  return tensor;
}
export function zeros_(tensor: Tensor): Tensor {
  return constant_(tensor, 0);
}
export function ones_(tensor: Tensor): Tensor {
  return constant_(tensor, 1);
}

/** Uniform in [low, high), by default [0, 1). */
export function uniform_(tensor: Tensor, low = 0, high = 1, options: InitializerOptions = {}): Tensor {
  checkValue('uniform_', 'tensor', tensor, aTensor);
  checkOptions('uniform_', options, generatorRules);
  return fill('uniform_', tensor, () => uniform(tensor.shape, low, high, drawing(tensor, options)));
}

/** Normal, by default standard. */
export function normal_(tensor: Tensor, mean = 0, std = 1, options: InitializerOptions = {}): Tensor {
  checkValue('normal_', 'tensor', tensor, aTensor);
  checkOptions('normal_', options, generatorRules);
  return fill('normal_', tensor, () => normal(tensor.shape, mean, std, drawing(tensor, options)));
}

/** Normal, within [low, high] (by default [-2, 2]) only. */
export function truncNormal_(
  tensor: Tensor,
  mean = 0,
  std = 1,
  low = -2,
  high = 2,
  options: InitializerOptions = {},
): Tensor {
  checkValue('truncNormal_', 'tensor', tensor, aTensor);
  checkOptions('truncNormal_', options, generatorRules);
  return fill('truncNormal_', tensor, () => {
    const { seed, offset } = (options.generator ?? defaultGenerator()).draw(tensor.numel);
    const dtype = tensor.dtype === 'float64' ? 'float64' : 'float32';
    return truncNormal(tensor.shape, { mean, std, low, high, seed, offset, dtype });
  });
}

/** Uniform within gain * sqrt(6 / (inputs + outputs)) (Glorot, Bengio 2010). */
export function xavierUniform_(tensor: Tensor, given: GainOptions = {}): Tensor {
  checkValue('xavierUniform_', 'tensor', tensor, aTensor);
  checkOptions('xavierUniform_', given, gainRules);
  const { gain = 1, ...options } = given;
  const [inputs, outputs] = fans(tensor);
  const bound = gain * Math.sqrt(6 / (inputs + outputs));
  const make = (): Tensor => uniform(tensor.shape, -bound, bound, drawing(tensor, options));
  return fill('xavierUniform_', tensor, make, 2);
}

/** Normal with deviation gain * sqrt(2 / (inputs + outputs)). */
export function xavierNormal_(tensor: Tensor, given: GainOptions = {}): Tensor {
  checkValue('xavierNormal_', 'tensor', tensor, aTensor);
  checkOptions('xavierNormal_', given, gainRules);
  const { gain = 1, ...options } = given;
  const [inputs, outputs] = fans(tensor);
  const std = gain * Math.sqrt(2 / (inputs + outputs));
  return fill('xavierNormal_', tensor, () => normal(tensor.shape, 0, std, drawing(tensor, options)), 2);
}

function kaimingStd(tensor: Tensor, options: KaimingOptions): number {
  const { a = 0, mode = 'fanIn', nonlinearity = 'leakyRelu' } = options;
  const [inputs, outputs] = fans(tensor);
  return calculateGain(nonlinearity, a) / Math.sqrt(mode === 'fanIn' ? inputs : outputs);
}

/** Uniform within gain * sqrt(3 / fan) (He et al. 2015). */
export function kaimingUniform_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  checkValue('kaimingUniform_', 'tensor', tensor, aTensor);
  checkOptions('kaimingUniform_', options, kaimingRules);
  const bound = Math.sqrt(3) * kaimingStd(tensor, options);
  const make = (): Tensor => uniform(tensor.shape, -bound, bound, drawing(tensor, options));
  return fill('kaimingUniform_', tensor, make, 2);
}

/** Normal with deviation gain / sqrt(fan). */
export function kaimingNormal_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  checkValue('kaimingNormal_', 'tensor', tensor, aTensor);
  checkOptions('kaimingNormal_', options, kaimingRules);
  const std = kaimingStd(tensor, options);
  return fill('kaimingNormal_', tensor, () => normal(tensor.shape, 0, std, drawing(tensor, options)), 2);
}

/** A random matrix with orthonormal rows or columns, whichever are fewer (Saxe et al. 2013), times gain. */
export function orthogonal_(tensor: Tensor, given: GainOptions = {}): Tensor {
  checkValue('orthogonal_', 'tensor', tensor, aTensor);
  checkOptions('orthogonal_', given, gainRules);
  const { gain = 1, ...options } = given;
  const make = (): Tensor => {
    const rows = tensor.shape[0] ?? 0;
    const columns = rows === 0 ? 0 : tensor.numel / rows;
    const tall = rows >= columns;
    const shape = tall ? [rows, columns] : [columns, rows];
    const [q, r] = qr(normal(shape, 0, 1, drawing(tensor, options)));
    // With the signs of r's diagonal the matrix is uniform among all.
    const signs = diagonal(r)
      .lt(0)
      .cast(tensor.dtype)
      .mul(-2 * gain)
      .add(gain);
    const signed = q.mul(signs);
    return (tall ? signed : signed.permute([1, 0])).reshape(tensor.shape);
  };
  return fill('orthogonal_', tensor, make, 2);
}

/** The identity matrix, of as many rows and columns as there are. */
export function eye_(tensor: Tensor): Tensor {
  checkValue('eye_', 'tensor', tensor, aTensor);
  const [rows = 0, columns = 0] = tensor.shape;
  if (tensor.ndim !== 2)
    throw failure('eye_', 'shape', `the tensor has ${tensor.ndim} dimensions; it must have 2`);
  return fill('eye_', tensor, () => eye(rows, columns, { dtype: tensor.dtype }));
}

/** A convolution of 1 to 3 axes that passes its input on, in each of `groups` as many channels as fit. */
export function dirac_(tensor: Tensor, groups = 1): Tensor {
  checkValue('dirac_', 'tensor', tensor, aTensor);
  checkValue('dirac_', 'groups', groups, whole(1));
  const { shape } = tensor;
  const [outputs = 0, inputs = 0, ...kernel] = shape;
  if (kernel.length < 1 || kernel.length > 3 || !Number.isInteger(outputs / groups)) {
    const rule = 'must have 3 to 5 dimensions and outputs that the groups divide';
    throw failure('dirac_', 'shape', `the tensor is [${shape.join(', ')}], groups ${groups}; it ${rule}`);
  }
  const middle = kernel.map((size) => Math.floor(size / 2));
  return fill('dirac_', tensor, () => {
    const values = zeros(shape, { dtype: tensor.dtype });
    const each = Math.min(outputs / groups, inputs);
    const one = eye(each, each, { dtype: tensor.dtype });
    for (let g = 0; g < groups; g++) {
      const first = (g * outputs) / groups;
      values.at([first, first + each], [0, each], ...middle).copy_(one);
    }
    return values;
  });
}

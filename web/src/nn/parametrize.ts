// Parameters that are computed from others at each use, under the names of torch.nn.utils.parametrizations.

import { noGrad } from '../autograd.js';
import { isRerun } from '../checkpoint.js';
import { failure, shown } from '../errors.js';
import { matmul, normalize, weightNorm as weightNormOp } from '../ops.generated.js';
import { checkOptions, checkValue, integer, positive, text, whole } from '../options.js';
import { type Generator, randn } from '../random.js';
import { keep, scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { checkSizes, generatorRules, orNull, shapeOf } from './checks.js';
import { ConvTransposeBase } from './conv_transpose.js';
import { Layer, snakeCase } from './layer.js';
import { type AnyModule, Module, buffer, checkModule, isParameter, parameter } from './module.js';

/** Computes a parameter from one tensor or several. Its own tensors are part of the module's state dict. */
export interface Parametrization extends Module<Tensor[]> {
  /** What the parameter, as it is now, would be computed from; default: itself. */
  rightInverse?(value: Tensor): Tensor | Tensor[];
}

class ParametrizedTensor extends Module<[]> {
  readonly originals: readonly Tensor[];
  readonly parametrization: Parametrization;

  constructor(originals: readonly Tensor[], parametrization: Parametrization) {
    super();
    this.originals = originals;
    this.parametrization = parametrization;
  }
  forward(): Tensor {
    return this.parametrization.call(...this.originals);
  }
  protected override entries(): Iterable<readonly [string, unknown]> {
    const named = this.originals.map((x, i) => {
      return [this.originals.length === 1 ? 'original' : `original${i}`, x] as const;
    });
    return [...named, ['0', this.parametrization] as const];
  }
}

const parametrized = new WeakMap<AnyModule, Map<string, ParametrizedTensor>>();

/**
 * Lets a module compute its parameter `name` at each use. In the state dict it becomes `parametrizations.NAME.original`
 * (or original0, original1, ...). Returns the module. Make the optimizer afterwards.
 */
export function registerParametrization<M extends AnyModule>(
  module: M,
  name: string,
  parametrization: Parametrization,
): M {
  const op = 'registerParametrization';
  checkModule(op, 'module', module);
  checkModule(op, 'parametrization', parametrization);
  checkValue(op, 'name', name, text);
  const fields = module as unknown as Record<string, unknown>;
  const value = fields[name];
  const own = parametrized.get(module) ?? new Map<string, ParametrizedTensor>();
  if (own.has(name)) throw failure(op, 'argument', `'${name}' is parametrized already`);
  if (!isParameter(value))
    throw failure(op, 'argument', `'${name}' is ${shown(value)}; it must be a parameter of the module`);
  const made = parametrization.rightInverse
    ? noGrad(() => scope(() => parametrization.rightInverse?.(value)))
    : value;
  const originals = (Array.isArray(made) ? made : [made]) as Tensor[];
  for (const tensor of originals) if (tensor !== value) parameter(keep(tensor));
  const tensor = new ParametrizedTensor(originals, parametrization).train(module.training);
  own.set(name, tensor);
  parametrized.set(module, own);
  register(module, own);
  Object.defineProperty(module, name, { get: () => tensor.call(), enumerable: false, configurable: true });
  return module;
}

/** Makes what the parameter is now a plain parameter again. Returns the module. */
export function removeParametrizations<M extends AnyModule>(module: M, name: string): M {
  checkModule('removeParametrizations', 'module', module);
  checkValue('removeParametrizations', 'name', name, text);
  const own = parametrized.get(module);
  const tensor = own?.get(name);
  if (!own || !tensor) throw failure('removeParametrizations', 'argument', `'${name}' is not parametrized`);
  const value = parameter(noGrad(() => scope(() => tensor.call().clone())));
  own.delete(name);
  register(module, own);
  Object.defineProperty(module, name, { value, enumerable: true, configurable: true, writable: true });
  return module;
}

function register(module: AnyModule, own: ReadonlyMap<string, ParametrizedTensor>): void {
  const named = (name: string): string => (module instanceof Layer ? snakeCase(name) : name);
  if (own.size === 0) module.unregister('parametrizations');
  else
    module.register(
      'parametrizations',
      Object.fromEntries(Array.from(own, ([name, tensor]) => [named(name), tensor])),
    );
}

class WeightNorm extends Module<Tensor[]> implements Parametrization {
  readonly #dim: number | null;
  constructor(dim: number | null) {
    super();
    this.#dim = dim;
  }
  forward(g: Tensor, v: Tensor): Tensor {
    return weightNormOp(v, g, { dim: this.#dim });
  }
  rightInverse(value: Tensor): Tensor[] {
    const dim = this.#dim === null ? null : this.#dim < 0 ? this.#dim + value.ndim : this.#dim;
    const others = value.shape.map((_, i) => i).filter((i) => i !== dim);
    return [dim === null ? value.norm() : value.norm(others, { keepdim: true }), value.clone()];
  }
}

/**
 * Weight as length times direction (Salimans, Kingma 2016): original0 are the norms, original1 is what has the direction.
 *
 * @param options `dim`: the axis that keeps norms of its own; null: one norm of all. Default 0
 */
export function weightNorm<M extends AnyModule>(
  module: M,
  name = 'weight',
  options: { readonly dim?: number | null } = {},
): M {
  checkOptions('weightNorm', options, { dim: orNull(integer) });
  return registerParametrization(module, name, new WeightNorm(options.dim === undefined ? 0 : options.dim));
}

export interface SpectralNormOptions {
  /** Steps of the power method at each use in training; default 1. */
  readonly nPowerIterations?: number;
  /** Least norm to divide by; default 1e-12. */
  readonly eps?: number;
  /** The axis that is the matrix's rows; default 0, 1 for transposed convolutions. */
  readonly dim?: number;
  readonly generator?: Generator;
}

class SpectralNorm extends Module<Tensor[]> {
  readonly #dim: number;
  readonly #eps: number;
  readonly #iterations: number;
  /** Singular vectors, left and right. */
  readonly _u: Tensor;
  readonly _v: Tensor;

  constructor(weight: Tensor, dim: number, options: SpectralNormOptions) {
    super();
    const { nPowerIterations = 1, eps = 1e-12, generator } = options;
    this.#dim = dim;
    this.#eps = eps;
    this.#iterations = nPowerIterations;
    const dtype = weight.dtype === 'float64' ? 'float64' : 'float32';
    const drawn = generator ? ({ dtype, generator } as const) : ({ dtype } as const);
    const vector = (size: number): Tensor =>
      buffer(scope(() => normalize(randn([size], drawn), { dim: 0, eps })));
    const rows = weight.shape[dim] ?? 1;
    this._u = vector(rows);
    this._v = vector(weight.numel / rows);
    noGrad(() => {
      scope(() => {
        this.#iterate(this.#matrix(weight), 15);
      });
    });
  }

  // Rows of the weight along its axis.
  #matrix(weight: Tensor): Tensor {
    const axes = weight.shape.map((_, i) => i).filter((i) => i !== this.#dim);
    const turned = this.#dim === 0 ? weight : weight.permute([this.#dim, ...axes]);
    return turned.reshape([weight.shape[this.#dim] ?? 1, -1]);
  }

  #iterate(matrix: Tensor, times: number): void {
    const by = { dim: 0, eps: this.#eps };
    for (let i = 0; i < times; i++) {
      this._u.copy_(normalize(matmul(matrix, this._v), by));
      this._v.copy_(normalize(matmul(this._u, matrix), by));
    }
  }

  forward(weight: Tensor): Tensor {
    const matrix = this.#matrix(weight);
    if (this.training && !isRerun())
      noGrad(() => {
        scope(() => {
          this.#iterate(matrix.detach(), this.#iterations);
        });
      });
    // Copies, since the next use may come before this one's backward pass.
    const [u, v] = [this._u.clone(), this._v.clone()];
    return weight.div(u.mul(matmul(matrix, v)).sum());
  }
}

/** Divides a weight by its largest singular value, found by the power method (Miyato et al. 2018). */
export function spectralNorm<M extends AnyModule>(
  module: M,
  name = 'weight',
  options: SpectralNormOptions = {},
): M {
  const op = 'spectralNorm';
  checkModule(op, 'module', module);
  checkValue(op, 'name', name, text);
  checkOptions(op, options, {
    nPowerIterations: whole(1, 1000),
    eps: positive,
    dim: integer,
    ...generatorRules,
  });
  const value = (module as unknown as Record<string, unknown>)[name];
  if (!isParameter(value))
    throw failure(op, 'argument', `'${name}' is ${shown(value)}; it must be a parameter of the module`);
  if (value.ndim < 2)
    throw failure(op, 'shape', `'${name}' is ${shapeOf(value)}; it must have 2 axes or more`);
  const transposed = module instanceof ConvTransposeBase;
  const { dim = transposed ? 1 : 0 } = options;
  checkSizes(
    op,
    { dim },
    {
      ...whole(),
      text: `an axis of ${shapeOf(value)}`,
      test: (v) => whole().test(v) && (v as number) < value.ndim,
    },
  );
  return registerParametrization(module, name, new SpectralNorm(value, dim, options));
}

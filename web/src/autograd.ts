// Derivatives: thin calls of the module's engine, and the functional forms made of them.

import { zerosLike } from './create.js';
import { tensorHandle } from './dispatch.js';
import { failure, shown } from './errors.js';
import { stack } from './ops.generated.js';
import { aTensor, anything, boolean, checkOptions, checkValue, func } from './options.js';
import { runtime } from './runtime.js';
import { refusePromise, scope } from './scope.js';
import { Tensor, wrap } from './tensor.js';

export interface BackwardOptions {
  /** Keep what the graph saved, for another pass. Default: createGraph. */
  readonly retainGraph?: boolean;
  /** Record the backward pass, so that gradients can be differentiated again. */
  readonly createGraph?: boolean;
}

export interface GradOptions extends BackwardOptions {
  /** Cotangents of the outputs, of their shapes; may be left out for outputs of one element. */
  readonly gradOutputs?: readonly (Tensor | null)[];
  /** Give null for an input that the outputs do not depend on, in place of an error. */
  readonly allowUnused?: boolean;
}

const backwardRules = { retainGraph: boolean, createGraph: boolean };
const gradRules = { ...backwardRules, gradOutputs: anything, allowUnused: boolean };

/**
 * Adds dy/dx to `x.grad` of every leaf x that y depends on.
 *
 * @param y a floating tensor that was recorded
 * @param gradient its cotangent, of y's shape; may be left out if y has one element
 * @throws OmnigradError if nothing was recorded, or the graph was already used and not retained
 */
export function backward(y: Tensor, gradient?: Tensor | null, options: BackwardOptions = {}): void {
  const rt = runtime('backward');
  checkOptions('backward', options, backwardRules);
  if (isOptions(gradient)) {
    const text = `the gradient must be a Tensor or null; options come after it, as in y.backward(null, { retainGraph: true })`;
    throw failure('backward', 'argument', text);
  }
  const { createGraph = false, retainGraph = createGraph } = options;
  const cotangent = absent(gradient) ? 0 : tensorHandle('backward', 'gradient', gradient);
  rt.check(
    rt.module.backward(tensorHandle('backward', 'y', y), cotangent, retainGraph, createGraph),
    'backward',
  );
}

const absent = (value: unknown): value is null | undefined => value === null || value === undefined;

function isOptions(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Tensor);
}

/**
 * Gradients of the sum of the outputs with respect to each input; no `.grad` is touched.
 *
 * @param inputs one tensor or a list
 * @returns one tensor an input, of its shape and dtype; null (with allowUnused) where nothing depends on it
 */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: GradOptions & { readonly allowUnused: true },
): (Tensor | null)[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options?: GradOptions,
): Tensor[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: GradOptions = {},
): (Tensor | null)[] {
  const rt = runtime('grad');
  checkOptions('grad', options, gradRules);
  const { createGraph = false, retainGraph = createGraph, allowUnused = false, gradOutputs } = options;
  const ys = listed('outputs', outputs);
  const xs = listed('inputs', inputs);
  if (gradOutputs !== undefined && !Array.isArray(gradOutputs))
    throw failure('grad', 'option', `gradOutputs is a list, one an output; got ${shown(gradOutputs)}`);
  if (gradOutputs && gradOutputs.length !== ys.length) {
    throw failure('grad', 'argument', `${ys.length} outputs but ${gradOutputs.length} gradOutputs; one each`);
  }
  const handles = (name: string, list: readonly unknown[]): number[] =>
    list.map((x, i) => tensorHandle('grad', `${name}[${i}]`, x));
  const cotangents = ys.map((_, i) =>
    absent(gradOutputs?.[i]) ? 0 : tensorHandle('grad', `gradOutputs[${i}]`, gradOutputs[i]),
  );
  const numbers = [ys.length, ...handles('outputs', ys), ...cotangents, xs.length, ...handles('inputs', xs)];
  rt.scratch.set(numbers);
  rt.check(rt.module.grad(retainGraph, createGraph, allowUnused), 'grad');
  const found = Array.from(rt.scratch.subarray(0, xs.length));
  return found.map((g) => (g === 0 ? null : wrap(g)));
}

function listed(name: string, value: unknown): readonly unknown[] {
  if (value instanceof Tensor) return [value];
  if (Array.isArray(value)) return value as unknown[];
  throw failure('grad', 'argument', `${name} must be a Tensor or a list of them; got ${shown(value)}`);
}

/** Runs `fn` without recording anything for gradients. */
export function noGrad<T>(fn: () => T): T {
  return withRecording(false, fn);
}

/** Runs `fn` with recording on, inside a noGrad. */
export function enableGrad<T>(fn: () => T): T {
  return withRecording(true, fn);
}

function withRecording<T>(on: boolean, fn: () => T): T {
  const op = on ? 'enableGrad' : 'noGrad';
  const rt = runtime(op);
  checkValue(op, 'fn', fn, func);
  const before = rt.module.setGradMode(on);
  try {
    const result = fn();
    refusePromise(op, result, `${op} is synchronous; call it between the awaits`);
    return result;
  } finally {
    rt.module.setGradMode(before);
  }
}

// Fresh leaves with the arguments' values, so that the caller's graphs and grads stay out of it; attached (createGraph)
// the arguments themselves.
function leaves(op: string, fn: unknown, args: readonly Tensor[]): Tensor[] {
  checkValue(op, 'fn', fn, func);
  return args.map((x, i) => {
    checkValue(op, args.length > 1 ? `argument ${i}` : 'x', x, aTensor);
    const leaf = x.detach();
    leaf.requiresGrad = true;
    return leaf;
  });
}

// What a function of the caller's gives, recorded.
function result(op: string, fn: () => Tensor): Tensor {
  const value: unknown = enableGrad(fn);
  if (value instanceof Tensor) return value;
  throw failure(op, 'argument', `the function must return a Tensor; it returned ${shown(value)}`);
}

/** A function's value at `args`, and its gradients with respect to each of them. `fn` gives one element. */
export function valueAndGrad<A extends Tensor[]>(
  fn: (...args: A) => Tensor,
  ...args: A
): { value: Tensor; grads: { [K in keyof A]: Tensor } } {
  return scope(() => {
    const inputs = leaves('valueAndGrad', fn, args);
    const value = result('valueAndGrad', () => fn(...(inputs as A)));
    const found = grad(value, inputs, { allowUnused: true });
    const grads = inputs.map((x, i) => found[i] ?? zerosLike(x));
    return { value: value.detach(), grads: grads as { [K in keyof A]: Tensor } };
  });
}

/** Vector-Jacobian product: `fn(x)` and a function from a cotangent (default: ones) to d<fn(x), v>/dx. */
export function vjp(
  fn: (x: Tensor) => Tensor,
  x: Tensor,
): { value: Tensor; pullback: (v?: Tensor) => Tensor } {
  const [input] = leaves('vjp', fn, [x]) as [Tensor];
  const value = result('vjp', () => fn(input));
  const pullback = (v?: Tensor): Tensor =>
    scope(() =>
      gradOrZeros(value, input, { gradOutputs: [v ?? zerosLike(value).add(1)], retainGraph: true }),
    );
  return { value, pullback };
}

/** Jacobian-vector product of `fn` at x along v, by differentiating a vector-Jacobian product in its cotangent. */
export function jvp(fn: (x: Tensor) => Tensor, x: Tensor, v: Tensor): { value: Tensor; tangent: Tensor } {
  return scope(() => {
    const [input] = leaves('jvp', fn, [x]) as [Tensor];
    return enableGrad(() => {
      const value = result('jvp', () => fn(input));
      const cotangent = zerosLike(value);
      cotangent.requiresGrad = true;
      const pulled = gradOrZeros(value, input, { gradOutputs: [cotangent], createGraph: true });
      return { value: value.detach(), tangent: gradOrZeros(pulled, cotangent, { gradOutputs: [v] }) };
    });
  });
}

/** Hessian-vector product: d<grad f(x), v>/dx. `fn` gives one element. */
export function hvp(fn: (x: Tensor) => Tensor, x: Tensor, v: Tensor): Tensor {
  return scope(() => {
    const [input] = leaves('hvp', fn, [x]) as [Tensor];
    return enableGrad(() => {
      const first = gradOrZeros(
        result('hvp', () => fn(input)),
        input,
        { createGraph: true },
      );
      return gradOrZeros(first, input, { gradOutputs: [v] });
    });
  });
}

/** All derivatives of `fn(x)` [*Y] by x [*X]: shape [*Y, *X], one backward pass an element of Y. */
export function jacobian(fn: (x: Tensor) => Tensor, x: Tensor): Tensor {
  return scope(() => {
    const [input] = leaves('jacobian', fn, [x]) as [Tensor];
    return enableGrad(() =>
      rowsOf(
        result('jacobian', () => fn(input)),
        input,
      ),
    );
  });
}

/** Second derivatives of `fn` (one element) at x [*X]: shape [*X, *X]. */
export function hessian(fn: (x: Tensor) => Tensor, x: Tensor): Tensor {
  return scope(() => {
    const [input] = leaves('hessian', fn, [x]) as [Tensor];
    return enableGrad(() =>
      rowsOf(
        gradOrZeros(
          result('hessian', () => fn(input)),
          input,
          { createGraph: true },
        ),
        input,
      ),
    );
  });
}

function rowsOf(y: Tensor, x: Tensor): Tensor {
  const flat = y.reshape([-1]);
  const rows: Tensor[] = [];
  for (let i = 0; i < flat.numel; i++) rows.push(gradOrZeros(flat.at(i), x, { retainGraph: true }).detach());
  return stack(rows).reshape([...y.shape, ...x.shape]);
}

function gradOrZeros(y: Tensor, x: Tensor, options: GradOptions): Tensor {
  if (!y.requiresGrad) return zerosLike(x);
  return grad(y, [x], { ...options, allowUnused: true })[0] ?? zerosLike(x);
}

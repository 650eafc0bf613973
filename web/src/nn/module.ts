// The base of every layer: finds its parameters and submodules in its fields, names them as PyTorch does, and runs
// `forward` in a scope. No layer here; hooks, state dicts and summaries have files of their own.

import { noGrad } from '../autograd.js';
import { isFloating } from '../dtype.js';
import { failure, shown } from '../errors.js';
import { aTensor, boolean, checkOptions, checkValue, dtypeOf, func, text } from '../options.js';
import { keep, scope } from '../scope.js';
import { type Tensor, isTensor, takeOver } from '../tensor.js';
import {
  type BackwardHook,
  type ForwardHook,
  type ForwardPreHook,
  type HookHandle,
  Hooks,
  hookOf,
} from './hooks.js';
import { type LoadOptions, type LoadResult, type StateDict, loadInto } from './state.js';

const parameters = new WeakSet<Tensor>();
const buffers = new WeakMap<Tensor, { readonly persistent: boolean }>();

/** Makes a tensor a parameter: a leaf that gradients are accumulated for, freed by no scope. */
export function parameter(tensor: Tensor): Tensor {
  checkValue('parameter', 'tensor', tensor, aTensor);
  tensor.requiresGrad = true;
  parameters.add(keep(tensor));
  return tensor;
}

/**
 * Makes a tensor a buffer: without gradient, freed by no scope.
 *
 * @param options `persistent`: part of the state dict; default true
 */
export function buffer(tensor: Tensor, options: { readonly persistent?: boolean } = {}): Tensor {
  checkValue('buffer', 'tensor', tensor, aTensor);
  checkOptions('buffer', options, { persistent: boolean });
  buffers.set(keep(tensor), { persistent: options.persistent ?? true });
  return tensor;
}

/** Whether `parameter` made it one. */
export const isParameter = (value: unknown): value is Tensor => isTensor(value) && parameters.has(value);
/** Whether `buffer` made it one. */
export const isBuffer = (value: unknown): value is Tensor => isTensor(value) && buffers.has(value);
const isState = (tensor: Tensor): boolean =>
  parameters.has(tensor) || buffers.get(tensor)?.persistent === true;

/** A module whatever it takes and gives. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyModule = Module<any[], any>;

// Set by the class, which alone may ask another module for its protected entries.
let entriesOf: (module: AnyModule) => Iterable<readonly [string, unknown]>;

/**
 * A layer or a network. Write `forward`; use `call`. Parameters, buffers and submodules are found in fields, and in
 * arrays, Maps and records that are fields; `register` adds those of `#private` fields. A module's own tensors come
 * before those of its submodules, parameters first, as in PyTorch.
 */
export abstract class Module<In extends unknown[] = [Tensor], Out = Tensor> {
  #training = true;
  #hooks: Hooks | undefined;
  readonly #registered = new Map<string, unknown>();

  /** What the module computes. */
  abstract forward(...inputs: In): Out;

  /** Runs `forward` with the hooks, frees its temporaries, and gives what it returned. */
  call(...inputs: In): Out {
    // In JavaScript nothing else says that it is missing.
    if (typeof this.forward !== 'function')
      throw failure(this.constructor.name, 'argument', 'it has no forward(...) that says what it computes');
    const hooks = this.#hooks;
    if (!hooks) return scope(() => this.forward(...inputs));
    return scope(() => hooks.run(this, inputs, (given) => this.forward(...given)));
  }

  /** Adds a parameter, buffer or submodule (or a list or record of them) that no field shows. Returns it. */
  register<T>(name: string, value: T): T {
    checkValue('register', 'name', name, text);
    this.#registered.set(name, value);
    return value;
  }
  /** Takes back what `register` did. */
  unregister(name: string): void {
    this.#registered.delete(name);
  }

  /** Calls `hook` before each `forward`; a list that it returns replaces the inputs. */
  registerForwardPreHook(hook: ForwardPreHook<In>): HookHandle {
    return (this.#hooks ??= new Hooks()).add('before', hookOf('registerForwardPreHook', hook) as never);
  }
  /** Calls `hook` after each `forward`; what it returns, unless undefined, replaces the output. */
  registerForwardHook(hook: ForwardHook<In, Out>): HookHandle {
    return (this.#hooks ??= new Hooks()).add('after', hookOf('registerForwardHook', hook) as never);
  }
  /**
   * Calls `hook` when the gradients of a call's inputs are known, with those and the outputs' (null: none); a list that
   * it returns replaces the inputs'. Where no input requires grad it is told the outputs' alone.
   */
  registerFullBackwardHook(hook: BackwardHook): HookHandle {
    return (this.#hooks ??= new Hooks()).add('backward', hookOf('registerFullBackwardHook', hook));
  }

  /** True between `train()` and `eval()`; new modules train. */
  get training(): boolean {
    return this.#training;
  }
  /** Sets the mode of this module and all below it. */
  train(on = true): this {
    checkValue('train', 'on', on, boolean);
    for (const [, module] of this.namedModules()) module.#training = on;
    return this;
  }
  eval(): this {
    return this.train(false);
  }

  /** Whether gradients are accumulated for the parameters of this module and all below it. */
  requiresGrad_(on = true): this {
    checkValue('requiresGrad_', 'on', on, boolean);
    for (const tensor of this.parameters()) tensor.requiresGrad = on;
    return this;
  }

  /** Forgets the gradients of the parameters. */
  zeroGrad(): void {
    for (const tensor of this.parameters()) tensor.grad = null;
  }

  /** Casts floating parameters (with their gradients) and buffers in place. Make the optimizer afterwards. */
  to(dtype: 'float32' | 'float64'): this {
    checkValue('to', 'dtype', dtype, dtypeOf('float32', 'float64'));
    for (const [, tensor] of this.#walk((value) => isParameter(value) || isBuffer(value)))
      convert(tensor as Tensor, dtype);
    return this;
  }

  /** Calls `fn` with every module below, then with this one. */
  apply(fn: (module: AnyModule) => void): this {
    checkValue('apply', 'fn', fn, func);
    const seen = new Set<AnyModule>();
    const visitAll = (module: AnyModule): void => {
      if (!unseen(seen, module)) return;
      module.children().forEach(visitAll);
      fn(module);
    };
    visitAll(this);
    return this;
  }

  /** The module's own entries by name; what names its children otherwise overrides it. */
  protected entries(): Iterable<readonly [string, unknown]> {
    return [...Object.entries(this), ...this.#registered];
  }

  /** This module (as ''), and all below it, each once, by dotted name. */
  *namedModules(): IterableIterator<[string, AnyModule]> {
    yield* this.#walk((value) => value instanceof Module) as IterableIterator<[string, AnyModule]>;
  }
  /** This module and all below it, each once. */
  modules(): AnyModule[] {
    return Array.from(this.namedModules(), ([, module]) => module);
  }
  /** The modules that are this one's own, by name. */
  *namedChildren(): IterableIterator<[string, AnyModule]> {
    const seen = new Set<AnyModule>([this]);
    for (const [name, value] of flat('', entriesOf(this), new Set())) {
      if (isTensor(value) || seen.has(value)) continue;
      seen.add(value);
      yield [name, value];
    }
  }
  /** The modules that are this one's own. */
  children(): AnyModule[] {
    return Array.from(this.namedChildren(), ([, module]) => module);
  }
  /** Parameters of this module and all below it, each once, by dotted name. */
  *namedParameters(): IterableIterator<[string, Tensor]> {
    yield* this.#walk(isParameter) as IterableIterator<[string, Tensor]>;
  }
  /** The parameters, for an optimizer. */
  parameters(): Tensor[] {
    return Array.from(this.namedParameters(), ([, tensor]) => tensor);
  }
  /** Buffers of this module and all below it, each once, by dotted name. */
  *namedBuffers(): IterableIterator<[string, Tensor]> {
    yield* this.#walk(isBuffer) as IterableIterator<[string, Tensor]>;
  }
  buffers(): Tensor[] {
    return Array.from(this.namedBuffers(), ([, tensor]) => tensor);
  }

  // What `wanted` says, each once, so that shared parameters and cycles are met once.
  *#walk(wanted: (value: object) => boolean): IterableIterator<[string, unknown]> {
    const seen = new Set<object>();
    for (const item of visit('', this, (value) => unseen(seen, value))) if (wanted(item[1])) yield item;
  }

  static {
    entriesOf = (module) => module.entries();
  }

  /** The live parameters and persistent buffers (not copies) by PyTorch's names; one that is shared has several. */
  stateDict(): StateDict {
    const dict: StateDict = {};
    const path = new Set<object>();
    const enter = (value: object): boolean => isTensor(value) || unseen(path, value);
    for (const [name, value] of visit('', this, enter, (value) => path.delete(value)))
      if (isTensor(value) && isState(value)) dict[name] = value;
    return dict;
  }

  /**
   * Copies the values of a state dict into this module's parameters and buffers, cast to their dtypes.
   *
   * @param options `strict` (default true): refuse names that are missing or unexpected; `keyMap` renames the dict's
   *   names: a function, null to leave one out, or a list of [pattern, replacement] that are applied in turn
   * @returns the names that were missing and unexpected
   * @throws OmnigradError before anything is copied, naming all that is missing, unexpected or of another shape
   */
  loadStateDict(dict: Readonly<StateDict>, options: LoadOptions = {}): LoadResult {
    return loadInto(this.stateDict(), dict, options);
  }

  /** Frees all parameters and buffers. */
  dispose(): void {
    for (const [, tensor] of this.#walk((value) => isParameter(value) || isBuffer(value)))
      (tensor as Tensor).dispose();
  }

  /** The tree of submodules with their classes and own tensors' shapes. */
  toString(): string {
    const own: string[] = [];
    const lines: string[] = [];
    for (const [name, value] of flat('', entriesOf(this), new Set())) {
      if (isParameter(value) || isBuffer(value)) own.push(`${name}: [${value.shape.join(', ')}]`);
      else if (value instanceof Module) lines.push(`  ${name}: ${value.toString().replaceAll('\n', '\n  ')}`);
    }
    const head = `${this.constructor.name}(${own.join(', ')})`;
    return lines.length === 0 ? head : `${head} {\n${lines.join('\n')}\n}`;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

function convert(tensor: Tensor, dtype: 'float32' | 'float64'): void {
  if (!isFloating(tensor.dtype) || tensor.dtype === dtype) return;
  noGrad(() => {
    scope(() => {
      const { grad, requiresGrad } = tensor;
      takeOver(tensor, tensor.detach().cast(dtype));
      keep(tensor).requiresGrad = requiresGrad;
      if (grad) tensor.grad = grad.cast(dtype);
    });
  });
}

// Modules and tensors below `value`, depth first: a module, its parameters, its buffers, its submodules. `enter` says
// whether to look at one; `leave` is told when that is done.
function* visit(
  name: string,
  value: AnyModule,
  enter: (value: object) => boolean,
  leave: (value: object) => void = () => undefined,
): IterableIterator<[string, object]> {
  if (!enter(value)) return;
  yield [name, value];
  const own = [...flat(name, entriesOf(value), new Set())];
  for (const kind of [isParameter, isBuffer])
    for (const [key, item] of own) if (kind(item) && enter(item)) yield [key, item];
  for (const [key, item] of own) if (item instanceof Module) yield* visit(key, item, enter, leave);
  leave(value);
}

// Adds what is not there yet; whether it was not.
function unseen(set: Set<object>, value: object): boolean {
  if (set.has(value)) return false;
  set.add(value);
  return true;
}

// A module's own modules and tensors, also those inside arrays, Maps and records.
function* flat(
  name: string,
  entries: Iterable<readonly [string, unknown]>,
  inside: Set<object>,
): IterableIterator<[string, Tensor | AnyModule]> {
  for (const [key, value] of entries) {
    const path = name === '' ? key : `${name}.${key}`;
    if (typeof value !== 'object' || value === null) continue;
    if (isTensor(value) || value instanceof Module) yield [path, value];
    else if (!inside.has(value)) {
      inside.add(value);
      yield* flat(path, itemsOf(value), inside);
      inside.delete(value);
    }
  }
}

function itemsOf(value: object): Iterable<readonly [string, unknown]> {
  if (Array.isArray(value)) return value.map((item: unknown, i) => [String(i), item] as const);
  if (value instanceof Map)
    return Array.from(value, ([key, item]) => [String(key), item as unknown] as const);
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.entries(value) : [];
}

/** Refuses what is no module. */
export function checkModule(op: string, name: string, value: unknown): asserts value is AnyModule {
  if (value instanceof Module) return;
  const hint =
    typeof value === 'function' ? '; a function belongs into the forward of a class that extends Module' : '';
  throw failure(op, 'argument', `${name} is ${shown(value)}; it must be a Module${hint}`);
}

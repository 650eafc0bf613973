// The base of every layer: finds its parameters and submodules in its fields, names them as PyTorch does, and runs
// `forward` in a scope. No layer here.

import { noGrad } from '../autograd.js';
import { failure, shown } from '../errors.js';
import { aTensor, boolean, checkOptions, checkValue } from '../options.js';
import { keep, scope } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';

const parameters = new WeakSet<Tensor>();
const buffers = new WeakSet<Tensor>();

/** Makes a tensor a parameter: a leaf that gradients are accumulated for, freed by no scope. */
export function parameter(tensor: Tensor): Tensor {
  checkValue('parameter', 'tensor', tensor, aTensor);
  tensor.requiresGrad = true;
  parameters.add(keep(tensor));
  return tensor;
}

/** Makes a tensor a buffer: part of the state dict, without gradient, freed by no scope. */
export function buffer(tensor: Tensor): Tensor {
  checkValue('buffer', 'tensor', tensor, aTensor);
  buffers.add(keep(tensor));
  return tensor;
}

/** Parameters and buffers by name, in the order of their definition. */
export type StateDict = Record<string, Tensor>;

// Set by the class, which alone may ask another module for its protected entries.
let childrenOf: (value: object) => Iterable<readonly [string, unknown]>;

/**
 * A layer or a network. Write `forward`; use `call`. Parameters, buffers and submodules are found in fields, and in
 * arrays, Maps and records that are fields; `register` adds those of `#private` fields.
 */
export abstract class Module<In extends unknown[] = [Tensor], Out = Tensor> {
  #training = true;
  readonly #registered = new Map<string, unknown>();

  /** What the module computes. */
  abstract forward(...inputs: In): Out;

  /** Runs `forward`, frees its temporaries, and gives what it returned. */
  call(...inputs: In): Out {
    return scope(() => this.forward(...inputs));
  }

  /** Adds a parameter, buffer or submodule that no field shows. Returns it. */
  register<T>(name: string, value: T): T {
    this.#registered.set(name, value);
    return value;
  }

  /** True between `train()` and `eval()`; new modules train. */
  get training(): boolean {
    return this.#training;
  }

  /** Sets the mode of this module and all below it. */
  train(on = true): this {
    for (const [, module] of this.namedModules()) module.#training = on;
    return this;
  }
  eval(): this {
    return this.train(false);
  }

  /** The module's own entries by name; containers that name their children otherwise override it. */
  protected entries(): Iterable<readonly [string, unknown]> {
    return [...Object.entries(this), ...this.#registered];
  }

  /** This module (as ''), and all below it, each once, by dotted name. */
  *namedModules(): IterableIterator<[string, Module<never, unknown>]> {
    for (const [name, value] of this.#walk()) if (value instanceof Module) yield [name, value];
  }

  /** Parameters of this module and all below it, each once. */
  *namedParameters(): IterableIterator<[string, Tensor]> {
    for (const [name, value] of this.#walk())
      if (isTensor(value) && parameters.has(value)) yield [name, value];
  }

  /** Buffers of this module and all below it, each once. */
  *namedBuffers(): IterableIterator<[string, Tensor]> {
    for (const [name, value] of this.#walk()) if (isTensor(value) && buffers.has(value)) yield [name, value];
  }

  /** The parameters, for an optimizer. */
  parameters(): Tensor[] {
    return Array.from(this.namedParameters(), ([, tensor]) => tensor);
  }

  // Depth first, each object once, so that shared parameters and cycles are met once.
  *#walk(): IterableIterator<[string, unknown]> {
    const seen = new Set<object>();
    function* visit(name: string, value: unknown): IterableIterator<[string, unknown]> {
      if (typeof value !== 'object' || value === null || seen.has(value)) return;
      seen.add(value);
      if (isTensor(value) || value instanceof Module) yield [name, value];
      for (const [key, child] of childrenOf(value)) yield* visit(name === '' ? key : `${name}.${key}`, child);
    }
    yield* visit('', this);
  }

  static {
    childrenOf = (value) => {
      if (value instanceof Module) return value.entries();
      if (Array.isArray(value)) return value.map((item: unknown, i) => [String(i), item] as const);
      if (value instanceof Map)
        return Array.from(value, ([key, item]) => [String(key), item as unknown] as const);
      const prototype: unknown = Object.getPrototypeOf(value);
      return prototype === Object.prototype || prototype === null ? Object.entries(value) : [];
    };
  }

  /** The live parameters and buffers (not copies) by PyTorch's names. */
  stateDict(): StateDict {
    const dict: StateDict = {};
    for (const [name, value] of this.#walk()) {
      if (isTensor(value) && (parameters.has(value) || buffers.has(value))) dict[name] = value;
    }
    return dict;
  }

  /**
   * Copies the values of a state dict into this module's parameters and buffers.
   *
   * @throws OmnigradError before anything is copied, if a shape differs or (strict, the default) names do
   */
  loadStateDict(dict: Readonly<StateDict>, options: { readonly strict?: boolean } = {}): void {
    if (
      typeof dict !== 'object' ||
      (dict as unknown) === null ||
      Array.isArray(dict) ||
      ArrayBuffer.isView(dict)
    ) {
      const text = `the state dict is ${shown(dict)}; it must be a record of tensors by name`;
      throw failure('loadStateDict', 'argument', text);
    }
    checkOptions('loadStateDict', options, { strict: boolean });
    const { strict = true } = options;
    const own = this.stateDict();
    const missing = Object.keys(own).filter((name) => !(name in dict));
    const unexpected = Object.keys(dict).filter((name) => !(name in own));
    if (strict && missing.length + unexpected.length > 0) {
      const text = `missing: ${missing.join(', ') || 'none'}; unexpected: ${unexpected.join(', ') || 'none'}`;
      throw failure('loadStateDict', 'state-dict', `${text}; { strict: false } allows both`);
    }
    const pairs: [target: Tensor, source: Tensor][] = [];
    for (const [name, target] of Object.entries(own)) {
      const source = dict[name];
      if (source === undefined) continue;
      if (!isTensor(source)) {
        const text = `'${name}' is ${shown(source)}; it must be a Tensor, e.g. tensor(values, { shape })`;
        throw failure('loadStateDict', 'argument', text);
      }
      const { shape } = source;
      if (shape.join() !== target.shape.join()) {
        const text = `'${name}' is [${shape.join(', ')}] but the module has [${target.shape.join(', ')}]`;
        throw failure('loadStateDict', 'shape', text);
      }
      pairs.push([target, source]);
    }
    noGrad(() => {
      for (const [target, source] of pairs) target.copy_(source);
    });
  }

  /** Frees all parameters and buffers. */
  dispose(): void {
    for (const tensor of Object.values(this.stateDict())) tensor.dispose();
  }
}

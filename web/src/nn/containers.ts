// Modules made of modules: in a row, as a list, by name; and lists of parameters.

import { failure, shown } from '../errors.js';
import { checkValue, items, text } from '../options.js';
import { type Tensor, isTensor } from '../tensor.js';
import { type AnyModule, Module, checkModule, parameter } from './module.js';

/** Modules one after another, each from one tensor to one; their names are '0', '1', ... or those of a record. */
export class Sequential extends Module {
  readonly #modules = new Map<string, Module>();

  constructor(...modules: readonly Module[] | [Readonly<Record<string, Module>>]) {
    super();
    const [first] = modules;
    const byName = modules.length === 1 && isRecord(first);
    for (const [name, module] of Object.entries(byName ? first : modules))
      this.#add(name, byName ? `module '${name}'` : `module ${name}`, module);
  }
  #add(name: string, place: string, module: unknown): void {
    checkModule('Sequential', place, module);
    this.#modules.set(name, module as unknown as Module);
  }

  /** How many there are. */
  get length(): number {
    return this.#modules.size;
  }
  /** The module at that place, from the end if negative. */
  at(index: number): Module | undefined {
    return [...this.#modules.values()].at(index);
  }
  /** Adds a module at the end. */
  append(module: Module): this {
    this.#add(String(this.length), `module ${this.length}`, module);
    return this;
  }
  [Symbol.iterator](): IterableIterator<Module> {
    return this.#modules.values();
  }

  protected override entries(): Iterable<readonly [string, unknown]> {
    return [...super.entries(), ...this.#modules];
  }
  forward(x: Tensor): Tensor {
    let value = x;
    for (const module of this.#modules.values()) value = module.call(value);
    return value;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, Module>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function noForward(name: string): never {
  throw failure(name, 'argument', 'it only holds others; call those');
}

/** A list of modules, named '0', '1', ... */
export class ModuleList<M extends AnyModule = Module> extends Module<never, never> {
  readonly #modules: M[] = [];

  constructor(modules: Iterable<M> = []) {
    super();
    this.extend(modules);
  }
  get length(): number {
    return this.#modules.length;
  }
  /** The module at that place, from the end if negative. */
  at(index: number): M | undefined {
    return this.#modules.at(index);
  }
  /** Adds a module at the end. */
  append(module: M): this {
    return this.insert(this.length, module);
  }
  /** Adds a module before that place. */
  insert(index: number, module: M): this {
    checkModule('ModuleList', `module ${index}`, module);
    this.#modules.splice(index, 0, module);
    return this;
  }
  extend(modules: Iterable<M>): this {
    for (const module of items('ModuleList', 'modules', modules, 'a list of modules'))
      this.append(module as M);
    return this;
  }
  [Symbol.iterator](): IterableIterator<M> {
    return this.#modules.values();
  }
  protected override entries(): Iterable<readonly [string, unknown]> {
    return [...super.entries(), ...this.#modules.map((module, i) => [String(i), module] as const)];
  }
  forward(): never {
    return noForward('ModuleList');
  }
}

function pairs<T>(
  name: string,
  what: string,
  given: Readonly<Record<string, T>> | Iterable<readonly [string, T]>,
): (readonly [string, T])[] {
  const rule = 'a record, a Map, or a list of [name, value]';
  if (typeof given !== 'object' || (given as object | null) === null)
    throw failure(name, 'argument', `${what} is ${shown(given)}; it must be ${rule}`);
  const list: readonly unknown[] = Symbol.iterator in given ? [...given] : Object.entries(given);
  for (const pair of list)
    if (!Array.isArray(pair) || pair.length !== 2)
      throw failure(name, 'argument', `${what} hold ${shown(pair)}; they must be ${rule}`);
  return list as (readonly [string, T])[];
}

/** Modules by name, in the order in which they were set. */
export class ModuleDict<M extends AnyModule = Module> extends Module<never, never> {
  readonly #modules = new Map<string, M>();

  constructor(modules: Readonly<Record<string, M>> | Iterable<readonly [string, M]> = {}) {
    super();
    const list = pairs('ModuleDict', 'modules', modules);
    for (const [name, module] of list) this.set(name, module);
  }
  get size(): number {
    return this.#modules.size;
  }
  get(name: string): M | undefined {
    return this.#modules.get(name);
  }
  has(name: string): boolean {
    return this.#modules.has(name);
  }
  set(name: string, module: M): this {
    checkValue('ModuleDict', 'name', name, text);
    checkModule('ModuleDict', `'${name}'`, module);
    this.#modules.set(name, module);
    return this;
  }
  delete(name: string): boolean {
    return this.#modules.delete(name);
  }
  keys(): IterableIterator<string> {
    return this.#modules.keys();
  }
  values(): IterableIterator<M> {
    return this.#modules.values();
  }
  [Symbol.iterator](): IterableIterator<[string, M]> {
    return this.#modules.entries();
  }
  protected override entries(): Iterable<readonly [string, unknown]> {
    return [...super.entries(), ...this.#modules];
  }
  forward(): never {
    return noForward('ModuleDict');
  }
}

/** A list of parameters, named '0', '1', ...; tensors that are none yet become such. */
export class ParameterList extends Module<never, never> {
  readonly #tensors: Tensor[] = [];

  constructor(tensors: Iterable<Tensor> = []) {
    super();
    for (const tensor of items('ParameterList', 'tensors', tensors, 'a list of tensors'))
      this.append(tensor as Tensor);
  }
  get length(): number {
    return this.#tensors.length;
  }
  at(index: number): Tensor | undefined {
    return this.#tensors.at(index);
  }
  append(tensor: Tensor): this {
    if (!isTensor(tensor))
      throw failure(
        'ParameterList',
        'argument',
        `tensor ${this.length} is ${shown(tensor)}; it must be a Tensor`,
      );
    this.#tensors.push(parameter(tensor));
    return this;
  }
  [Symbol.iterator](): IterableIterator<Tensor> {
    return this.#tensors.values();
  }
  protected override entries(): Iterable<readonly [string, unknown]> {
    return [...super.entries(), ...this.#tensors.map((tensor, i) => [String(i), tensor] as const)];
  }
  forward(): never {
    return noForward('ParameterList');
  }
}

/** Parameters by name, in the order in which they were set; tensors that are none yet become such. */
export class ParameterDict extends Module<never, never> {
  readonly #tensors = new Map<string, Tensor>();

  constructor(tensors: Readonly<Record<string, Tensor>> | Iterable<readonly [string, Tensor]> = {}) {
    super();
    const list = pairs('ParameterDict', 'tensors', tensors);
    for (const [name, tensor] of list) this.set(name, tensor);
  }
  get size(): number {
    return this.#tensors.size;
  }
  get(name: string): Tensor | undefined {
    return this.#tensors.get(name);
  }
  has(name: string): boolean {
    return this.#tensors.has(name);
  }
  set(name: string, tensor: Tensor): this {
    checkValue('ParameterDict', 'name', name, text);
    if (!isTensor(tensor))
      throw failure('ParameterDict', 'argument', `'${name}' is ${shown(tensor)}; it must be a Tensor`);
    this.#tensors.set(name, parameter(tensor));
    return this;
  }
  delete(name: string): boolean {
    return this.#tensors.delete(name);
  }
  keys(): IterableIterator<string> {
    return this.#tensors.keys();
  }
  values(): IterableIterator<Tensor> {
    return this.#tensors.values();
  }
  [Symbol.iterator](): IterableIterator<[string, Tensor]> {
    return this.#tensors.entries();
  }
  protected override entries(): Iterable<readonly [string, unknown]> {
    return [...super.entries(), ...this.#tensors];
  }
  forward(): never {
    return noForward('ParameterDict');
  }
}

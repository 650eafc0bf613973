// Values into a module's tensors by name: what is renamed, what is compared, and how misfits are told.

import { noGrad } from '../autograd.js';
import { type DType, isFloating, isHalf } from '../dtype.js';
import { failure, shown } from '../errors.js';
import { type Rule, boolean, checkOptions } from '../options.js';
import { scope } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';

/** Parameters and buffers by name: own ones before those of submodules. */
export type StateDict = Record<string, Tensor>;

/** Renames: a function (null leaves the entry out), or [pattern, replacement] pairs that are applied in turn. */
export type KeyMap =
  ((name: string) => string | null) | readonly (readonly [pattern: string | RegExp, replacement: string])[];

export interface LoadOptions {
  /** Refuse names that are missing or unexpected; default true. */
  readonly strict?: boolean;
  readonly keyMap?: KeyMap;
}

export interface LoadResult {
  /** Names of the module that the dict lacks. */
  readonly missingKeys: readonly string[];
  /** Names of the dict, renamed, that the module lacks. */
  readonly unexpectedKeys: readonly string[];
}

const isPair = (pair: unknown): boolean =>
  Array.isArray(pair) &&
  pair.length === 2 &&
  (typeof pair[0] === 'string' || pair[0] instanceof RegExp) &&
  typeof pair[1] === 'string';

const aKeyMap: Rule = {
  text: 'a function from name to name (or null), or a list of [pattern, replacement]',
  test: (v) => typeof v === 'function' || (Array.isArray(v) && v.every(isPair)),
};

/** What has named tensors: an object that is not an array, a tensor or bytes. */
export function checkStateDict(op: string, dict: unknown): asserts dict is StateDict {
  const good = typeof dict === 'object' && dict !== null && !Array.isArray(dict);
  if (!good || isTensor(dict) || ArrayBuffer.isView(dict) || dict instanceof Map)
    throw failure(op, 'argument', `the state dict is ${shown(dict)}; it must be a record of tensors by name`);
}

/** Copies a dict into the tensors of the same names; see Module.loadStateDict. */
export function loadInto(own: StateDict, dict: Readonly<StateDict>, options: LoadOptions): LoadResult {
  const op = 'loadStateDict';
  checkStateDict(op, dict);
  checkOptions(op, options, { strict: boolean, keyMap: aKeyMap });
  const { strict = true, keyMap } = options;
  const given = renamed(op, dict, keyMap);
  const missingKeys = Object.keys(own).filter((name) => !given.has(name));
  const unexpectedKeys = [...given.keys()].filter((name) => !Object.hasOwn(own, name));
  const pairs: [target: Tensor, source: Tensor][] = [];
  const misfits: string[] = [];
  for (const [name, target] of Object.entries(own)) {
    const source = given.get(name);
    if (source === undefined) continue;
    const misfit = differs(name, source, target);
    if (misfit !== undefined) misfits.push(misfit);
    pairs.push([target, source]);
  }
  const named = strict && missingKeys.length + unexpectedKeys.length > 0;
  if (named || misfits.length > 0) {
    const parts = named
      ? [`missing: ${listed(missingKeys)}; unexpected: ${listed(unexpectedKeys)}`, ...misfits]
      : misfits;
    const remedy = named ? '; { strict: false } allows missing and unexpected names, { keyMap } renames' : '';
    const noTensor = pairs.some(([, source]) => !isTensor(source));
    const code = noTensor ? 'argument' : 'shape';
    throw failure(op, named ? 'state-dict' : code, parts.join('; ') + remedy);
  }
  copyAll(pairs);
  return { missingKeys, unexpectedKeys };
}

/** Copies each source into its target, cast to its dtype, unrecorded. */
export function copyAll(pairs: Iterable<readonly [target: Tensor, source: Tensor]>): void {
  noGrad(() => {
    scope(() => {
      for (const [target, source] of pairs)
        target.copy_(source.dtype === target.dtype ? source : source.cast(target.dtype));
    });
  });
}

const listed = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.join(', '));

// By dtype: floats of all kinds go into each other, and integers.
const family = (dtype: DType): string => {
  if (isFloating(dtype) || isHalf(dtype)) return 'floating';
  return dtype === 'bool' ? 'bool' : 'integer';
};

function differs(name: string, source: unknown, target: Tensor): string | undefined {
  if (!isTensor(source))
    return `'${name}' is ${shown(source)}; it must be a Tensor, e.g. tensor(values, { shape })`;
  if (source.shape.join() !== target.shape.join())
    return `'${name}' is [${source.shape.join(', ')}] but the module has [${target.shape.join(', ')}]`;
  if (family(source.dtype) !== family(target.dtype))
    return `'${name}' is ${source.dtype} but the module has ${target.dtype}`;
  return undefined;
}

function renamed(op: string, dict: Readonly<StateDict>, keyMap: KeyMap | undefined): Map<string, Tensor> {
  const rename =
    typeof keyMap === 'function'
      ? keyMap
      : (name: string) => (keyMap ?? []).reduce((text, [from, to]) => text.replace(from, to), name);
  const result = new Map<string, Tensor>();
  for (const [name, tensor] of Object.entries(dict)) {
    const to: unknown = rename(name);
    if (to === null || to === undefined) continue;
    if (typeof to !== 'string')
      throw failure(op, 'option', `keyMap gave ${shown(to)} for '${name}'; it must be a name or null`);
    if (result.has(to))
      throw failure(op, 'option', `keyMap gives the name '${to}' twice, also for '${name}'`);
    result.set(to, tensor);
  }
  return result;
}

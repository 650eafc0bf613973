// Rules for what callers give outside the ops of the schema (those are checked by wire.ts and the core): one table of
// rules a function, one wording of refusals. Nothing here knows a function or its options.

import type { DType } from './dtype.js';
import { describe, failure, shown } from './errors.js';

let isTensor = (_: unknown): boolean => false;

/** Tells what a tensor is. This module imports nothing that takes part in a cycle: tables of rules are made on loading. */
export function tensorTest(test: (value: unknown) => boolean): void {
  isTensor = test;
}

/** What a value may be: a test, the words for it, and the code of the error. */
export interface Rule {
  readonly text: string;
  readonly code?: string;
  readonly required?: boolean;
  readonly test: (value: unknown) => boolean;
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const quoted = (values: readonly unknown[]): string =>
  values.map((v) => (typeof v === 'string' ? `'${v}'` : String(v))).join(', ');

export const boolean: Rule = { text: 'true or false', test: (v) => typeof v === 'boolean' };
export const text: Rule = { text: 'a string', test: (v) => typeof v === 'string' };
export const anything: Rule = { text: 'anything', test: () => true };
export const func: Rule = { text: 'a function', code: 'argument', test: (v) => typeof v === 'function' };
/** Any number but NaN and the infinities. */
export const finite: Rule = { text: 'a finite number', test: (v) => Number.isFinite(v) };
export const notNegative: Rule = {
  text: 'a finite number, 0 or more',
  test: (v) => Number.isFinite(v) && (v as number) >= 0,
};
/** As bounds are: Infinity is none. */
export const atLeastZero: Rule = { text: 'a number, 0 or more', test: (v) => isNumber(v) && v >= 0 };
export const positive: Rule = { text: 'a number above 0', test: (v) => isNumber(v) && v > 0 };
/** As rates of decay are. */
export const belowOne: Rule = {
  text: 'a number from 0 to below 1',
  test: (v) => isNumber(v) && v >= 0 && v < 1,
};
export const share: Rule = { text: 'a number from 0 to 1', test: (v) => isNumber(v) && v >= 0 && v <= 1 };

export const number: Rule = { text: 'a number', test: isNumber };
export const integer: Rule = { text: 'a whole number', test: (v) => Number.isSafeInteger(v) };
export const whole = (least = 0, most = Infinity): Rule => ({
  text: `a whole number from ${least}${most === Infinity ? '' : ` to ${most}`}`,
  test: (v) => Number.isSafeInteger(v) && (v as number) >= least && (v as number) <= most,
});

export const oneOf = (...values: readonly unknown[]): Rule => ({
  text: `one of ${quoted(values)}`,
  test: (v) => values.includes(v),
});

export const dtypeOf = (...values: readonly DType[]): Rule => ({
  text: values.length > 2 ? `one of ${values.join(', ')}` : values.join(' or '),
  code: 'dtype',
  test: (v) => (values as readonly unknown[]).includes(v),
});

/** As many as `count` of what `rule` says. */
export const listOf = (rule: Rule, count: number): Rule => ({
  text: `${count} of: ${rule.text}`,
  test: (v) => Array.isArray(v) && v.length === count && v.every((item) => rule.test(item)),
});

export const aTensor: Rule = { text: 'a Tensor', code: 'argument', test: (v) => isTensor(v) };

/** An instance of a class, which may be abstract. */
export const instance = (type: { readonly name: string; readonly prototype: object }): Rule => ({
  text: `a ${type.name}`,
  test: (v) => typeof v === 'object' && v !== null && Object.prototype.isPrototypeOf.call(type.prototype, v),
});

export const either = (...rules: readonly Rule[]): Rule => ({
  text: rules.map(({ text }) => text).join(', or '),
  test: (v) => rules.some((rule) => rule.test(v)),
});

/** A list, of any length from 1, of what `rule` says. */
export const manyOf = (rule: Rule): Rule => ({
  text: `a list of: ${rule.text}`,
  test: (v) => Array.isArray(v) && v.length > 0 && v.every((item) => rule.test(item)),
});

/** One that may not be left out. */
export const required = (rule: Rule): Rule => ({ ...rule, required: true });

/** A shape, in the words of whoever gave numbers one by one. */
export const shape: Rule = {
  text: 'a list of whole numbers from 0, e.g. [2, 3]',
  code: 'shape',
  test: (v) => Array.isArray(v) && v.every((size) => Number.isSafeInteger(size) && size >= 0),
};

/** Refuses a value that breaks its rule: `op: name is ...; it must be ...`. */
export function checkValue(op: string, name: string, value: unknown, rule: Rule): void {
  if (rule.test(value)) return;
  throw failure(op, rule.code ?? 'option', `${name} is ${shown(value)}; it must be ${rule.text}`);
}

/** Refuses options that the function does not have, naming those it has. */
export function checkedOptions(
  op: string,
  options: unknown,
  allowed: readonly string[],
): Record<string, unknown> {
  if (typeof options !== 'object' || options === null || Array.isArray(options) || isTensor(options)) {
    const first = allowed[0] ?? '';
    const isOne = typeof options === 'number' || typeof options === 'boolean' || typeof options === 'string';
    const example = isOne && first !== '' ? `${first}: ${shown(options)}` : first;
    // An operation's sizes, given one by one.
    const list = typeof options === 'number' && /^[a-z]/.test(op);
    throw failure(
      op,
      'option',
      `options must be an object, e.g. { ${example} }; got ${describe(options)}` +
        (list ? '; several numbers are one argument, a list such as [2, 3]' : ''),
    );
  }
  for (const key of Object.keys(options)) {
    if (!allowed.includes(key)) {
      const list = allowed.length > 0 ? `allowed: ${allowed.join(', ')}` : 'it has none';
      throw failure(op, 'option', `unknown option '${key}'; ${list}`);
    }
  }
  return options as Record<string, unknown>;
}

/** Refuses options that have no rule, and values that break theirs; what is absent is fine unless it is required. */
export function checkOptions(op: string, given: unknown, rules: Readonly<Record<string, Rule>>): void {
  const options = checkedOptions(op, given, Object.keys(rules));
  for (const [name, rule] of Object.entries(rules)) {
    const value = options[name];
    if (value !== undefined || rule.required) checkValue(op, name, value, rule);
  }
}

/** The items of a list or of another iterable. */
export function items(op: string, name: string, value: unknown, rule: string): unknown[] {
  if (typeof value === 'object' && value !== null && Symbol.iterator in value)
    return Array.from(value as Iterable<unknown>);
  throw failure(op, 'argument', `${name} is ${shown(value)}; it must be ${rule}`);
}

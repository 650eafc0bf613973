// How a call's arguments become doubles in the scratch area, driven by the schema. The format is told in
// wasm/binding.cpp. Checks here are those of JavaScript types; shapes and values are the core's to check.

import { failure, shown } from './errors.js';
import type { OpSchema, OptionSchema } from './schema.js';

/** What an input may be, once tensors are handles: `null` is absent, a weak scalar is its value. */
export type WireInput = number | { readonly weak: number } | null | readonly number[];

/** Options of a call by name; what is absent takes its default. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** One op, ready to be encoded. */
export interface OpCodec {
  readonly index: number;
  readonly schema: OpSchema;
  readonly writers: readonly OptionWriter[];
  /** Whether it writes into its first input. */
  readonly writes: boolean;
  /** Names allowed in the options object: options that are not positional, and optional inputs. */
  readonly allowed: readonly string[];
}

/** Writes doubles one after another, and refuses to run over the end. */
export class Pen {
  readonly #target: Float64Array;
  readonly #op: string;
  #position = 0;

  constructor(target: Float64Array, op: string) {
    this.#target = target;
    this.#op = op;
  }

  put(value: number): void {
    if (this.#position >= this.#target.length) {
      throw failure(this.#op, 'argument', `more than ${this.#target.length} numbers in one call`);
    }
    this.#target[this.#position++] = value;
  }

  list(values: readonly number[]): void {
    this.put(values.length);
    for (const value of values) this.put(value);
  }

  input(value: WireInput): void {
    if (value === null) this.put(0);
    else if (typeof value === 'number') this.put(value);
    else if ('weak' in value) {
      this.put(-1);
      this.put(value.weak);
    } else this.list(value);
  }
}

interface OptionWriter {
  readonly name: string;
  write(pen: Pen, given: unknown, op: string): void;
}

export function compileOp(schema: OpSchema, index: number): OpCodec {
  return {
    index,
    schema,
    writes: schema.inputs[0]?.mutated === true && !schema.inputs[0].variadic,
    writers: schema.options.map(optionWriter),
    allowed: [
      ...schema.inputs.filter((input) => input.optional).map((input) => input.name),
      ...schema.options.filter((option) => !option.positional).map((option) => option.name),
    ],
  };
}

function optionWriter(option: OptionSchema): OptionWriter {
  const { name, optional, type } = option;
  const writeValue = valueWriters[type];
  return {
    name,
    write(pen, given, op) {
      const value = given === undefined ? option.default : given;
      if (optional) {
        const absent = value === undefined || value === null;
        pen.put(absent ? 0 : 1);
        if (absent) return;
      } else if (value === undefined || value === null) {
        throw failure(op, 'option', `${name} is missing`);
      }
      writeValue(pen, value, { op, option });
    },
  };
}

interface Place {
  readonly op: string;
  readonly option: OptionSchema;
}

function refuse({ op, option }: Place, value: unknown, rule: string): never {
  throw failure(op, 'option', `${option.name} is ${shown(value)}; it must be ${rule}`);
}

function isInt(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

function isInts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isInt);
}

function isPairs(value: unknown): value is readonly (readonly [number, number])[] {
  return Array.isArray(value) && value.length > 0 && value.every((pair) => isInts(pair) && pair.length === 2);
}

const valueWriters: Readonly<Record<OptionSchema['type'], (pen: Pen, value: unknown, place: Place) => void>> =
  {
    boolean(pen, value, place) {
      if (typeof value !== 'boolean') refuse(place, value, 'true or false');
      pen.put(value ? 1 : 0);
    },
    integer(pen, value, place) {
      if (!isInt(value)) refuse(place, value, 'a whole number');
      pen.put(value);
    },
    number(pen, value, place) {
      if (typeof value !== 'number') refuse(place, value, 'a number');
      pen.put(value);
    },
    choice(pen, value, place) {
      const choices = place.option.choices;
      const index = typeof value === 'string' ? choices.indexOf(value) : -1;
      if (index < 0) refuse(place, value, `one of ${choices.map((c) => `'${c}'`).join(', ')}`);
      pen.put(index);
    },
    dims(pen, value, place) {
      if (isInt(value)) pen.list([value]);
      else if (isInts(value)) pen.list(value);
      else refuse(place, value, 'a whole number or a list of them');
    },
    padding(pen, value, place) {
      const pairs = isPairs(value);
      pen.put(pairs ? 1 : 0);
      if (pairs) pen.list(value.flat());
      else if (isInt(value)) pen.list([value]);
      else if (isInts(value)) pen.list(value);
      else refuse(place, value, 'a whole number, a list of them, or a list of [before, after]');
    },
    text(pen, value, place) {
      if (typeof value !== 'string') refuse(place, value, 'a string');
      pen.list(Array.from(value, (c) => c.charCodeAt(0)));
    },
  };

// How a call's arguments become doubles in the scratch area, driven by the schema. The format is told in
// wasm/binding.cpp. Checks here are those of JavaScript types; shapes and values are the core's to check.

import { failure, shown } from './errors.js';
import type { OpSchema, OptionSchema } from './schema.js';

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

/** Writes doubles one after another. One serves all calls: what is written is whole before the next one starts. */
export class Pen {
  private target: Float64Array = new Float64Array(0);
  private position = 0;

  start(target: Float64Array): void {
    this.target = target;
    this.position = 0;
  }

  /** Refuses what ran over the end, where typed arrays drop it. */
  finish(op: string): void {
    if (this.position > this.target.length) {
      throw failure(op, 'argument', `more than ${this.target.length} numbers in one call`);
    }
  }

  put(value: number): void {
    this.target[this.position++] = value;
  }

  /** A count, then the values. Gives the count. */
  list(values: readonly number[]): number {
    this.put(values.length);
    this.copy(values);
    return values.length;
  }

  copy(values: readonly number[]): void {
    for (const value of values) this.put(value);
  }

  /** What was written so far. */
  written(): readonly number[] {
    return Array.from(this.target.subarray(0, this.position));
  }
}

interface OptionWriter {
  readonly name: string;
  readonly positional: boolean;
  /** The default as it is written, so that a call pays for the options it gives; none: it must be given. */
  readonly preset: readonly number[] | undefined;
  write(pen: Pen, given: unknown, op: string): void;
}

export function compileOp(schema: OpSchema, index: number): OpCodec {
  return {
    index,
    schema,
    writes: schema.inputs[0]?.mutated === true && !schema.inputs[0].variadic,
    writers: schema.options.map((option) => optionWriter(option, schema.name)),
    allowed: [
      ...schema.inputs.filter((input) => input.optional).map((input) => input.name),
      ...schema.options.filter((option) => !option.positional).map((option) => option.name),
    ],
  };
}

function optionWriter(option: OptionSchema, opName: string): OptionWriter {
  const { name, positional, optional, type } = option;
  const writeValue = valueWriters[type];
  const write: OptionWriter['write'] = (pen, value, op) => {
    const absent = value === undefined || value === null;
    if (optional) {
      pen.put(absent ? 0 : 1);
      if (absent) return;
    } else if (absent) {
      throw failure(op, 'option', `${name} is missing`);
    }
    writeValue(pen, value, { op, option });
  };
  return { name, positional, preset: presetOf(option, opName, write), write };
}

function presetOf(
  option: OptionSchema,
  op: string,
  write: OptionWriter['write'],
): readonly number[] | undefined {
  const value = option.default;
  if (!option.optional && (value === undefined || value === null)) return undefined;
  const pen = new Pen();
  pen.start(new Float64Array(presetRoom));
  write(pen, value, op);
  pen.finish(op);
  return pen.written();
}
const presetRoom = 256;

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

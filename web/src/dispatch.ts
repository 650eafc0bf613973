// Calls of ops by name: what the generated functions are made of. Turns tensors into handles, handles into tensors.

import { describe, failure } from './errors.js';
import { checkedOptions } from './options.js';
import { at, runtime } from './runtime.js';
import { Tensor, handleOf, wrap } from './tensor.js';
import { Pen, type WireInput } from './wire.js';
import { writeThrough } from './write_through.js';

/** An input as callers give it: a number is a weak scalar that takes the other inputs' dtype. */
export type Input = Tensor | number | readonly Tensor[];

/** The shape of every options object: no index signature, so that typed interfaces fit. */
export type AnyOptions = object;

/** Calls an op; `required` and `positional` in schema order. Gives its visible outputs. */
export function many(
  name: string,
  required: readonly Input[],
  positional: readonly unknown[] = [],
  options: AnyOptions = {},
): Tensor[] {
  const rt = runtime(name);
  const codec = rt.ops.get(name);
  if (!codec) throw failure(name, 'internal', 'this build of the module has no such operation');
  const given = checkedOptions(name, options, codec.allowed);
  const pen = new Pen(rt.scratch, name);
  let [nextInput, nextOption, listLength] = [0, 0, 0];
  for (const input of codec.schema.inputs) {
    const value = input.optional ? given[input.name] : required[nextInput++];
    const absentList = input.variadic && input.optional && (value === undefined || value === null);
    // Lists go in groups of equal length; one that is absent is a list of absent tensors.
    if (absentList) pen.list(new Array<number>(listLength).fill(0));
    else pen.input(wireInput(name, input.name, value, input.variadic, input.optional));
    if (input.variadic && Array.isArray(value)) listLength = value.length;
  }
  for (let i = 0; i < codec.writers.length; i++) {
    const writer = codec.writers[i];
    const value = codec.schema.options[i]?.positional ? positional[nextOption++] : given[writer?.name ?? ''];
    writer?.write(pen, value, name);
  }
  rt.check(rt.module.call(codec.index), name);
  if (codec.writes) writeThrough(required[0] as Tensor, name);
  const results = rt.scratch;
  const handles = Array.from(results.subarray(1, 1 + at(results, 0)));
  return handles.filter((handle) => handle !== 0).map((handle) => wrap(handle));
}

/** Calls an op with one visible output. */
export function one(
  name: string,
  required: readonly Input[],
  positional: readonly unknown[] = [],
  options: AnyOptions = {},
): Tensor {
  const [result] = many(name, required, positional, options);
  if (!result) throw failure(name, 'internal', 'the module gave no result');
  return result;
}

/** The op's one output, or the tuple of them where an option showed more. */
export function oneOrMany(
  name: string,
  required: readonly Input[],
  positional: readonly unknown[] = [],
  options: AnyOptions = {},
): Tensor | Tensor[] {
  const results = many(name, required, positional, options);
  const [first] = results;
  return first && results.length === 1 ? first : results;
}

function wireInput(
  op: string,
  name: string,
  value: unknown,
  variadic: boolean,
  optional: boolean,
): WireInput {
  if (variadic) {
    if (!Array.isArray(value))
      throw failure(op, 'argument', `${name} must be an array of tensors; got ${describe(value)}`);
    return value.map((item) => tensorHandle(op, name, item));
  }
  if (typeof value === 'number') return { weak: value };
  if (optional && (value === undefined || value === null)) return null;
  return tensorHandle(op, name, value);
}

/** The handle of an argument that must be a tensor. */
export function tensorHandle(op: string, name: string, value: unknown): number {
  if (!(value instanceof Tensor))
    throw failure(op, 'argument', `${name} must be a Tensor; got ${describe(value)}`);
  return handleOf(value, op);
}

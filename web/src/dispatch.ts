// Calls of ops by name: what the generated functions are made of. Turns tensors into handles, handles into tensors.

import { describe, failure } from './errors.js';
import { checkedOptions } from './options.js';
import { type Runtime, at, runtime } from './runtime.js';
import { Tensor, handleOf, wrap } from './tensor.js';
import type { OpCodec } from './wire.js';
import { writeThrough } from './write_through.js';

/** An input as callers give it: a number is a weak scalar that takes the other inputs' dtype. */
export type Input = Tensor | number | readonly Tensor[];

/** The shape of every options object: no index signature, so that typed interfaces fit. */
export type AnyOptions = object;

// What a call without them has; shared, since a small op must not pay for objects.
const nothing: readonly unknown[] = [];
const noOptions: Readonly<Record<string, unknown>> = {};

/** Calls an op; `required` and `positional` in schema order. Gives its visible outputs. */
export function many(
  name: string,
  required: readonly Input[],
  positional: readonly unknown[] = nothing,
  options?: AnyOptions,
): Tensor[] {
  const rt = runtime(name);
  const codec = rt.codec(name);
  run(rt, codec, required, positional, options);
  const results = rt.scratch;
  const handles = Array.from(results.subarray(1, 1 + at(results, 0)));
  if (codec.writes) writeThrough(required[0] as Tensor, name);
  return handles.filter((handle) => handle !== 0).map((handle) => wrap(handle));
}

/** Calls an op that has one output and writes into none of its inputs. */
export function one(
  name: string,
  required: readonly Input[],
  positional: readonly unknown[] = nothing,
  options?: AnyOptions,
): Tensor {
  const rt = runtime(name);
  const handle = run(rt, rt.codec(name), required, positional, options);
  if (handle === 0) throw failure(name, 'internal', 'the module gave no result');
  return wrap(handle);
}

/** The op's one output, or the tuple of them where an option showed more. */
export function oneOrMany(
  name: string,
  required: readonly Input[],
  positional: readonly unknown[] = nothing,
  options?: AnyOptions,
): Tensor | Tensor[] {
  const results = many(name, required, positional, options);
  const [first] = results;
  return first && results.length === 1 ? first : results;
}

/** Encodes and makes the call; gives the first output's handle, 0 if it is hidden or there is none. */
function run(
  rt: Runtime,
  codec: OpCodec,
  required: readonly Input[],
  positional: readonly unknown[],
  options: AnyOptions | undefined,
): number {
  const { name } = codec.schema;
  const given = options === undefined ? noOptions : checkedOptions(name, options, codec.allowed);
  rt.pen.start(rt.scratch);
  writeInputs(rt, codec, name, required, given);
  writeOptions(rt, codec, name, positional, given);
  rt.pen.finish(name);
  return rt.call(codec.index, name);
}

function writeInputs(
  { pen }: Runtime,
  codec: OpCodec,
  op: string,
  required: readonly Input[],
  given: Readonly<Record<string, unknown>>,
): void {
  let next = 0;
  let listLength = 0;
  for (const { name, optional, variadic } of codec.schema.inputs) {
    const value: unknown = optional ? given[name] : required[next++];
    const absent = optional && (value === undefined || value === null);
    if (variadic) {
      // Lists go in groups of equal length; one that is absent is a list of absent tensors.
      if (absent) pen.list(new Array<number>(listLength).fill(0));
      else listLength = pen.list(tensorHandles(op, name, value));
    } else if (typeof value === 'number') {
      pen.put(-1);
      pen.put(value);
    } else {
      pen.put(absent ? 0 : tensorHandle(op, name, value));
    }
  }
}

function writeOptions(
  { pen }: Runtime,
  { writers }: OpCodec,
  op: string,
  positional: readonly unknown[],
  given: Readonly<Record<string, unknown>>,
): void {
  let next = 0;
  for (const writer of writers) {
    const value = writer.positional ? positional[next++] : given[writer.name];
    if (value === undefined && writer.preset) pen.copy(writer.preset);
    else writer.write(pen, value, op);
  }
}

function tensorHandles(op: string, name: string, value: unknown): number[] {
  if (!Array.isArray(value))
    throw failure(op, 'argument', `${name} must be an array of tensors; got ${describe(value)}`);
  return value.map((item) => tensorHandle(op, name, item));
}

/** The handle of an argument that must be a tensor. */
export function tensorHandle(op: string, name: string, value: unknown): number {
  if (!(value instanceof Tensor))
    throw failure(op, 'argument', `${name} must be a Tensor; got ${describe(value)}`);
  return handleOf(value, op);
}

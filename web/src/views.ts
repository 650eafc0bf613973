// What PyTorch users do to shapes all day, said in reshape, permute and slice: views wherever those are, and gradients of
// any order. Each is a method of Tensor too. Nothing here computes.

import { failure, shown } from './errors.js';
import * as ops from './ops.generated.js';
import { aTensor, checkOptions, checkValue, integer, manyOf } from './options.js';
import type { Tensor } from './tensor.js';

type Sizes = ops.Sizes;

// Dimensions as a list of numbers of x's.
function axes(op: string, name: string, x: Tensor, dims: Sizes): number[] {
  const many = typeof dims === 'number' ? [dims] : dims;
  if (!Array.isArray(many))
    throw failure(op, 'option', `${name} is ${shown(dims)}; it must be a whole number, or a list of such`);
  return (many as number[]).map((d) => axis(op, x, d));
}

/** A dimension as a number from 0 of x's and `more`. Only for functions of this library. */
export function axis(op: string, x: Tensor, dim: unknown, more = 0): number {
  checkValue(op, 'x', x, aTensor);
  const rank = x.ndim + more;
  const place = typeof dim === 'number' && dim < 0 ? dim + rank : dim;
  if (!Number.isInteger(place) || (place as number) < 0 || (place as number) >= rank) {
    const rule = rank > 0 ? `a whole number from ${-rank} to ${rank - 1}` : 'none: there is no dimension';
    throw failure(op, 'option', `dim is ${shown(dim)}; it must be ${rule}; x [${x.shape.join(', ')}]`);
  }
  return place as number;
}

function whole(op: string, name: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw failure(op, 'option', `${name} is ${shown(value)}; it must be a whole number from ${least}`);
}

/** Two dimensions exchanged; a view. */
export function transpose(x: Tensor, dim0: number, dim1: number): Tensor {
  const [a, b] = [axis('transpose', x, dim0), axis('transpose', x, dim1)];
  const dims = x.shape.map((_, i) => i);
  dims[a] = b;
  dims[b] = a;
  return ops.permute(x, dims);
}

/** Dimensions moved to other places, the rest kept in order; a view. */
export function movedim(x: Tensor, source: Sizes, destination: Sizes): Tensor {
  const from = axes('movedim', 'source', x, source);
  const to = axes('movedim', 'destination', x, destination);
  if (from.length !== to.length || new Set(from).size !== from.length || new Set(to).size !== to.length) {
    const given = `source ${shown(source)} and destination ${shown(destination)}`;
    throw failure('movedim', 'option', `${given} must name as many dimensions, each once`);
  }
  const rest = x.shape.map((_, i) => i).filter((i) => !from.includes(i));
  const dims = x.shape.map((_, i) => (to.includes(i) ? from[to.indexOf(i)] : rest.shift()));
  return ops.permute(x, dims as number[]);
}

/** Without dimensions of size 1: all of them, or those named that are; a view. */
export function squeeze(x: Tensor, dim?: Sizes): Tensor {
  checkValue('squeeze', 'x', x, aTensor);
  const named = dim === undefined ? undefined : axes('squeeze', 'dim', x, dim);
  const shape = x.shape.filter((size, i) => size !== 1 || (named !== undefined && !named.includes(i)));
  return ops.reshape(x, shape);
}

/** A new dimension of size 1 before `dim`; a view. */
export function unsqueeze(x: Tensor, dim: number): Tensor {
  const at = axis('unsqueeze', x, dim, 1);
  const shape = [...x.shape];
  shape.splice(at, 0, 1);
  return ops.reshape(x, shape);
}

/** Dimensions from `startDim` (0) to `endDim` (-1) as one; of a scalar [1]. A view where they lie side by side. */
export function flatten(x: Tensor, startDim?: number, endDim?: number): Tensor {
  checkValue('flatten', 'x', x, aTensor);
  if (x.ndim === 0) return ops.reshape(x, [1]);
  const [start, end] = [axis('flatten', x, startDim ?? 0), axis('flatten', x, endDim ?? -1)];
  if (start > end) throw failure('flatten', 'option', `startDim ${start} is behind endDim ${end}`);
  const { shape } = x;
  const merged = shape.slice(start, end + 1).reduce((product, size) => product * size, 1);
  return ops.reshape(x, [...shape.slice(0, start), merged, ...shape.slice(end + 1)]);
}

/** A dimension as several of these sizes, of which one may be -1; a view. */
export function unflatten(x: Tensor, dim: number, sizes: readonly number[]): Tensor {
  const at = axis('unflatten', x, dim);
  checkValue('unflatten', 'sizes', sizes, manyOf(integer));
  const size = x.shape[at] as number;
  const known = sizes.filter((s) => s !== -1).reduce((product, s) => product * s, 1);
  const full = sizes.map((s) => (s === -1 ? size / known : s));
  if (full.reduce((product, s) => product * s, 1) !== size || !full.every(Number.isInteger)) {
    throw failure(
      'unflatten',
      'shape',
      `sizes ${shown(sizes)} do not make up dimension ${at} of size ${size}`,
    );
  }
  return ops.reshape(x, [...x.shape.slice(0, at), ...full, ...x.shape.slice(at + 1)]);
}

/** One entry of a dimension, which goes; negative ones count from the end. A view. */
export function select(x: Tensor, dim: number, index: number): Tensor {
  const at = axis('select', x, dim);
  const size = x.shape[at] as number;
  const place = index < 0 ? index + size : index;
  if (!Number.isInteger(place) || place < 0 || place >= size) {
    throw failure(
      'select',
      'index',
      `index ${shown(index)} is out of range for dimension ${at} of size ${size}`,
    );
  }
  const entry = ops.slice(x, at, { start: place, stop: place + 1 });
  return ops.reshape(entry, [...x.shape.slice(0, at), ...x.shape.slice(at + 1)]);
}

/** `length` entries of a dimension from `start` on, which may count from the end; a view. */
export function narrow(x: Tensor, dim: number, start: number, length: number): Tensor {
  const at = axis('narrow', x, dim);
  const size = x.shape[at] as number;
  const from = start < 0 ? start + size : start;
  if (!Number.isInteger(from) || from < 0 || from + whole('narrow', 'length', length, 0) > size) {
    throw failure(
      'narrow',
      'index',
      `start ${start}, length ${length} do not fit dimension ${at} of size ${size}`,
    );
  }
  return ops.slice(x, at, { start: from, stop: from + length });
}

/** At most `chunks` parts of a dimension (0), of one size but for the last; views. */
export function chunk(x: Tensor, chunks: number, dim?: number): Tensor[] {
  const at = axis('chunk', x, dim ?? 0);
  const size = x.shape[at] as number;
  const each = Math.max(1, Math.ceil(size / whole('chunk', 'chunks', chunks, 1)));
  return Array.from({ length: Math.max(1, Math.ceil(size / each)) }, (_, i) =>
    ops.slice(x, at, { start: i * each, stop: (i + 1) * each }),
  );
}

/**
 * Parts of a dimension (0): a number is the size of each, of which the last may have less; a list has a size for each,
 * that add up to the dimension's. Copies; narrow and chunk give views.
 */
export function split(x: Tensor, sizes: Sizes, options?: ops.SplitOptions): Tensor[] {
  if (typeof sizes !== 'number') return ops.split(x, sizes, options);
  checkOptions('split', options ?? {}, { dim: integer });
  const at = axis('split', x, options?.dim ?? 0);
  const size = x.shape[at] as number;
  const each = whole('split', 'sizes', sizes, 1);
  const parts = new Array<number>(Math.max(1, Math.ceil(size / each))).fill(each);
  parts[parts.length - 1] = size - each * (parts.length - 1);
  return ops.split(x, parts, { dim: at });
}

/** The entries of a dimension (0), which goes; views. */
export function unbind(x: Tensor, dim?: number): Tensor[] {
  const at = axis('unbind', x, dim ?? 0);
  return Array.from({ length: x.shape[at] as number }, (_, i) => select(x, at, i));
}

/** The functions above as methods. */
export interface ViewMethods {
  /** Two dimensions exchanged; a view. */
  transpose(dim0: number, dim1: number): Tensor;
  /** Dimensions moved to other places; a view. */
  movedim(source: Sizes, destination: Sizes): Tensor;
  /** Without dimensions of size 1: all of them, or those named that are; a view. */
  squeeze(dim?: Sizes): Tensor;
  /** A new dimension of size 1 before `dim`; a view. */
  unsqueeze(dim: number): Tensor;
  /** Dimensions from `startDim` (0) to `endDim` (-1) as one. */
  flatten(startDim?: number, endDim?: number): Tensor;
  /** A dimension as several of these sizes, of which one may be -1; a view. */
  unflatten(dim: number, sizes: readonly number[]): Tensor;
  /** One entry of a dimension, which goes; a view. */
  select(dim: number, index: number): Tensor;
  /** `length` entries of a dimension from `start` on; a view. */
  narrow(dim: number, start: number, length: number): Tensor;
  /** At most `chunks` parts of a dimension (0); views. */
  chunk(chunks: number, dim?: number): Tensor[];
  /** Parts of a dimension (0), of this size or of these. */
  split(sizes: Sizes, options?: ops.SplitOptions): Tensor[];
  /** The entries of a dimension (0), which goes; views. */
  unbind(dim?: number): Tensor[];
}

/** A function, so that it may be called while modules that import each other are still being evaluated. */
export function viewTable(): Record<keyof ViewMethods, Method> {
  const table = {
    transpose,
    movedim,
    squeeze,
    unsqueeze,
    flatten,
    unflatten,
    select,
    narrow,
    chunk,
    split,
    unbind,
  };
  return table as Record<keyof ViewMethods, unknown> as Record<keyof ViewMethods, Method>;
}
type Method = (self: Tensor, ...rest: unknown[]) => unknown;

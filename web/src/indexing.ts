// x.at(...): one dimension at a time, made of view ops and one gather. What is gathered is a copy: it is remembered
// where it came from, so that writes into it reach there too (write_through.ts).

import { failure, shown } from './errors.js';
import { tensor } from './create.js';
import * as ops from './ops.generated.js';
import { type Tensor, isTensor } from './tensor.js';
import { isCopyOfPart, partOf } from './write_through.js';

/** Integer | ':' | '...' | null (new dimension) | [start, stop?, step?] | integer or bool tensor. */
export type Index =
  | number
  | ':'
  | '...'
  | null
  | readonly [start: number | null]
  | readonly [start: number | null, stop: number | null]
  | readonly [start: number | null, stop: number | null, step: number]
  | Tensor;

/** Implements Tensor.at. */
export function index(x: Tensor, indices: readonly Index[]): Tensor {
  const full = withoutEllipsis(x, indices);
  check(x, full);
  const { view, pick } = viewed(x, full);
  if (!pick) {
    // A view of a copy: what is written into it is to go where the copy is of.
    if (isCopyOfPart(x)) partOf(view, x, () => undefined);
    return view;
  }
  // Last, so that what is gathered is as small as it gets.
  const places = pick.index.dtype === 'bool' ? shownBy(pick.index) : undefined;
  const made = gathered(view, pick.index, pick.axis, places);
  // The mask may be gone when something is written.
  const plain = full.flatMap<Index>((item) =>
    isTensor(item) ? new Array<Index>(used(item)).fill(':') : [item],
  );
  const mask = pick.index.dtype === 'bool' ? [...pick.index.shape] : undefined;
  return partOf(made, x, () => {
    const lists = mask && places ? coordinates(places, mask).map((list) => tensor(list)) : [pick.index];
    scatter(viewed(x, plain).view, lists, pick.axis, made);
  });
}

// The view that the indices other than tensors give, and where the tensor goes in it.
function viewed(x: Tensor, full: readonly Index[]): { view: Tensor; pick?: { index: Tensor; axis: number } } {
  let current = x;
  let axis = 0;
  const shape: number[] = [];
  let pick: { index: Tensor; axis: number } | undefined;
  for (const item of full) {
    if (item === null) shape.push(1);
    else if (isTensor(item)) {
      pick = { index: item, axis: shape.length };
      for (let i = 0; i < used(item); i++) shape.push(x.shape[axis++] ?? 0);
    } else if (typeof item === 'number') {
      const place = item < 0 ? item + (x.shape[axis] ?? 0) : item;
      current = ops.slice(current, axis++, { start: place, stop: place + 1 });
    } else {
      if (item !== ':') current = sliced(current, axis, item as readonly (number | null)[]);
      shape.push(current.shape[axis++] ?? 0);
    }
  }
  shape.push(...current.shape.slice(axis));
  // One reshape drops and adds dimensions of size 1, which keeps it a view.
  if (current === x || shape.length !== current.ndim) current = ops.reshape(current, shape);
  return pick ? { view: current, pick } : { view: current };
}

function used(item: Index): number {
  if (item === null || item === '...') return 0;
  return isTensor(item) && item.dtype === 'bool' ? item.ndim : 1;
}

function withoutEllipsis(x: Tensor, indices: readonly Index[]): Index[] {
  const consumed = indices.reduce<number>((sum, item) => sum + used(item), 0);
  if (consumed > x.ndim) {
    throw failure(
      'at',
      'index',
      `${consumed} indices for a tensor of shape [${x.shape.join(', ')}]; one a dimension at most`,
    );
  }
  const where = indices.indexOf('...');
  if (where < 0) return [...indices];
  if (indices.lastIndexOf('...') !== where) throw failure('at', 'index', "'...' may stand once");
  const rest = new Array<Index>(x.ndim - consumed).fill(':');
  return [...indices.slice(0, where), ...rest, ...indices.slice(where + 1)];
}

function check(x: Tensor, indices: readonly Index[]): void {
  let axis = 0;
  let tensors = 0;
  for (const item of indices) {
    const size = x.shape[axis] ?? 0;
    const place = `dimension ${axis} of shape [${x.shape.join(', ')}]`;
    if (typeof item === 'number') {
      if (!Number.isInteger(item)) throw failure('at', 'index', `${item} is not a whole number`);
      if (item < -size || item >= size)
        throw failure('at', 'index', `index ${item} is out of range for ${place}`);
    } else if (isTensor(item)) {
      checkTensor(item, x.shape.slice(axis, axis + used(item)), place);
      if (++tensors > 1) throw failure('at', 'index', 'one index may be a tensor; use gather for more');
    } else if (item !== null && item !== ':' && !isSlice(item)) {
      throw failure(
        'at',
        'index',
        `${shown(item)} is no index; use an integer, ':', '...', null, [start, stop?, step?] or a tensor`,
      );
    }
    axis += used(item);
  }
}

function checkTensor(item: Tensor, sizes: readonly number[], place: string): void {
  if (item.dtype === 'bool' && item.shape.join() !== sizes.join()) {
    throw failure('at', 'index', `a mask of shape [${item.shape.join(', ')}] does not fit ${place}`);
  }
  if (item.dtype === 'float32' || item.dtype === 'float64') {
    throw failure('at', 'dtype', `a ${item.dtype} tensor cannot index; use an integer or bool one`);
  }
}

function isSlice(item: unknown): boolean {
  if (!Array.isArray(item) || item.length < 1 || item.length > 3) return false;
  const whole = item.every((n, i) => Number.isInteger(n) || (n === null && i < 2));
  return whole && item[2] !== 0;
}

function sliced(x: Tensor, axis: number, [start, stop, step]: readonly (number | null)[]): Tensor {
  return ops.slice(x, axis, { start: start ?? 0, stop: stop ?? null, step: step ?? 1 });
}

function gathered(x: Tensor, item: Tensor, axis: number, places: Int32Array | undefined): Tensor {
  if (!places) {
    const picked = ops.indexSelect(x, axis, item.ndim === 1 ? item : item.reshape([-1]));
    if (item.ndim === 1) return picked;
    return picked.reshape([...x.shape.slice(0, axis), ...item.shape, ...x.shape.slice(axis + 1)]);
  }
  const merged = x.reshape([...x.shape.slice(0, axis), item.numel, ...x.shape.slice(axis + item.ndim)]);
  return ops.indexSelect(merged, axis, tensor(places));
}

// A mask's size is data: it is read here, and becomes the list of the places that it shows.
function shownBy(mask: Tensor): Int32Array {
  const chosen: number[] = [];
  mask.toTypedArray().forEach((on: number | bigint, place: number) => {
    if (on) chosen.push(place);
  });
  return Int32Array.from(chosen);
}

// Places in row order as a list of coordinates for each dimension.
function coordinates(places: Int32Array, shape: readonly number[]): Int32Array[] {
  let stride = shape.reduce((product, size) => product * size, 1);
  return shape.map((size) => {
    stride /= size;
    return places.map((place) => Math.floor(place / stride) % size);
  });
}

// Writes values into a view where the lists point that index its dimensions from `axis` on.
function scatter(view: Tensor, lists: readonly Tensor[], axis: number, values: Tensor): void {
  if (values.numel === 0) return;
  const first = (x: Tensor, count: number): Tensor => {
    const order = Array.from({ length: x.ndim }, (_, i) => i);
    return x.permute([...order.splice(axis, count), ...order]);
  };
  const target = first(view, lists.length);
  const source = first(values, lists[0]?.ndim ?? 0);
  // No op computes in bool; bytes do.
  const number = (x: Tensor): Tensor => (x.dtype === 'bool' ? x.cast('uint8') : x);
  target.copy_(ops.indexPut(number(target), number(source), lists));
}

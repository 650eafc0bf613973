// Copies that stand for a part of another tensor, as x.at(mask) does: writing into one writes into the other as well.

import { failure } from './errors.js';
import { scope } from './scope.js';
import { type Tensor, handleOf } from './tensor.js';

interface Link {
  readonly whole: Tensor;
  /** Writes what the copy holds now into the whole. */
  readonly write: () => void;
}

const links = new WeakMap<Tensor, Link>();

/** Remembers what a copy is a part of. Returns the copy. */
export function partOf(copy: Tensor, whole: Tensor, write: () => void): Tensor {
  links.set(copy, { whole, write });
  return copy;
}

export function isCopyOfPart(x: Tensor): boolean {
  return links.has(x);
}

function isLive(x: Tensor): boolean {
  try {
    return handleOf(x, 'at') !== 0;
  } catch {
    return false;
  }
}

/** To be called after an op wrote into `x`: carries that on to what x is a part of. */
export function writeThrough(x: Tensor, op: string): void {
  const link = links.get(x);
  // A whole that is gone shows nobody what was written.
  if (!link || !isLive(link.whole)) return;
  try {
    scope(link.write);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw failure(op, 'index', `x.at(...) gave a copy that could not be written back: ${text}`, error);
  }
  writeThrough(link.whole, op);
}

// How long the sequences of a batch are.

import { tensor } from '../create.js';
import type { Tensor } from '../tensor.js';

/** How many count of each sequence: a tensor [batch], or a list. */
export type Lengths = Tensor | readonly number[];

/** Lengths as a tensor. */
export function lengthsOf(lengths: Lengths | null | undefined): Tensor | null {
  if (!Array.isArray(lengths)) return (lengths as Tensor | null | undefined) ?? null;
  return tensor(lengths as number[], { dtype: 'int64' });
}

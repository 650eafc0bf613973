// From what the network says of every place to a text.

import { classes, frames } from './facts.js';

/** What the network reads in a strip. */
export interface Reading {
  readonly text: string;
  /** How sure it is of nothing and of the digits 0 to 9 at each place: [40, 11], 0 to 1. */
  readonly shares: Float32Array;
}

/** The likeliest class of each place; then runs of one class are one, and nothing is left out. */
export function greedy(shares: ArrayLike<number>): string {
  let text = '';
  let before = 0;
  for (let frame = 0; frame < frames; frame++) {
    let best = 0;
    for (let k = 1; k < classes; k++) {
      const [value, leader] = [shares[frame * classes + k], shares[frame * classes + best]] as [
        number,
        number,
      ];
      if (value > leader) best = k;
    }
    if (best !== 0 && best !== before) text += String(best - 1);
    before = best;
  }
  return text;
}

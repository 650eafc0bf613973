// What is a right match, and how many there are.

import { type Homography, type Point, cellOf, mapped, middles, withinOne } from './geometry.js';
import { side } from './facts.js';

/** A cell of the first view that is seen in the second too, and the cell that was found for it. */
export interface Match {
  readonly from: number;
  readonly found: number;
  /** Where its middle truly is, in the second view's coordinates. */
  readonly truth: Point;
  /** Found within one cell of it. */
  readonly right: boolean;
}

const cells = middles(side);

/** The cells that the second view shows too, each with the best of its row of scores. */
export function matches(best: ArrayLike<number | bigint>, map: Homography): Match[] {
  return cells.flatMap((middle, from) => {
    const truth = mapped(map, middle);
    if (cellOf(truth, side) < 0) return [];
    const found = Number(best[from]);
    return [{ from, found, truth, right: withinOne(found, truth, side) }];
  });
}

/** The true cell of each cell of the first view; -1: the second does not show it. */
export const labels = (map: Homography): number[] => cells.map((middle) => cellOf(mapped(map, middle), side));

/** Of several pairs: how many matches there are and how many are right. */
export interface Count {
  readonly right: number;
  readonly all: number;
}

export const counted = (list: readonly Match[]): Count => ({
  right: list.filter(({ right }) => right).length,
  all: list.length,
});

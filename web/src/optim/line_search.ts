// A step length that satisfies the strong Wolfe conditions, by bracketing and cubic interpolation (Nocedal, Wright,
// Numerical Optimization, algorithms 3.5 and 3.6), in PyTorch's form. Numbers only: what a gradient is, is the caller's.

/** The function along a direction at step length t: its value, slope, and the gradient there. */
export interface Point<G> {
  readonly t: number;
  readonly value: number;
  readonly slope: number;
  readonly gradient: G;
}

/** Where the cubic through two points has its least value, within bounds. */
export function cubicMinimum<G>(
  a: Point<G>,
  b: Point<G>,
  low = Math.min(a.t, b.t),
  high = Math.max(a.t, b.t),
): number {
  const [left, right] = a.t <= b.t ? [a, b] : [b, a];
  const d1 = a.slope + b.slope - (3 * (a.value - b.value)) / (a.t - b.t);
  const square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const d2 = Math.sqrt(square);
  const share = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2);
  return Math.min(Math.max(right.t - (right.t - left.t) * share, low), high);
}

const [decrease, curvature] = [1e-4, 0.9];

/**
 * @param at evaluates the function at a step length
 * @param start the point at 0
 * @param t the first length to try
 * @param size the largest element of the direction
 */
export function strongWolfe<G>(
  at: (t: number) => Point<G>,
  start: Point<G>,
  t: number,
  size: number,
  toleranceChange: number,
  most = 25,
): Point<G> {
  const tooHigh = (p: Point<G>): boolean => p.value > start.value + decrease * p.t * start.slope;
  const flat = (p: Point<G>): boolean => Math.abs(p.slope) <= -curvature * start.slope;
  let [previous, next] = [start, at(t)];
  let bracket: [Point<G>, Point<G>] | undefined;
  let tries = 0;
  for (; tries < most; tries++) {
    if (tooHigh(next) || (tries > 1 && next.value >= previous.value)) bracket = [previous, next];
    else if (flat(next)) return next;
    else if (next.slope >= 0) bracket = [previous, next];
    if (bracket) break;
    const length = cubicMinimum(previous, next, next.t + 0.01 * (next.t - previous.t), next.t * 10);
    [previous, next] = [next, at(length)];
  }
  let [best, other] = ordered(bracket ?? [start, next]);
  let stalled = false;
  for (; tries < most; tries++) {
    const [low, high] = [Math.min(best.t, other.t), Math.max(best.t, other.t)];
    if ((high - low) * size < toleranceChange) break;
    let length = cubicMinimum(best, other);
    // Too near an end: once is allowed, twice is no progress.
    const margin = 0.1 * (high - low);
    if (Math.min(high - length, length - low) < margin) {
      if (stalled || length >= high || length <= low) {
        length = Math.abs(length - high) < Math.abs(length - low) ? high - margin : low + margin;
        stalled = false;
      } else {
        stalled = true;
      }
    } else {
      stalled = false;
    }
    next = at(length);
    if (tooHigh(next) || next.value >= best.value) {
      [best, other] = ordered([best, next]);
    } else {
      if (flat(next)) return next;
      if (next.slope * (other.t - best.t) >= 0) other = best;
      best = next;
    }
  }
  return best;
}

function ordered<G>([a, b]: [Point<G>, Point<G>]): [Point<G>, Point<G>] {
  return a.value <= b.value ? [a, b] : [b, a];
}

// A picture as a smooth surface: the cubic spline that goes through every pixel's centre. Its derivatives are exact at any
// point, so that a network with the same derivatives has the same pixels, but for a constant. Only + - * / on doubles:
// the same bits in every engine.

// The four cubic B-splines over a cell, and their first and second derivatives, at t from 0 to 1.
const weights: readonly ((t: number) => readonly [number, number, number, number])[] = [
  (t) => {
    const [s, t2] = [1 - t, t * t];
    return [(s * s * s) / 6, (3 * t2 * t - 6 * t2 + 4) / 6, (3 * (t + t2 - t2 * t) + 1) / 6, (t2 * t) / 6];
  },
  (t) => [-(1 - t) * (1 - t) * 0.5, (3 * t * t - 4 * t) * 0.5, (1 + 2 * t - 3 * t * t) * 0.5, t * t * 0.5],
  (t) => [1 - t, 3 * t - 2, 1 - 3 * t, t],
];

/** A natural bicubic spline on [-1, 1] x [-1, 1]: the first pixel's centre lies at -1, the last one's at 1. */
export class Surface {
  /** Pixels along a side. */
  readonly side: number;
  readonly #coefficients: Float64Array;

  /** @param pixels side * side values, row by row */
  constructor(pixels: ArrayLike<number>, side: number) {
    this.side = side;
    this.#coefficients = coefficients(pixels, side);
  }

  /** Its `dx`-th derivative along x and `dy`-th along y (0 to 2 each) at a point. */
  at(x: number, y: number, dx = 0, dy = 0): number {
    const { side } = this;
    const scale = (side - 1) / 2;
    const [px, py] = [(x + 1) * scale, (y + 1) * scale];
    const i = Math.max(0, Math.min(side - 2, Math.floor(px)));
    const j = Math.max(0, Math.min(side - 2, Math.floor(py)));
    const across = weights[dx]?.(px - i) ?? [];
    const down = weights[dy]?.(py - j) ?? [];
    const c = this.#coefficients;
    let sum = 0;
    // Plain loops: they run for every point of every step.
    for (let row = 0; row < 4; row++) {
      const from = (j + row) * (side + 2) + i;
      let line = 0;
      for (let k = 0; k < 4; k++) line += (across[k] as number) * (c[from + k] as number);
      sum += line * (down[row] as number);
    }
    for (let k = dx + dy; k > 0; k--) sum *= scale;
    return sum;
  }

  /** [d/dx, d/dy] of every point of a list x0, y0, x1, y1, ... */
  gradient(points: ArrayLike<number>): Float32Array {
    const found = new Float32Array(points.length);
    for (let k = 0; k < points.length; k += 2) {
      const [x, y] = [points[k] as number, points[k + 1] as number];
      found[k] = this.at(x, y, 1, 0);
      found[k + 1] = this.at(x, y, 0, 1);
    }
    return found;
  }

  /** d2/dx2 + d2/dy2 of every point. */
  laplacian(points: ArrayLike<number>): Float32Array {
    const found = new Float32Array(points.length / 2);
    for (let k = 0; k < found.length; k++) {
      const [x, y] = [points[2 * k] as number, points[2 * k + 1] as number];
      found[k] = this.at(x, y, 2, 0) + this.at(x, y, 0, 2);
    }
    return found;
  }
}

/** Centres of the pixels, row by row: x0, y0, x1, y1, ... */
export const centres = (side: number): Float32Array => lattice(side, (k) => (2 * k) / (side - 1) - 1);

/** Four points of every cell between four pixels, from which Gauss' rule takes the integral over the square. */
export function between(side: number): Float32Array {
  const off = Math.sqrt(1 / 12);
  return lattice(2 * side - 2, (k) => (2 * ((k >> 1) + 0.5 + (k % 2 === 0 ? -off : off))) / (side - 1) - 1);
}

function lattice(count: number, place: (k: number) => number): Float32Array {
  const points = new Float32Array(2 * count * count);
  for (let i = 0; i < count * count; i++) {
    points[2 * i] = place(i % count);
    points[2 * i + 1] = place(Math.floor(i / count));
  }
  return points;
}

// Along rows, then along columns; one more on each side, [side + 2, side + 2].
function coefficients(pixels: ArrayLike<number>, side: number): Float64Array {
  const wide = side + 2;
  const rows = new Float64Array(side * wide);
  for (let y = 0; y < side; y++) {
    rows.set(line(Float64Array.from({ length: side }, (_, x) => pixels[y * side + x] as number)), y * wide);
  }
  const all = new Float64Array(wide * wide);
  for (let x = 0; x < wide; x++) {
    const column = line(Float64Array.from({ length: side }, (_, y) => rows[y * wide + x] as number));
    column.forEach((value, y) => (all[y * wide + x] = value));
  }
  return all;
}

// Coefficients of the natural spline through values: (c[i-1] + 4 c[i] + c[i+1]) / 6 = f[i], and no curvature at the ends,
// which makes c there f itself. The rest is tridiagonal (Thomas' algorithm).
function line(f: Float64Array): Float64Array {
  const n = f.length;
  const c = new Float64Array(n + 2);
  const [first, last] = [f[0] as number, f[n - 1] as number];
  c[1] = first;
  c[n] = last;
  const ratio = new Float64Array(n);
  const value = new Float64Array(n);
  for (let i = 1; i < n - 1; i++) {
    const known = (i === 1 ? first : 0) + (i === n - 2 ? last : 0);
    const before = i === 1 ? 0 : (value[i - 1] as number);
    const pivot = 4 - (i === 1 ? 0 : (ratio[i - 1] as number));
    ratio[i] = 1 / pivot;
    value[i] = (6 * (f[i] as number) - known - before) / pivot;
  }
  for (let i = n - 2; i >= 1; i--) {
    const after = i === n - 2 ? 0 : (ratio[i] as number) * (c[i + 2] as number);
    c[i + 1] = (value[i] as number) - after;
  }
  c[0] = 2 * first - (c[2] as number);
  c[n + 1] = 2 * last - (c[n - 1] as number);
  return c;
}

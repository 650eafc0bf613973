// Homographies: maps of the plane that keep lines straight, what one sees when a flat picture is looked at from elsewhere.
// Coordinates are gridSample's: -1 to 1 from edge to edge of a view, x to the right, y down. Only + - * / and numbers
// drawn by the core: every engine computes the same bits.

/** A 3 x 3 matrix by rows. */
export type Homography = readonly [number, number, number, number, number, number, number, number, number];
export type Point = readonly [x: number, y: number];

/** Where a point goes. */
export function mapped(h: Homography, [x, y]: Point): Point {
  const w = h[6] * x + h[7] * y + h[8];
  return [(h[0] * x + h[1] * y + h[2]) / w, (h[3] * x + h[4] * y + h[5]) / w];
}

/** First `b`, then `a`. */
export function after(a: Homography, b: Homography): Homography {
  const cell = (i: number, j: number): number =>
    (a[3 * i] as number) * (b[j] as number) +
    (a[3 * i + 1] as number) * (b[3 + j] as number) +
    (a[3 * i + 2] as number) * (b[6 + j] as number);
  return [
    cell(0, 0),
    cell(0, 1),
    cell(0, 2),
    cell(1, 0),
    cell(1, 1),
    cell(1, 2),
    cell(2, 0),
    cell(2, 1),
    cell(2, 2),
  ];
}

/** The way back, up to a factor, which a homography does not know: the adjugate. */
export function inverse([a, b, c, d, e, f, g, h, i]: Homography): Homography {
  return [
    e * i - f * h,
    c * h - b * i,
    b * f - c * e,
    f * g - d * i,
    a * i - c * g,
    c * d - a * f,
    d * h - e * g,
    b * g - a * h,
    a * e - b * d,
  ];
}

/** How far a random homography goes. */
export interface Strength {
  /** Tangent of half the greatest turn. */
  readonly turn: number;
  /** Greatest factor of size, and one over the least. */
  readonly zoom: number;
  /** Greatest stretch of one axis against the other, as a part of it. */
  readonly stretch: number;
  /** Greatest slant of the plane: by how much the near edge is larger than the middle. */
  readonly slant: number;
  /** Greatest shift, in halves of the view. */
  readonly shift: number;
}

/** How many numbers `homography` wants. */
export const draws = 8;

/** A homography from `draws` numbers between 0 and 1. */
export function homography(uniform: ArrayLike<number>, strength: Strength): Homography {
  const signed = (i: number): number => 2 * (uniform[i] as number) - 1;
  const { turn, zoom, stretch, slant, shift } = strength;
  // The turn by its half's tangent: cosine and sine without trigonometry, whose last bit engines do not agree on.
  const t = turn * signed(0);
  const [cos, sin] = [(1 - t * t) / (1 + t * t), (2 * t) / (1 + t * t)];
  const size = signed(1);
  const grown = size < 0 ? 1 / (1 - size * (zoom - 1)) : 1 + size * (zoom - 1);
  const [wide, skew] = [1 + stretch * signed(2), stretch * signed(3)];
  const rotated: Homography = [cos, -sin, 0, sin, cos, 0, 0, 0, 1];
  const stretched: Homography = [grown * wide, grown * skew, 0, 0, grown / wide, 0, 0, 0, 1];
  const slanted: Homography = [1, 0, 0, 0, 1, 0, slant * signed(4), slant * signed(5), 1];
  const shifted: Homography = [1, 0, shift * signed(6), 0, 1, shift * signed(7), 0, 0, 1];
  return after(shifted, after(slanted, after(rotated, stretched)));
}

/** The cells of a grid of side `side`, row by row, as points: their middles. */
export function middles(side: number): Point[] {
  return Array.from({ length: side * side }, (_, cell) => {
    const row = Math.floor(cell / side);
    return [(2 * (cell - row * side) + 1) / side - 1, (2 * row + 1) / side - 1];
  });
}

/** The number of the cell that a point lies in; -1 outside of the view. */
export function cellOf([x, y]: Point, side: number): number {
  const [column, row] = [Math.floor(((x + 1) / 2) * side), Math.floor(((y + 1) / 2) * side)];
  return column >= 0 && column < side && row >= 0 && row < side ? row * side + column : -1;
}

/** Whether the middle of `cell` is at most one cell away from where the point is, along either axis. */
export function withinOne(cell: number, [x, y]: Point, side: number): boolean {
  const row = Math.floor(cell / side);
  const column = cell - row * side;
  return (
    Math.abs(((x + 1) / 2) * side - 0.5 - column) <= 1 && Math.abs(((y + 1) / 2) * side - 0.5 - row) <= 1
  );
}

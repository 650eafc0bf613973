// Fields on a square as colours. Knows no network.

/** A colour, 0 to 255 each, of the element with that number. */
type Colour = (i: number) => readonly [red: number, green: number, blue: number];

/** Paints side * side elements, row by row; the canvas takes on their number. */
export function paint(canvas: HTMLCanvasElement, side: number, colour: Colour): void {
  if (canvas.width !== side || canvas.height !== side) canvas.width = canvas.height = side;
  const image = new ImageData(side, side);
  for (let i = 0; i < side * side; i++) {
    image.data.set(colour(i), 4 * i);
    image.data[4 * i + 3] = 255;
  }
  canvas.getContext('2d')?.putImageData(image, 0, 0);
}

/** Brightness, 0 to 1. */
export const grey =
  (values: Float32Array): Colour =>
  (i) => {
    const v = 255 * (values[i] ?? 0);
    return [v, v, v];
  };

/** Values of both signs: 0 is in the middle, `scale` is white. */
export const relief =
  (values: Float32Array, scale: number): Colour =>
  (i) => {
    const v = 128 + (127 * (values[i] ?? 0)) / scale;
    return [v, v, v];
  };

/** Vectors x0, y0, x1, y1, ...: red for x, blue for y. */
export const tinted =
  (values: Float32Array, scale: number): Colour =>
  (i) => {
    const [x, y] = [(values[2 * i] ?? 0) / scale, (values[2 * i + 1] ?? 0) / scale];
    return [128 + 127 * x, 128 + 64 * (x + y), 128 + 127 * y];
  };

const [cold, middle, warm] = [
  [16, 82, 160],
  [246, 244, 240],
  [178, 42, 20],
] as const;

/** Values of both signs: blue below 0, red above, up to `scale`. */
export const heat =
  (value: (i: number) => number, scale: number): Colour =>
  (i) => {
    const v = Math.max(-1, Math.min(1, value(i) / scale));
    const end = v < 0 ? cold : warm;
    const mixed = middle.map((from, k) => from + Math.abs(v) * ((end[k] as number) - from));
    return mixed as [number, number, number];
  };

/** The root of the mean square; 1 for a field of nothing. */
export function strength(values: Float32Array): number {
  const sum = values.reduce((total, v) => total + v * v, 0);
  return Math.sqrt(sum / values.length) || 1;
}

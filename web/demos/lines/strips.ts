// Strips: MNIST digits in a row, of chance sizes and heights, with gaps from an overlap to a wide one. Numbers come from
// our generator, and all else is + - * / on doubles: the same pixels in every engine.

import { type Generator, rand, scope } from 'omnigrad';
import type { MnistDataset } from 'omnigrad/data';
import { failure } from '../shared/failure.js';
import { fewest, height, most, width } from './facts.js';

export interface Strips {
  /** Ink, 0 to 255: [strips, height, width]. */
  readonly pixels: Uint8Array;
  /** What is written on each. */
  readonly texts: readonly string[];
}

/** A digit's ink, cut out of its picture; row by row, 0 to 1. */
interface Glyph {
  readonly rows: number;
  readonly columns: number;
  readonly ink: Float64Array;
  readonly label: number;
}

/** A digit's place: left and upper edge in pixels, and how much it is enlarged. */
interface Place {
  readonly left: number;
  readonly top: number;
  readonly scale: number;
}

const side = 28;
// Chance numbers of a digit: which, size, height, gap, and whether the gap is a wide one.
const perDigit = 5;
const perStrip = 2 + most * perDigit;

/** Composes strips of the digits of a data set. */
export class StripMaker {
  readonly #digits: MnistDataset;
  #byLabel: Glyph[][] | undefined;

  constructor(digits: MnistDataset) {
    this.#digits = digits;
  }

  /** So many strips of 3 to 8 digits; numbers from the generator, or the default one. */
  make(count: number, generator?: Generator): Strips {
    const chance = chances(count * perStrip, generator);
    const strips = Array.from({ length: count }, (_, i) => {
      const own = chance.subarray(i * perStrip, (i + 1) * perStrip);
      const length = fewest + Math.floor((own[0] as number) * (most + 1 - fewest));
      return { own, length };
    });
    const chosen = strips.flatMap(({ own, length }) =>
      Array.from({ length }, (_, k) => Math.floor((own[2 + k * perDigit] as number) * this.#digits.length)),
    );
    const glyphs = this.#glyphs(chosen);
    const pixels = new Uint8Array(count * height * width);
    let next = 0;
    const texts = strips.map(({ own, length }, i) => {
      const row = glyphs.slice(next, (next += length));
      const places = layout(row, own);
      const strip = pixels.subarray(i * height * width, (i + 1) * height * width);
      places.forEach((place, k) => {
        draw(strip, row[k] as Glyph, place);
      });
      // What did not fit is left out.
      return row.slice(0, places.length).map(({ label }) => label).join(''); // prettier-ignore
    });
    return { pixels, texts };
  }

  /** One strip that says `text`, 1 to 8 digits. @throws OmnigradError code 'argument' */
  write(text: string, generator: Generator): Strips {
    if (!/^\d{1,8}$/.test(text))
      throw failure(
        'write',
        'argument',
        `${JSON.stringify(text)} cannot be written; it must be 1 to 8 digits`,
      );
    this.#byLabel ??= this.#sorted();
    const digits = Array.from(text, Number);
    for (let attempt = 0; ; attempt++) {
      const chance = chances(perStrip, generator);
      const row = digits.map((label, k) => {
        const alike = this.#byLabel?.[label] ?? [];
        return alike[Math.floor((chance[2 + k * perDigit] as number) * alike.length)] as Glyph;
      });
      // After some bad luck, small and close together: that fits always.
      const places = attempt < 20 ? layout(row, chance) : layout(row, chance.fill(0));
      if (places.length < row.length) continue;
      const pixels = new Uint8Array(height * width);
      places.forEach((place, k) => {
        draw(pixels, row[k] as Glyph, place);
      });
      return { pixels, texts: [text] };
    }
  }

  #sorted(): Glyph[][] {
    const some = this.#glyphs(Array.from({ length: Math.min(1000, this.#digits.length) }, (_, i) => i));
    return Array.from({ length: 10 }, (_, digit) => some.filter(({ label }) => label === digit));
  }

  #glyphs(indices: readonly number[]): Glyph[] {
    const [pixels, labels] = scope(() => this.#digits.batch(indices).map((t) => t.toTypedArray())) as [
      Float32Array,
      BigInt64Array,
    ];
    return indices.map((_, i) =>
      cutOut(pixels.subarray(i * side * side, (i + 1) * side * side), Number(labels[i])),
    );
  }
}

// What normalising did, undone: a whole 255th.
const brightness = (value: number): number => Math.round((value * 0.3081 + 0.1307) * 255) / 255;
// Between no ink and the least there is.
const faintest = (0.5 / 255 - 0.1307) / 0.3081;

const chances = (count: number, generator?: Generator): Float32Array =>
  scope(() => rand([count], generator ? { generator } : {}).toTypedArray()) as Float32Array;

// Plain loops: they run over every pixel of every digit of every step.
function cutOut(picture: Float32Array, label: number): Glyph {
  let [left, right, top, bottom] = [side, -1, side, -1];
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      if ((picture[y * side + x] as number) < faintest) continue;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      bottom = y;
    }
  }
  const [rows, columns] = [bottom - top + 1, right - left + 1];
  const ink = new Float64Array(rows * columns);
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      ink[y * columns + x] = brightness(picture[(top + y) * side + left + x] as number);
    }
  }
  return { rows, columns, ink, label };
}

// From left to right, as far as they fit.
function layout(row: readonly Glyph[], chance: Float32Array): Place[] {
  const places: Place[] = [];
  let left = 2 + 20 * (chance[1] as number);
  for (const [k, { rows, columns }] of row.entries()) {
    const [size = 0, level = 0, gap = 0, wide = 0] = chance.subarray(3 + k * perDigit);
    const scale = 0.7 + 0.4 * size;
    const free = height - rows * scale;
    if (left + columns * scale > width - 1) break;
    places.push({ left, top: free * (0.1 + 0.8 * level), scale });
    left += columns * scale - 3 + 14 * gap + (wide > 0.9 ? 8 : 0);
  }
  return places;
}

// Bilinear; where digits overlap, the darker ink counts.
function draw(strip: Uint8Array, { rows, columns, ink }: Glyph, { left, top, scale }: Place): void {
  const at = (x: number, y: number): number =>
    x < 0 || y < 0 || x >= columns || y >= rows ? 0 : (ink[y * columns + x] as number);
  const reach = (from: number, size: number, end: number): [number, number] => [
    Math.max(0, Math.floor(from - scale)),
    Math.min(end, Math.ceil(from + (size + 1) * scale)),
  ];
  const [x0, x1] = reach(left, columns, width);
  const [y0, y1] = reach(top, rows, height);
  for (let y = y0; y < y1; y++) {
    const v = (y - top) / scale;
    const [j, fv] = [Math.floor(v), v - Math.floor(v)];
    for (let x = x0; x < x1; x++) {
      const u = (x - left) / scale;
      const [i, fu] = [Math.floor(u), u - Math.floor(u)];
      const upper = at(i, j) * (1 - fu) + at(i + 1, j) * fu;
      const lower = at(i, j + 1) * (1 - fu) + at(i + 1, j + 1) * fu;
      const here = y * width + x;
      strip[here] = Math.max(strip[here] as number, Math.round(255 * (upper * (1 - fv) + lower * fv)));
    }
  }
}

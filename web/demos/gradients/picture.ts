// A picture from its derivatives alone: no pixel is in the loss, only the gradient or the Laplacian of the surface through
// the pixels. The first leaves a constant open; the second any harmonic function.

import { type Tensor, keep, math, noGrad, qr, rand, scope, tensor } from 'omnigrad';
import type { Measure } from '../shared/task.js';
import { side } from './facts.js';
import type { Goal } from './goal.js';
import { SineNet, gradient, second } from './model.js';
import { Surface, between, centres } from './surface.js';

export type Derivative = 'gradient' | 'laplacian';

/** A picture and its derivatives at the pixels' centres, row by row. */
export interface Fields {
  /** Brightness, 0 to 1. */
  readonly picture: Float32Array;
  /** d/dx, d/dy of the first pixel, of the second, ...; the picture's side is 2. */
  readonly gradient: Float32Array;
  readonly laplacian: Float32Array;
}

export interface PictureView {
  readonly kind: Derivative;
  readonly side: number;
  readonly target: Fields;
  /** Of the network; what its derivatives leave open is taken from the picture. */
  readonly network: Fields;
  /** In dB. */
  readonly psnr: number;
}

/** dB that the task asks for. */
export const wanted = 30;
// How a network begins: its derivatives of the order of the target's. Of second order they are large, by 30 squared.
const gain = { gradient: 1, laplacian: 10 } as const;

/** Steps between two looks at all derivatives. */
const lookEvery = 25;

export class PictureGoal implements Goal<PictureView> {
  readonly net: SineNet;
  readonly #points: number;
  readonly #kind: Derivative;
  readonly #grid: Tensor;
  // An orthonormal basis of what the derivatives leave open, [pixels, dimensions].
  readonly #open: Tensor;
  #pixels: Float64Array;
  #surface: Surface;
  #target: Fields;
  // Brightness of a unit of the network.
  #unit: number;
  // What was last shown; derivatives at every pixel cost as much as some steps.
  #shown: PictureView | undefined;
  #since = 0;

  /** @param pixels brightness from 0 to 1, row by row */
  constructor(kind: Derivative, pixels: Float64Array, options: { width: number; points: number }) {
    this.net = new SineNet({ inputs: 2, width: options.width, w0: 30 });
    this.#points = options.points;
    this.#kind = kind;
    this.#grid = keep(tensor(centres(side), { shape: [side * side, 2] }));
    this.#open = keep(scope(() => qr(harmonics(side, kind === 'gradient' ? 0 : 12))[0]));
    this.#pixels = pixels;
    [this.#surface, this.#target, this.#unit] = this.#prepared();
    this.#shown = undefined;
  }

  readonly given = {
    stateDict: () => ({ pixels: tensor(this.#pixels) }),
    loadStateDict: ({ pixels }: { pixels: Tensor }) => {
      this.#pixels = Float64Array.from(pixels.toTypedArray(), Number);
      [this.#surface, this.#target, this.#unit] = this.#prepared();
    },
  };

  #prepared(): [Surface, Fields, number] {
    const surface = new Surface(this.#pixels, side);
    const points = centres(side);
    const fields: Fields = {
      picture: Float32Array.from(this.#pixels),
      gradient: surface.gradient(points),
      laplacian: surface.laplacian(points),
    };
    const everywhere = between(side);
    const values = this.#kind === 'gradient' ? surface.gradient(everywhere) : surface.laplacian(everywhere);
    const power = values.reduce((sum, v) => sum + v * v, 0) / (everywhere.length / 2);
    // A picture of one colour has no derivatives: the network learns to have none.
    return [surface, fields, Math.sqrt(power || 1) / gain[this.#kind]];
  }

  /** The share of the derivatives' power that is missed: 0 is exact, 1 is what a constant would get. */
  loss(): Tensor {
    this.#since++;
    const x = rand([this.#points, 2]).mul(2).sub(1);
    const places = x.toTypedArray() as Float32Array;
    x.requiresGrad = true;
    const slope = gradient(this.net.call(x), x);
    const [found, target] =
      this.#kind === 'gradient'
        ? [slope, this.#surface.gradient(places)]
        : [second(slope, x, 0).add(second(slope, x, 1)), this.#surface.laplacian(places)];
    const missed = found.sub(tensor(target, { shape: found.shape }).mul(1 / this.#unit));
    return missed
      .square()
      .sum()
      .mul(1 / (this.#points * gain[this.#kind] * gain[this.#kind]));
  }

  /** The network's picture, with what its derivatives leave open taken from the target. */
  #picture(): Float32Array {
    return scope(() =>
      noGrad(() => {
        const own = this.net.call(this.#grid).mul(this.#unit).cast('float64').reshape([-1, 1]);
        const missing = tensor(this.#pixels).reshape([-1, 1]).sub(own);
        const open = this.#open.matmul(this.#open.permute([1, 0]).matmul(missing));
        return own.add(open).cast('float32').toTypedArray() as Float32Array;
      }),
    );
  }

  #psnr(picture: Float32Array): number {
    const sum = picture.reduce((total, value, i) => {
      const difference = value - (this.#pixels[i] as number);
      return total + difference * difference;
    }, 0);
    return Math.min(99, (-10 / Math.LN10) * math('log', sum / picture.length));
  }

  curve(): Record<string, number> {
    return { psnr: this.#psnr(this.#picture()) };
  }

  look(): PictureView {
    if (!this.#shown || this.#since >= lookEvery) this.#shown = this.#looked();
    return this.#shown;
  }

  #looked(): PictureView {
    this.#since = 0;
    const picture = this.#picture();
    const [slopes, bends] = scope(() => {
      const x = this.#grid.clone();
      x.requiresGrad = true;
      const slope = gradient(this.net.call(x), x);
      const bend = second(slope, x, 0).add(second(slope, x, 1));
      return [slope, bend].map((t) => t.detach().mul(this.#unit).toTypedArray() as Float32Array);
    }) as [Float32Array, Float32Array];
    const network = { picture, gradient: slopes, laplacian: bends };
    return { kind: this.#kind, side, target: this.#target, network, psnr: this.#psnr(picture) };
  }

  renewed(): void {
    this.#shown = undefined;
  }

  measure(): Measure {
    this.#shown = undefined;
    const value = this.#psnr(this.#picture());
    const [open, goal] =
      this.#kind === 'gradient' ? ['a constant', `; the goal is ${wanted} dB`] : ['a harmonic function', ''];
    const text = `${value.toFixed(1)} dB against the picture, up to ${open}, from its ${this.#kind} alone${goal}.`;
    return { value, reached: goal === '' ? undefined : value >= wanted, text };
  }

  dispose(): void {
    for (const part of [this.net, this.#grid, this.#open]) part.dispose();
  }
}

/**
 * The harmonic polynomials up to a degree at the pixels' centres, [pixels, 2 degree + 1] float64: real and imaginary parts
 * of (x + iy)^k. Their Laplacian is 0.
 */
export function harmonics(side: number, degree: number): Tensor {
  const points = centres(side);
  const count = 2 * degree + 1;
  const values = new Float64Array(side * side * count);
  for (let pixel = 0; pixel < side * side; pixel++) {
    const [x, y] = [points[2 * pixel] as number, points[2 * pixel + 1] as number];
    let [re, im] = [1, 0];
    values[pixel * count] = 1;
    for (let k = 1; k <= degree; k++) {
      [re, im] = [re * x - im * y, re * y + im * x];
      values[pixel * count + 2 * k - 1] = re;
      values[pixel * count + 2 * k] = im;
    }
  }
  return tensor(values, { shape: [side * side, count] });
}

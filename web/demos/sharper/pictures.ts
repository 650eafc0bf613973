// Pictures for this demo: small ones made of large ones, crops to train on, and how near one is to another.

import { type Tensor, interpolate, noGrad, rand, scope, stack } from 'omnigrad';
import { PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure } from 'omnigrad/metrics';

/** A picture and its half. */
export interface Pair {
  /** [N, C, 2H, 2W] */
  readonly large: Tensor;
  /** [N, C, H, W]: half of it, as a file would have it: antialiased cubic, in steps of 1/255. */
  readonly small: Tensor;
}

/** A picture [N, C, H, W], less its last row or column where they are odd, and its half. */
export function halved(picture: Tensor): Pair {
  return scope(() => {
    const [, , height = 0, width = 0] = picture.shape;
    const size = [height >> 1, width >> 1];
    const [h, w] = [2 * (height >> 1), 2 * (width >> 1)];
    const large = picture.at(':', ':', [0, h], [0, w]).clone();
    const small = interpolate(large, { size, mode: 'cubic', antialias: true });
    return { large, small: small.mul(255).round().clamp(0, 255).div(255) };
  });
}

/** Dividing the crops among pairs by their area; crops of `side` pixels of `small`, turned and mirrored. */
export class Crops {
  readonly #pairs: readonly Pair[];
  readonly #ends: readonly number[];
  readonly #side: number;

  /** @param shares how much each pair counts; default: its area */
  constructor(pairs: readonly Pair[], side: number, shares = pairs.map(({ small }) => small.numel)) {
    this.#pairs = pairs;
    this.#side = side;
    let sum = 0;
    this.#ends = shares.map((share) => (sum += share));
  }

  /** `count` crops, [count, 1, 2 side, 2 side] and [count, 1, side, side]; draws from the default generator. */
  draw(count: number): Pair {
    return scope(() => {
      const numbers = rand([count, 6]).toTypedArray() as Float32Array;
      const crops = Array.from({ length: count }, (_, i) => this.#crop(numbers.subarray(6 * i, 6 * i + 6)));
      return { large: stack(crops.map(({ large }) => large)), small: stack(crops.map(({ small }) => small)) };
    });
  }

  // Six numbers from 0 to 1: which picture, where, and which of the eight ways to lay it.
  #crop([which = 0, down = 0, across = 0, ...ways]: Float32Array): Pair {
    const place = which * (this.#ends.at(-1) ?? 0);
    const found = this.#ends.findIndex((end) => place < end);
    const { large, small } = this.#pairs[found] as Pair;
    const side = this.#side;
    const [, , h = 0, w = 0] = small.shape;
    const [y, x] = [Math.floor(down * (h - side + 1)), Math.floor(across * (w - side + 1))];
    const laid = (picture: Tensor, scale: number): Tensor => {
      const cut = (at: number): [number, number] => [scale * at, scale * (at + side)];
      let crop = picture.at(0, ':', cut(y), cut(x));
      if ((ways[0] as number) < 0.5) crop = crop.flip([1]);
      if ((ways[1] as number) < 0.5) crop = crop.flip([2]);
      return (ways[2] as number) < 0.5 ? crop.permute([0, 2, 1]) : crop;
    };
    return { large: laid(large, 2), small: laid(small, 1) };
  }
}

export interface Score {
  /** Decibels. */
  readonly psnr: number;
  readonly ssim: number;
}

/** Pixels at each edge that do not count: nobody knows what was beyond. */
const border = 4;

/** How near `made` is to `large`, both [1, 1, H, W], without the border. */
export function score(made: Tensor, large: Tensor): Score {
  const [psnr, ssim] = [new PeakSignalNoiseRatio(), new StructuralSimilarityIndexMeasure()];
  noGrad(() => {
    scope(() => {
      const [a, b] = [made.clamp(0, 1), large].map((picture) => {
        const [, , h = 0, w = 0] = picture.shape;
        return picture.at(':', ':', [border, h - border], [border, w - border]);
      }) as [Tensor, Tensor];
      psnr.update(a, b);
      ssim.update(a, b);
    });
  });
  return { psnr: psnr.compute(), ssim: ssim.compute() };
}

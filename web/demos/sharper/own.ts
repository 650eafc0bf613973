// A photograph of the visitor's, when the run trains on it too: its left two thirds. The right third is never trained on,
// so that what is said about it is honest.

import { type Tensor, scope, tensor } from 'omnigrad';
import { luma } from '../shared/photos.js';
import { type Pair, halved } from './pictures.js';

/** Pixels as a canvas has them: red, green, blue, alpha, row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

/** In colours, float32 [1, 3, H, W], from 0 to 1. */
export function coloursOf({ width, height, data }: Pixels): Tensor {
  return scope(() =>
    tensor(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), { shape: [1, height, width, 4] })
      .at('...', [0, 3])
      .permute([0, 3, 1, 2])
      .cast('float32')
      .div(255),
  );
}

/** A picture [1, 3, H, W] as a canvas wants it. */
export function pixelsOf(colours: Tensor): Pixels {
  const [, , height = 0, width = 0] = colours.shape;
  const planes = scope(() => colours.clamp(0, 1).mul(255).round().toTypedArray());
  const data = new Uint8ClampedArray(4 * width * height).fill(255);
  const size = width * height;
  for (let c = 0; c < 3; c++) for (let i = 0; i < size; i++) data[4 * i + c] = Number(planes[c * size + i]);
  return { width, height, data };
}

/** Part of a run: what was given when it began goes on with it. */
export class OwnPhoto {
  /** Luma, [1, 1, H, W]. */
  #picture: Tensor | undefined;
  /** To train on, and to be judged on. */
  #parts: readonly [Pair, Pair] | undefined;

  constructor(given: Pixels | undefined) {
    if (given)
      this.#set(
        scope(() => {
          const colours = coloursOf(given);
          return luma(colours);
        }),
      );
  }

  get training(): Pair | undefined {
    return this.#parts?.[0];
  }
  get judging(): Pair | undefined {
    return this.#parts?.[1];
  }

  #set(picture: Tensor | undefined): void {
    this.dispose();
    this.#picture = picture;
    if (!picture) return;
    const width = picture.shape[3] ?? 0;
    const cut = Math.floor((2 * width) / 3);
    this.#parts = [[0, cut] as const, [cut, width] as const].map(([from, to]) =>
      halved(picture.at(':', ':', ':', [from, to])),
    ) as [Pair, Pair];
  }

  stateDict(): { picture: Tensor | null } {
    return { picture: this.#picture ?? null };
  }
  loadStateDict({ picture }: { picture: Tensor | null }): void {
    this.#set(picture?.clone());
  }

  dispose(): void {
    this.#picture?.dispose();
    for (const { large, small } of this.#parts ?? []) {
      large.dispose();
      small.dispose();
    }
    this.#picture = this.#parts = undefined;
  }
}

// Where a token stands: added to it, or turned into it.

import { math } from '../runtime.js';
import { arange, tensor, zeros } from '../create.js';
import { failure } from '../errors.js';
import { add, rotaryEmbedding, stack } from '../ops.generated.js';
import type { RotaryEmbeddingOptions } from '../ops.generated.js';
import { boolean, checkOptions, checkValue, positive, whole } from '../options.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, floatRules, shapeOf } from './checks.js';
import { Module, buffer } from './module.js';

export interface PositionalOptions {
  /** The longest sequence; default 5000. */
  readonly maxLength?: number;
  /** The longest wave, over 2 pi; default 10000. */
  readonly maxTimescale?: number;
  readonly dtype?: 'float32' | 'float64';
}

/** Adds sin and cos of the position, in turn, with wavelengths from 2 pi to maxTimescale 2 pi (Vaswani et al. 2017). */
export class PositionalEncoding extends Module<[x: Tensor, offset?: number]> {
  /** [maxLength, size]; no part of the state dict. */
  readonly table: Tensor;

  constructor(size: number, options: PositionalOptions = {}) {
    super();
    checkSizes('PositionalEncoding', { size }, whole(1));
    const own = { maxLength: whole(1), maxTimescale: positive, ...floatRules };
    checkOptions('PositionalEncoding', options, own);
    const { maxLength = 5000, maxTimescale = 10000, dtype = 'float32' } = options;
    const table = scope(() => {
      // Refused here if there is no room, not in the middle of the list below.
      zeros([maxLength, size], { dtype: 'float64' }).dispose();
      const rates = Array.from({ length: Math.ceil(size / 2) }, (_, i) =>
        math('pow', maxTimescale, (-2 * i) / size),
      );
      const positions = arange(maxLength, { dtype: 'float64' }).reshape([maxLength, 1]);
      const angles = positions.mul(tensor(rates, { dtype: 'float64' }));
      const waves = stack([angles.sin(), angles.cos()], 2).reshape([maxLength, -1]);
      return waves.at(':', [0, size]).cast(dtype).clone();
    });
    this.table = buffer(table, { persistent: false });
  }

  /**
   * @param x [*, length, size]
   * @param offset the first token's position; default 0
   */
  forward(x: Tensor, offset = 0): Tensor {
    checkInput('PositionalEncoding', x);
    checkValue('PositionalEncoding', 'offset', offset, whole());
    const [length, size] = this.table.shape as [number, number];
    const wanted = x.shape.at(-2) ?? 0;
    if (x.ndim < 2 || x.shape.at(-1) !== size || offset + wanted > length) {
      const text = `the input is ${shapeOf(x)} from position ${offset}; it must be [*, length, ${size}], up to ${length}`;
      throw failure('PositionalEncoding', 'shape', text);
    }
    return add(x, this.table.at([offset, offset + wanted]));
  }
}

/** Turns pairs of features of queries and keys by angles that grow with the position (Su et al. 2021). */
export class RotaryEncoding extends Module<[x: Tensor, offset?: number]> {
  readonly #options: RotaryEmbeddingOptions;

  /** @param options `base` of the angles, 10000; `interleaved`: pairs are neighbours (true), or lie half of them apart */
  constructor(options: { readonly base?: number; readonly interleaved?: boolean } = {}) {
    super();
    checkOptions('RotaryEncoding', options, { base: positive, interleaved: boolean });
    this.#options = options;
  }

  /**
   * @param x [*, length, features], features even
   * @param offset the first token's position; default 0
   */
  forward(x: Tensor, offset = 0): Tensor {
    checkValue('RotaryEncoding', 'offset', offset, whole());
    return rotaryEmbedding(x, { ...this.#options, offset });
  }
}

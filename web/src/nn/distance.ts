// How alike or far apart vectors are.

import { cosineSimilarity, pairwiseDistance } from '../ops.generated.js';
import type { CosineSimilarityOptions, PairwiseDistanceOptions } from '../ops.generated.js';
import { boolean, checkOptions, integer, notNegative, positive } from '../options.js';
import type { Tensor } from '../tensor.js';
import { Module } from './module.js';

/** Cosine of the angle between vectors along `dim` (default 1). */
export class CosineSimilarity extends Module<[x1: Tensor, x2: Tensor]> {
  readonly #options: CosineSimilarityOptions;
  constructor(options: CosineSimilarityOptions = {}) {
    super();
    checkOptions('CosineSimilarity', options, { dim: integer, eps: positive });
    this.#options = options;
  }
  forward(x1: Tensor, x2: Tensor): Tensor {
    return cosineSimilarity(x1, x2, this.#options);
  }
}

/** p-norm (default 2) of the difference along the last axis. */
export class PairwiseDistance extends Module<[x1: Tensor, x2: Tensor]> {
  readonly #options: PairwiseDistanceOptions;
  constructor(options: PairwiseDistanceOptions = {}) {
    super();
    checkOptions('PairwiseDistance', options, { p: positive, eps: notNegative, keepdim: boolean });
    this.#options = options;
  }
  /** [*, D] and [*, D] to [*] */
  forward(x1: Tensor, x2: Tensor): Tensor {
    return pairwiseDistance(x1, x2, this.#options);
  }
}

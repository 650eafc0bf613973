// The base of layers without parameters over [N, C, *S] of one rank.

import type { Tensor } from '../tensor.js';
import { withBatch } from './checks.js';
import { Module } from './module.js';

/** Runs an op on inputs of `rank` spatial axes, with or without a batch axis; others are refused. */
export abstract class Spatial<Out extends Tensor | Tensor[] = Tensor> extends Module<[x: Tensor], Out> {
  readonly #name: string;
  readonly #rank: number;

  protected constructor(name: string, rank: number) {
    super();
    this.#name = name;
    this.#rank = rank;
  }

  /** What is done with x [N, C, *S]. */
  protected abstract run(x: Tensor): Out;

  /** [N, C, *S] to [N, C, *S'], or both without N */
  forward(x: Tensor): Out {
    return withBatch(this.#name, this.#rank, x, (batch) => this.run(batch));
  }
}

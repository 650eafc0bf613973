// Tables of vectors, looked up by index.

import { noGrad } from '../autograd.js';
import { failure } from '../errors.js';
import { embedding, embeddingBag, indexPut } from '../ops.generated.js';
import { aTensor, boolean, checkOptions, checkValue, integer, oneOf, positive, whole } from '../options.js';
import { normal } from '../random.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, floatRules, generatorRules, orNull, shapeOf } from './checks.js';
import type { LayerOptions } from './init.js';
import { Module, parameter } from './module.js';

export interface EmbeddingLayerOptions extends Omit<LayerOptions, 'bias'> {
  /** A row that starts at zero and gets no gradient; from the end if negative. */
  readonly paddingIdx?: number | null;
  /** Rows that are looked up are first scaled, in place, to a norm of at most this. */
  readonly maxNorm?: number | null;
  /** Of maxNorm; default 2. */
  readonly normType?: number;
}

const normRules = { maxNorm: orNull(positive), normType: positive };
const tableRules = { ...normRules, ...floatRules, ...generatorRules };

// Standard normal rows.
function table(name: string, rows: number, size: number, options: Omit<LayerOptions, 'bias'>): Tensor {
  checkSizes(name, { numEmbeddings: rows, embeddingDim: size }, whole(1));
  const { dtype = 'float32', generator } = options;
  return parameter(normal([rows, size], 0, 1, generator ? { dtype, generator } : { dtype }));
}

// Scales the rows that are looked up and too long.
function renormalize(weight: Tensor, index: Tensor, maxNorm: number, normType: number): void {
  noGrad(() => {
    scope(() => {
      const places = index.reshape([-1]);
      if (places.numel === 0) return;
      const rows = weight.indexSelect(0, places);
      const norms = rows.norm(1, { p: normType, keepdim: true });
      const factors = norms.add(1e-7).reciprocal().mul(maxNorm);
      const one = norms.le(maxNorm).cast(weight.dtype);
      weight.copy_(indexPut(weight, rows.mul(factors.mul(one.neg().add(1)).add(one)), [places]));
    });
  });
}

/** A vector for each index: rows of a table, standard normal at first. */
export class Embedding extends Module<[index: Tensor]> {
  /** [numEmbeddings, embeddingDim] */
  readonly weight: Tensor;
  readonly #paddingIdx: number | null;
  readonly #maxNorm: number | null;
  readonly #normType: number;

  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingLayerOptions = {}) {
    super();
    checkOptions('Embedding', options, { paddingIdx: orNull(integer), ...tableRules });
    const { paddingIdx = null, maxNorm = null, normType = 2 } = options;
    if (paddingIdx !== null && (paddingIdx >= numEmbeddings || paddingIdx < -numEmbeddings))
      throw failure('Embedding', 'option', `paddingIdx is ${paddingIdx}; there are ${numEmbeddings} rows`);
    this.weight = table('Embedding', numEmbeddings, embeddingDim, options);
    if (paddingIdx !== null)
      noGrad(() => {
        scope(() => {
          this.weight.at(paddingIdx).fill_(0);
        });
      });
    this.#paddingIdx = paddingIdx;
    this.#maxNorm = maxNorm;
    this.#normType = normType;
  }

  /**
   * An embedding with these rows, copied; frozen unless told otherwise.
   *
   * @param weight [rows, size], float32 or float64
   */
  static fromPretrained(
    weight: Tensor,
    options: Omit<EmbeddingLayerOptions, 'dtype' | 'generator'> & { readonly freeze?: boolean } = {},
  ): Embedding {
    checkValue('Embedding', 'weight', weight, aTensor);
    checkOptions('Embedding', options, { freeze: boolean, paddingIdx: orNull(integer), ...normRules });
    const [rows, size] = weight.shape;
    if (weight.ndim !== 2 || rows === undefined || size === undefined)
      throw failure('Embedding', 'shape', `the weight is ${shapeOf(weight)}; it must be [rows, size]`);
    const { freeze = true, ...rest } = options;
    const layer = new Embedding(rows, size, {
      ...rest,
      dtype: weight.dtype === 'float64' ? 'float64' : 'float32',
    });
    layer.loadStateDict({ weight });
    return layer.requiresGrad_(!freeze);
  }

  /** Indices of any shape [*] to [*, embeddingDim] */
  forward(index: Tensor): Tensor {
    checkInput('Embedding', index, 'index');
    if (this.#maxNorm !== null) renormalize(this.weight, index, this.#maxNorm, this.#normType);
    return embedding(index, this.weight, { paddingIdx: this.#paddingIdx });
  }
}

export interface EmbeddingBagLayerOptions extends Omit<EmbeddingLayerOptions, 'paddingIdx'> {
  /** How the rows of a bag are combined; default 'mean'. */
  readonly mode?: 'sum' | 'mean' | 'max';
}

/** Sums, means or maxima of bags of rows of a table. */
export class EmbeddingBag extends Module<[index: Tensor, offsets?: Tensor | null, weights?: Tensor | null]> {
  /** [numEmbeddings, embeddingDim] */
  readonly weight: Tensor;
  readonly #mode: 'sum' | 'mean' | 'max';
  readonly #maxNorm: number | null;
  readonly #normType: number;

  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingBagLayerOptions = {}) {
    super();
    checkOptions('EmbeddingBag', options, { mode: oneOf('sum', 'mean', 'max'), ...tableRules });
    this.weight = table('EmbeddingBag', numEmbeddings, embeddingDim, options);
    const { mode = 'mean', maxNorm = null, normType = 2 } = options;
    this.#mode = mode;
    this.#maxNorm = maxNorm;
    this.#normType = normType;
  }

  /**
   * @param index [B, L], a bag a row; or [L], cut into bags by offsets
   * @param offsets [B], where each bag of [L] begins
   * @param weights of index's shape: factors of the rows, for mode 'sum'
   * @returns [B, embeddingDim]
   */
  forward(index: Tensor, offsets?: Tensor | null, weights?: Tensor | null): Tensor {
    checkInput('EmbeddingBag', index, 'index');
    if (this.#maxNorm !== null) renormalize(this.weight, index, this.#maxNorm, this.#normType);
    return embeddingBag(index, this.weight, { mode: this.#mode, offsets, perSampleWeights: weights });
  }
}

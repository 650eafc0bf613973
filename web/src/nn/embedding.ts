// Tables of vectors, looked up by index.

import { noGrad } from '../autograd.js';
import { tensor } from '../create.js';
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

// Standard normal rows, that of paddingIdx zero.
function table(name: string, rows: number, size: number, options: EmbeddingLayerOptions): Tensor {
  checkSizes(name, { numEmbeddings: rows, embeddingDim: size }, whole(1));
  const { dtype = 'float32', generator, paddingIdx = null } = options;
  if (paddingIdx !== null && (paddingIdx >= rows || paddingIdx < -rows))
    throw failure(name, 'option', `paddingIdx is ${paddingIdx}; there are ${rows} rows`);
  const weight = parameter(normal([rows, size], 0, 1, generator ? { dtype, generator } : { dtype }));
  if (paddingIdx !== null)
    noGrad(() => {
      scope(() => {
        weight.at(paddingIdx).fill_(0);
      });
    });
  return weight;
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
    this.weight = table('Embedding', numEmbeddings, embeddingDim, options);
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

export interface EmbeddingBagLayerOptions extends EmbeddingLayerOptions {
  /** How the rows of a bag are combined; default 'mean'. */
  readonly mode?: 'sum' | 'mean' | 'max';
  /** offsets has one more entry: where the last bag ends; default false. */
  readonly includeLastOffset?: boolean;
}

/** Sums, means or maxima of bags of rows of a table. */
export class EmbeddingBag extends Module<[index: Tensor, offsets?: Tensor | null, weights?: Tensor | null]> {
  /** [numEmbeddings, embeddingDim] */
  readonly weight: Tensor;
  readonly #mode: 'sum' | 'mean' | 'max';
  readonly #includeLast: boolean;
  readonly #paddingIdx: number | null;
  readonly #maxNorm: number | null;
  readonly #normType: number;

  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingBagLayerOptions = {}) {
    super();
    const own = {
      mode: oneOf('sum', 'mean', 'max'),
      paddingIdx: orNull(integer),
      includeLastOffset: boolean,
    };
    checkOptions('EmbeddingBag', options, { ...own, ...tableRules });
    this.weight = table('EmbeddingBag', numEmbeddings, embeddingDim, options);
    const { mode = 'mean', maxNorm = null, normType = 2, paddingIdx = null } = options;
    this.#mode = mode;
    this.#includeLast = options.includeLastOffset ?? false;
    // Rows from the end, as Embedding takes them, are told from the start.
    this.#paddingIdx = paddingIdx !== null && paddingIdx < 0 ? paddingIdx + numEmbeddings : paddingIdx;
    this.#maxNorm = maxNorm;
    this.#normType = normType;
  }

  /**
   * @param index [B, L], a bag a row; or [L], cut into bags by offsets
   * @param offsets [B], where each bag of [L] begins; with includeLastOffset [B + 1]
   * @param weights of index's shape: factors of the rows, for mode 'sum'
   * @returns [B, embeddingDim]; what is paddingIdx counts in no bag
   */
  forward(index: Tensor, offsets?: Tensor | null, weights?: Tensor | null): Tensor {
    checkInput('EmbeddingBag', index, 'index');
    if (this.#maxNorm !== null) renormalize(this.weight, index, this.#maxNorm, this.#normType);
    const bags: Bags = { index, offsets: offsets ?? null, weights: weights ?? null };
    const whole = this.#includeLast ? withoutEnd(bags) : bags;
    const given = this.#paddingIdx === null ? whole : withoutRow(whole, this.#paddingIdx);
    return embeddingBag(given.index, this.weight, {
      mode: this.#mode,
      offsets: given.offsets,
      perSampleWeights: given.weights,
    });
  }
}

interface Bags {
  readonly index: Tensor;
  readonly offsets: Tensor | null;
  readonly weights: Tensor | null;
}

const numbersOf = (x: Tensor): number[] => Array.from(x.toTypedArray() as ArrayLike<number | bigint>, Number);

// The last offset is no bag's beginning, but where the last bag ends.
function withoutEnd({ index, offsets, weights }: Bags): Bags {
  if (offsets?.ndim !== 1 || offsets.numel === 0)
    throw failure('EmbeddingBag', 'shape', 'includeLastOffset needs offsets [B + 1]');
  const end = Number(numbersOf(offsets.at(-1))[0]);
  if (index.ndim !== 1 || !(end >= 0 && end <= index.numel))
    throw failure('EmbeddingBag', 'index', `the last bag ends at ${end}; the index is ${shapeOf(index)}`);
  return {
    index: index.at([0, end]),
    offsets: offsets.at([0, -1]),
    weights: weights?.at([0, end]) ?? null,
  };
}

// The same bags less all places of one row.
function withoutRow(bags: Bags, row: number): Bags {
  const { index, weights } = bags;
  const all = numbersOf(index);
  const begins =
    index.ndim === 2
      ? Array.from({ length: index.shape[0] as number }, (_, bag) => bag * (index.shape[1] as number))
      : bags.offsets && numbersOf(bags.offsets);
  const kept = all.flatMap((value, place) => (value === row ? [] : [place]));
  if (!begins || kept.length === all.length) return bags; // nothing to drop, or bags for the op to refuse
  const before = new Array<number>(all.length + 1).fill(0);
  all.forEach((value, place) => (before[place + 1] = (before[place] as number) + Number(value !== row)));
  const int64 = (values: number[]): Tensor => tensor(values, { dtype: 'int64', shape: [values.length] });
  const places = int64(kept);
  return {
    index: index.reshape([-1]).indexSelect(0, places),
    offsets: int64(begins.map((begin) => before[begin] ?? begin)),
    weights: weights?.reshape([-1]).indexSelect(0, places) ?? null,
  };
}

// Attention of several heads, in PyTorch's layout of weights.

import { zeros } from '../create.js';
import { failure } from '../errors.js';
import { cat, linear, logicalNot, matmul, softmax } from '../ops.generated.js';
import { aTensor, boolean, checkOptions, checkValue, instance, share, whole } from '../options.js';
import { scope } from '../scope.js';
import { dropout, scaledDotProductAttention } from '../stochastic.js';
import type { Tensor } from '../tensor.js';
import { KeyValueCache, type Masks, maskOf } from './attention_masks.js';
import { checkInput, checkSizes, layerRules, orNull, shapeOf } from './checks.js';
import { type LayerOptions } from './init.js';
import { xavierNormal_, xavierUniform_ } from './initializers.js';
import { Layer } from './layer.js';
import { Linear } from './linear.js';
import { parameter } from './module.js';

export interface MultiheadAttentionOptions extends LayerOptions {
  /** Share of the weights that are dropped in training; default 0. */
  readonly dropout?: number;
  /** A learnt key and value after the others; default false. */
  readonly addBiasKv?: boolean;
  /** A key and value of zeros after the others; default false. */
  readonly addZeroAttn?: boolean;
  /** Features of the keys; default embedDim. */
  readonly kdim?: number;
  /** Features of the values; default embedDim. */
  readonly vdim?: number;
  /** Inputs are [batch, length, features], not [length, batch, features]; default false. */
  readonly batchFirst?: boolean;
}

export interface AttentionOptions {
  /** [L, S], or [batch * heads, L, S]. Bool: true where a key is NOT looked at, as in PyTorch; floating: added to scores. */
  readonly attnMask?: Tensor | null | undefined;
  /** [batch, S]. Bool: true for keys that are left out; floating: added to scores. */
  readonly keyPaddingMask?: Tensor | null | undefined;
  /** A query sees no later key; positions go on from the cache's; default false. */
  readonly isCausal?: boolean | undefined;
  /** Give the weights as well, which takes the slower way; default false. */
  readonly needWeights?: boolean | undefined;
  /** Weights are means over heads, [batch, L, S], not [batch, heads, L, S]; default true. */
  readonly averageAttnWeights?: boolean | undefined;
  /** Keys and values of earlier calls, which this one's go after. */
  readonly cache?: KeyValueCache | null | undefined;
}

const mask = orNull(aTensor);
const attentionRules = {
  attnMask: mask,
  keyPaddingMask: mask,
  isCausal: boolean,
  needWeights: boolean,
  averageAttnWeights: boolean,
  cache: orNull(instance(KeyValueCache)),
};

const moduleRules = {
  ...layerRules,
  dropout: share,
  addBiasKv: boolean,
  addZeroAttn: boolean,
  kdim: whole(1),
  vdim: whole(1),
  batchFirst: boolean,
};

type Attending = [query: Tensor, key?: Tensor | null, value?: Tensor | null, options?: AttentionOptions];
const nameOf = 'MultiheadAttention';

/** softmax(q k^T / sqrt(size of a head)) v for each head, of projections of the inputs (Vaswani et al. 2017). */
export class MultiheadAttention extends Layer<Attending, [output: Tensor, weights: Tensor | null]> {
  /** Of query, key and value, [3 embedDim, embedDim]; null where kdim or vdim differ. */
  readonly inProjWeight: Tensor | null;
  readonly qProjWeight: Tensor | null;
  readonly kProjWeight: Tensor | null;
  readonly vProjWeight: Tensor | null;
  /** [3 embedDim] */
  readonly inProjBias: Tensor | null;
  /** [1, 1, embedDim] */
  readonly biasK: Tensor | null;
  readonly biasV: Tensor | null;
  readonly outProj: Linear;
  readonly #embedDim: number;
  readonly #numHeads: number;
  readonly #dropout: number;
  readonly #batchFirst: boolean;
  readonly #addZeroAttn: boolean;

  constructor(embedDim: number, numHeads: number, options: MultiheadAttentionOptions = {}) {
    super();
    checkSizes(nameOf, { embedDim, numHeads }, whole(1));
    checkOptions(nameOf, options, moduleRules);
    if (embedDim % numHeads !== 0)
      throw failure(
        nameOf,
        'option',
        `numHeads is ${numHeads}; it must divide embedDim, which is ${embedDim}`,
      );
    const { bias = true, addBiasKv = false, addZeroAttn = false, batchFirst = false } = options;
    const { kdim = embedDim, vdim = embedDim, dtype = 'float32', generator } = options;
    this.#embedDim = embedDim;
    this.#numHeads = numHeads;
    this.#dropout = options.dropout ?? 0;
    this.#batchFirst = batchFirst;
    this.#addZeroAttn = addZeroAttn;
    const drawn = generator ? { generator } : {};
    const xavier = (...shape: number[]): Tensor => xavierUniform_(parameter(zeros(shape, { dtype })), drawn);
    const joint = kdim === embedDim && vdim === embedDim;
    this.inProjWeight = joint ? xavier(3 * embedDim, embedDim) : null;
    this.qProjWeight = joint ? null : xavier(embedDim, embedDim);
    this.kProjWeight = joint ? null : xavier(embedDim, kdim);
    this.vProjWeight = joint ? null : xavier(embedDim, vdim);
    this.inProjBias = bias ? parameter(zeros([3 * embedDim], { dtype })) : null;
    const extra = (): Tensor => xavierNormal_(parameter(zeros([1, 1, embedDim], { dtype })), drawn);
    this.biasK = addBiasKv ? extra() : null;
    this.biasV = addBiasKv ? extra() : null;
    this.outProj = new Linear(embedDim, embedDim, { bias, dtype, ...drawn });
    scope(() => {
      if (bias) this.outProj.loadStateDict({ bias: zeros([embedDim], { dtype }) }, { strict: false });
    });
  }

  /**
   * @param query [L, batch, embedDim], [batch, L, embedDim] with batchFirst, or [L, embedDim]
   * @param key [S, batch, kdim] likewise; default: query
   * @param value [S, batch, vdim] likewise; default: key
   * @returns what query is like, and the weights with needWeights, else null
   */
  forward(
    query: Tensor,
    key?: Tensor | null,
    value?: Tensor | null,
    options: AttentionOptions = {},
  ): [output: Tensor, weights: Tensor | null] {
    checkOptions(nameOf, options, attentionRules);
    if (options.isCausal === true && options.cache?.fixed === true)
      throw failure(nameOf, 'option', 'isCausal needs a cache that grows: a fixed one has no positions');
    const k = key ?? query;
    const v = value ?? k;
    this.#checkShapes(query, k, v);
    const single = query.ndim === 2;
    const batched = (x: Tensor): Tensor =>
      single ? x.reshape(this.#order(1, x.shape[0] ?? 0).concat(x.shape[1] ?? 0)) : x;
    const [q, keys, values] = this.#heads(
      batched(query),
      k === query ? null : batched(k),
      v === k ? null : batched(v),
      options.cache,
    );
    const [attended, weights] = this.#attend(q, keys, values, options);
    const [batch, length] = this.#sizes(query);
    const joined = attended.permute(this.#batchFirst ? [0, 2, 1, 3] : [2, 0, 1, 3]);
    const output = this.outProj.call(joined.reshape([...this.#order(batch, length), this.#embedDim]));
    return [
      single ? output.reshape([length, this.#embedDim]) : output,
      this.#shown(weights, single, options),
    ];
  }

  // [batch, length] of an input.
  #sizes(x: Tensor): [number, number] {
    const [a = 0, b = 0] = x.shape;
    if (x.ndim === 2) return [1, a];
    return this.#batchFirst ? [a, b] : [b, a];
  }

  #order(batch: number, length: number): number[] {
    return this.#batchFirst ? [batch, length] : [length, batch];
  }

  #checkShapes(query: Tensor, key: Tensor, value: Tensor): void {
    const sizes = [
      this.#embedDim,
      this.kProjWeight?.shape[1] ?? this.#embedDim,
      this.vProjWeight?.shape[1] ?? this.#embedDim,
    ];
    const given = { query, key, value };
    Object.entries(given).forEach(([name, x], i) => {
      checkInput(nameOf, x, name);
      const fits = x.ndim === query.ndim && (x.ndim === 2 || x.ndim === 3) && x.shape.at(-1) === sizes[i];
      if (fits) return;
      const layout = this.#batchFirst ? '[batch, length' : '[length, batch';
      const text = `${name} is ${shapeOf(x)}; it must be ${layout}, ${sizes[i] ?? 0}] or [length, ${sizes[i] ?? 0}], as query is`;
      throw failure(nameOf, 'shape', text);
    });
    const [axis, other] = this.#batchFirst ? [0, 1] : [1, 0];
    const same =
      query.ndim === 2 || (query.shape[axis] === key.shape[axis] && key.shape[axis] === value.shape[axis]);
    if (same && key.shape[query.ndim === 2 ? 0 : other] === value.shape[query.ndim === 2 ? 0 : other]) return;
    const shapes = `query ${shapeOf(query)}, key ${shapeOf(key)}, value ${shapeOf(value)}`;
    throw failure(nameOf, 'shape', `${shapes} must have one batch size, key and value one length`);
  }

  // Projections as [batch, heads, length, size]. Of null, the one before is projected; in one product as far as possible.
  #heads(
    query: Tensor,
    key: Tensor | null,
    value: Tensor | null,
    cache: KeyValueCache | null | undefined,
  ): [Tensor, Tensor, Tensor] {
    const filled = cache?.filled ?? null;
    const parts: Tensor[] = [];
    const add = (x: Tensor, first: number, count: number): void => {
      for (const y of this.#project(x, first, count)) parts.push(this.#split(y, x));
    };
    if (filled) add(query, 0, 1);
    else if (!key && !value) add(query, 0, 3);
    else {
      add(query, 0, 1);
      if (value) {
        add(key ?? query, 1, 1);
        add(value, 2, 1);
      } else add(key ?? query, 1, 2);
    }
    const [q, ...kv] = parts as [Tensor, Tensor, Tensor];
    if (filled) return [q, ...filled];
    let [k, v] = kv;
    if (cache) [k, v] = cache.append(k, v);
    const after = (x: Tensor, extra: Tensor): Tensor => {
      const [batch = 1, heads = 1, , size = 1] = x.shape;
      return cat([x, extra.reshape([1, heads, 1, size]).expand([batch, heads, 1, size])], 2);
    };
    if (this.biasK && this.biasV) [k, v] = [after(k, this.biasK), after(v, this.biasV)];
    if (this.#addZeroAttn) {
      const none = zeros([1, 1, this.#embedDim], { dtype: k.dtype });
      [k, v] = [after(k, none), after(v, none)];
    }
    return [q, k, v];
  }

  // `count` projections from number `first` on: 0 query, 1 key, 2 value.
  #project(x: Tensor, first: number, count: number): Tensor[] {
    const size = this.#embedDim;
    const rows = [first * size, (first + count) * size] as const;
    const all = count === 3;
    const bias = this.inProjBias && (all ? this.inProjBias : this.inProjBias.at(rows));
    if (this.inProjWeight) {
      const y = linear(x, all ? this.inProjWeight : this.inProjWeight.at(rows), { bias });
      return count === 1 ? [y] : y.split(new Array<number>(count).fill(size), { dim: -1 });
    }
    const weights = [this.qProjWeight, this.kProjWeight, this.vProjWeight] as Tensor[];
    return Array.from({ length: count }, (_, i) => {
      const own = bias && (count === 1 ? bias : bias.at([i * size, (i + 1) * size]));
      return linear(x, weights[first + i] as Tensor, { bias: own });
    });
  }

  // A projection of `from`, whose shape is known already: to ask for one costs as much as a small op.
  #split(x: Tensor, from: Tensor): Tensor {
    const [a = 0, b = 0] = from.shape;
    const heads = x.reshape([a, b, this.#numHeads, this.#embedDim / this.#numHeads]);
    return heads.permute(this.#batchFirst ? [0, 2, 1, 3] : [1, 2, 0, 3]);
  }

  #attend(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions): [Tensor, Tensor | null] {
    const extra = (this.biasK ? 1 : 0) + (this.#addZeroAttn ? 1 : 0);
    const dropoutP = this.training ? this.#dropout : 0;
    const { attnMask, keyPaddingMask, isCausal = false, needWeights = false, cache } = options;
    const plain = isCausal && !attnMask && !keyPaddingMask && !cache && extra === 0 && !needWeights;
    if (plain) return [scaledDotProductAttention(q, k, v, { isCausal, dropoutP }), null];
    const offset = cache ? (k.shape[2] ?? 0) - extra - (q.shape[2] ?? 0) : 0;
    const wanted: Masks = { attnMask, keyPaddingMask, isCausal, offset };
    const combined = maskOf(nameOf, q, k, wanted, extra);
    if (!needWeights) return [scaledDotProductAttention(q, k, v, { attnMask: combined, dropoutP }), null];
    const scale = 1 / Math.sqrt(q.shape[3] ?? 1);
    let scores = matmul(q.mul(scale), k.permute([0, 1, 3, 2]));
    if (combined?.dtype === 'bool') scores = scores.maskedFill(logicalNot(combined), -Infinity);
    else if (combined) scores = scores.add(combined);
    const weights = softmax(scores, -1);
    return [matmul(dropoutP > 0 ? dropout(weights, dropoutP) : weights, v), weights];
  }

  #shown(weights: Tensor | null, single: boolean, options: AttentionOptions): Tensor | null {
    if (!weights) return null;
    checkValue(nameOf, 'averageAttnWeights', options.averageAttnWeights ?? true, boolean);
    const shown = options.averageAttnWeights === false ? weights : weights.mean(1);
    return single ? shown.reshape(shown.shape.slice(1)) : shown;
  }
}

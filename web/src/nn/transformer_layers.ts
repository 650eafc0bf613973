// A transformer's layers: attention and a network of two layers, each with a residual connection and a norm, before it
// (normFirst) or after the sum (PyTorch's default).

import { gelu, relu } from '../ops.generated.js';
import { type Rule, aTensor, boolean, checkOptions, notNegative, share, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { type AttentionOptions, MultiheadAttention } from './attention.js';
import { KeyValueCache } from './attention_masks.js';
import { checkInput, checkSizes, layerRules, orNull } from './checks.js';
import { Dropout } from './dropout.js';
import type { LayerOptions } from './init.js';
import { Layer } from './layer.js';
import { Linear } from './linear.js';
import { LayerNorm } from './norm.js';

export interface TransformerLayerOptions extends LayerOptions {
  /** Features between the two linear layers; default 2048. */
  readonly dimFeedforward?: number;
  /** Default 0.1. */
  readonly dropout?: number;
  /** Between the two linear layers; default 'relu'. */
  readonly activation?: 'relu' | 'gelu' | ((x: Tensor) => Tensor);
  /** Default 1e-5. */
  readonly layerNormEps?: number;
  /** [batch, length, features], not [length, batch, features]; default false. */
  readonly batchFirst?: boolean;
  /** Norms before attention and network, not after the sums; default false. */
  readonly normFirst?: boolean;
}

const anActivation: Rule = {
  text: "'relu', 'gelu' or a function",
  test: (v) => v === 'relu' || v === 'gelu' || typeof v === 'function',
};

/** Rules of TransformerLayerOptions. */
export const transformerRules = {
  ...layerRules,
  dimFeedforward: whole(1),
  dropout: share,
  activation: anActivation,
  layerNormEps: notNegative,
  batchFirst: boolean,
  normFirst: boolean,
};

const activations = { relu, gelu: (x: Tensor) => gelu(x) };

interface Parts {
  readonly attention: () => MultiheadAttention;
  readonly linear: (inputs: number, outputs: number) => Linear;
  readonly norm: () => LayerNorm;
  readonly dropout: () => Dropout;
  readonly activation: (x: Tensor) => Tensor;
  readonly normFirst: boolean;
  readonly hidden: number;
}

// What both kinds of layer are made of.
function partsOf(name: string, dModel: number, nhead: number, options: TransformerLayerOptions): Parts {
  checkSizes(name, { dModel, nhead }, whole(1));
  checkOptions(name, options, transformerRules);
  const { dimFeedforward = 2048, dropout = 0.1, activation = 'relu', layerNormEps: eps = 1e-5 } = options;
  const { batchFirst = false, normFirst = false, bias = true, dtype = 'float32', generator } = options;
  const drawn = generator ? { generator } : {};
  return {
    attention: () => new MultiheadAttention(dModel, nhead, { dropout, bias, batchFirst, dtype, ...drawn }),
    linear: (inputs, outputs) => new Linear(inputs, outputs, { bias, dtype, ...drawn }),
    norm: () => new LayerNorm(dModel, { eps, bias, dtype }),
    dropout: () => new Dropout(dropout, drawn),
    activation: typeof activation === 'function' ? activation : activations[activation],
    normFirst,
    hidden: dimFeedforward,
  };
}

export interface EncoderOptions {
  /** MultiheadAttention's attnMask. */
  readonly srcMask?: Tensor | null | undefined;
  /** MultiheadAttention's keyPaddingMask. */
  readonly srcKeyPaddingMask?: Tensor | null | undefined;
  /** No position sees a later one; default false. */
  readonly isCausal?: boolean | undefined;
}

const mask = orNull(aTensor);
const isCache = (value: unknown): boolean => typeof value === 'object';
const cacheRule: Rule = { text: 'a cache, as newCache() gives it, or null', test: isCache };
/** Rules of EncoderOptions and a cache. */
export const encoderRules = { srcMask: mask, srcKeyPaddingMask: mask, isCausal: boolean, cache: cacheRule };

/** What an encoder layer is called with besides its input. */
export type EncoderCall = EncoderOptions & { readonly cache?: KeyValueCache | null | undefined };

/** Self-attention, then a network of two layers. With isCausal and a cache it is a decoder-only model's layer. */
export class TransformerEncoderLayer extends Layer<[src: Tensor, options?: EncoderCall]> {
  readonly selfAttn: MultiheadAttention;
  readonly linear1: Linear;
  readonly dropout: Dropout;
  readonly linear2: Linear;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly dropout1: Dropout;
  readonly dropout2: Dropout;
  readonly #activation: (x: Tensor) => Tensor;
  readonly #normFirst: boolean;

  constructor(dModel: number, nhead: number, options: TransformerLayerOptions = {}) {
    super();
    const parts = partsOf('TransformerEncoderLayer', dModel, nhead, options);
    this.selfAttn = parts.attention();
    this.linear1 = parts.linear(dModel, parts.hidden);
    this.dropout = parts.dropout();
    this.linear2 = parts.linear(parts.hidden, dModel);
    [this.norm1, this.norm2] = [parts.norm(), parts.norm()];
    [this.dropout1, this.dropout2] = [parts.dropout(), parts.dropout()];
    this.#activation = parts.activation;
    this.#normFirst = parts.normFirst;
  }

  /** [length, batch, dModel] (or batch first) to the same shape */
  forward(src: Tensor, options: EncoderCall = {}): Tensor {
    checkInput('TransformerEncoderLayer', src, 'src');
    checkOptions('TransformerEncoderLayer', options, encoderRules);
    const { srcMask: attnMask, srcKeyPaddingMask: keyPaddingMask, isCausal, cache } = options;
    const attend = (x: Tensor): Tensor =>
      this.dropout1.call(this.selfAttn.call(x, x, x, { attnMask, keyPaddingMask, isCausal, cache })[0]);
    const feed = (x: Tensor): Tensor =>
      this.dropout2.call(this.linear2.call(this.dropout.call(this.#activation(this.linear1.call(x)))));
    if (this.#normFirst) {
      const x = src.add(attend(this.norm1.call(src)));
      return x.add(feed(this.norm2.call(x)));
    }
    const x = this.norm1.call(src.add(attend(src)));
    return this.norm2.call(x.add(feed(x)));
  }

  /** What a layer remembers between calls that decode token by token. */
  newCache(): KeyValueCache {
    return new KeyValueCache();
  }
}

export interface DecoderOptions {
  readonly tgtMask?: Tensor | null | undefined;
  readonly memoryMask?: Tensor | null | undefined;
  readonly tgtKeyPaddingMask?: Tensor | null | undefined;
  readonly memoryKeyPaddingMask?: Tensor | null | undefined;
  /** No position of the target sees a later one; default false. */
  readonly tgtIsCausal?: boolean | undefined;
  readonly memoryIsCausal?: boolean | undefined;
}

/** Rules of DecoderOptions and a cache. */
export const decoderRules = {
  tgtMask: mask,
  memoryMask: mask,
  tgtKeyPaddingMask: mask,
  memoryKeyPaddingMask: mask,
  tgtIsCausal: boolean,
  memoryIsCausal: boolean,
  cache: cacheRule,
};

/** What a decoder's layer remembers: of the target so far, and of the memory. */
export class DecoderCache {
  readonly target = new KeyValueCache();
  readonly memory = new KeyValueCache({ fixed: true });
  dispose(): void {
    this.target.dispose();
    this.memory.dispose();
  }
}

/** What a decoder layer is called with besides its inputs. */
export type DecoderCall = DecoderOptions & { readonly cache?: DecoderCache | null | undefined };

/** Self-attention, attention to a memory, then a network of two layers. */
export class TransformerDecoderLayer extends Layer<[tgt: Tensor, memory: Tensor, options?: DecoderCall]> {
  readonly selfAttn: MultiheadAttention;
  readonly multiheadAttn: MultiheadAttention;
  readonly linear1: Linear;
  readonly dropout: Dropout;
  readonly linear2: Linear;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly norm3: LayerNorm;
  readonly dropout1: Dropout;
  readonly dropout2: Dropout;
  readonly dropout3: Dropout;
  readonly #activation: (x: Tensor) => Tensor;
  readonly #normFirst: boolean;

  constructor(dModel: number, nhead: number, options: TransformerLayerOptions = {}) {
    super();
    const parts = partsOf('TransformerDecoderLayer', dModel, nhead, options);
    [this.selfAttn, this.multiheadAttn] = [parts.attention(), parts.attention()];
    this.linear1 = parts.linear(dModel, parts.hidden);
    this.dropout = parts.dropout();
    this.linear2 = parts.linear(parts.hidden, dModel);
    [this.norm1, this.norm2, this.norm3] = [parts.norm(), parts.norm(), parts.norm()];
    [this.dropout1, this.dropout2, this.dropout3] = [parts.dropout(), parts.dropout(), parts.dropout()];
    this.#activation = parts.activation;
    this.#normFirst = parts.normFirst;
  }

  /**
   * @param tgt [length, batch, dModel] (or batch first)
   * @param memory [source length, batch, dModel], an encoder's output
   */
  forward(tgt: Tensor, memory: Tensor, options: DecoderCall = {}): Tensor {
    checkInput('TransformerDecoderLayer', tgt, 'tgt');
    checkInput('TransformerDecoderLayer', memory, 'memory');
    checkOptions('TransformerDecoderLayer', options, decoderRules);
    const { cache } = options;
    const own: AttentionOptions = {
      attnMask: options.tgtMask,
      keyPaddingMask: options.tgtKeyPaddingMask,
      isCausal: options.tgtIsCausal,
      cache: cache?.target,
    };
    const other: AttentionOptions = {
      attnMask: options.memoryMask,
      keyPaddingMask: options.memoryKeyPaddingMask,
      isCausal: options.memoryIsCausal,
      cache: cache?.memory,
    };
    const attend = (x: Tensor): Tensor => this.dropout1.call(this.selfAttn.call(x, x, x, own)[0]);
    const look = (x: Tensor): Tensor =>
      this.dropout2.call(this.multiheadAttn.call(x, memory, memory, other)[0]);
    const feed = (x: Tensor): Tensor =>
      this.dropout3.call(this.linear2.call(this.dropout.call(this.#activation(this.linear1.call(x)))));
    const { norm1, norm2, norm3 } = this;
    if (this.#normFirst) {
      let x = tgt.add(attend(norm1.call(tgt)));
      x = x.add(look(norm2.call(x)));
      return x.add(feed(norm3.call(x)));
    }
    let x = norm1.call(tgt.add(attend(tgt)));
    x = norm2.call(x.add(look(x)));
    return norm3.call(x.add(feed(x)));
  }

  /** What a layer remembers between calls that decode token by token. */
  newCache(): DecoderCache {
    return new DecoderCache();
  }
}

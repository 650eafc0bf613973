// Transformers: layers one after another, and the two halves together.

import { full } from '../create.js';
import { failure } from '../errors.js';
import { triu } from '../ops.generated.js';
import { type Rule, checkOptions, checkValue, func, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import type { KeyValueCache } from './attention_masks.js';
import { checkSizes, layerCount, orNull, stacked } from './checks.js';
import { ModuleList } from './containers.js';
import { xavierUniform_ } from './initializers.js';
import { Layer } from './layer.js';
import { LayerNorm } from './norm.js';
import { Module, checkModule } from './module.js';
import {
  type DecoderCache,
  type DecoderOptions,
  type EncoderOptions,
  TransformerDecoderLayer,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
  decoderRules,
  encoderRules,
  transformerRules,
} from './transformer_layers.js';

/** What each layer of a stack remembers between calls that decode token by token. */
export class StackCache<C extends { dispose(): void }> {
  constructor(readonly layers: readonly C[]) {}
  /** Forgets and frees what it holds. */
  dispose(): void {
    for (const layer of this.layers) layer.dispose();
  }
}

function made<L>(name: string, make: (index: number) => L, count: number): L[] {
  checkValue(name, 'make', make, {
    ...func,
    text: 'a function that makes a layer, e.g. () => new Transformer...Layer(64, 8)',
  });
  checkSizes(name, { numLayers: count }, layerCount);
  return stacked(name, count, make, (layers) => {
    for (const layer of layers) if (layer instanceof Module) layer.dispose();
  });
}

// The cache of each layer; of as many as there are.
function cachesOf<C extends { dispose(): void }>(
  name: string,
  cache: StackCache<C> | null | undefined,
  count: number,
): (C | null)[] {
  if (!cache) return new Array<null>(count).fill(null);
  if (cache.layers.length !== count)
    throw failure(name, 'argument', `the cache is of ${cache.layers.length} layers; there are ${count}`);
  return [...cache.layers];
}

const aNorm: Rule = orNull({ text: 'a module', test: (v) => typeof v === 'object' && v !== null });

/** Of a stack of transformer layers. */
export interface StackOptions {
  /** Applied to the result. */
  readonly norm?: Module | null;
}

/** What an encoder is called with besides its input. */
export type EncoderStackCall = EncoderOptions & {
  readonly cache?: StackCache<KeyValueCache> | null | undefined;
};

/** Encoder layers one after another. */
export class TransformerEncoder extends Layer<[src: Tensor, options?: EncoderStackCall]> {
  readonly layers: ModuleList<TransformerEncoderLayer>;
  readonly norm: Module | null;

  /** @param make gives each layer, e.g. `() => new TransformerEncoderLayer(64, 8)` */
  constructor(
    make: (index: number) => TransformerEncoderLayer,
    numLayers: number,
    options: StackOptions = {},
  ) {
    super();
    checkOptions('TransformerEncoder', options, { norm: aNorm });
    this.layers = new ModuleList(made('TransformerEncoder', make, numLayers));
    this.norm = options.norm ?? null;
    if (this.norm) checkModule('TransformerEncoder', 'norm', this.norm);
  }

  /** [length, batch, dModel] (or batch first) to the same shape */
  forward(src: Tensor, options: EncoderStackCall = {}): Tensor {
    checkOptions('TransformerEncoder', options, encoderRules);
    const { cache, ...rest } = options;
    const caches = cachesOf('TransformerEncoder', cache, this.layers.length);
    let x = src;
    [...this.layers].forEach((layer, i) => {
      x = layer.call(x, { ...rest, cache: caches[i] });
    });
    return this.norm ? this.norm.call(x) : x;
  }

  /** For decoding token by token with isCausal, in noGrad; to be disposed. */
  newCache(): StackCache<KeyValueCache> {
    return new StackCache(Array.from(this.layers, (layer) => layer.newCache()));
  }
}

/** What a decoder is called with besides its inputs. */
export type DecoderStackCall = DecoderOptions & {
  readonly cache?: StackCache<DecoderCache> | null | undefined;
};

/** Decoder layers one after another. */
export class TransformerDecoder extends Layer<[tgt: Tensor, memory: Tensor, options?: DecoderStackCall]> {
  readonly layers: ModuleList<TransformerDecoderLayer>;
  readonly norm: Module | null;

  /** @param make gives each layer, e.g. `() => new TransformerDecoderLayer(64, 8)` */
  constructor(
    make: (index: number) => TransformerDecoderLayer,
    numLayers: number,
    options: StackOptions = {},
  ) {
    super();
    checkOptions('TransformerDecoder', options, { norm: aNorm });
    this.layers = new ModuleList(made('TransformerDecoder', make, numLayers));
    this.norm = options.norm ?? null;
    if (this.norm) checkModule('TransformerDecoder', 'norm', this.norm);
  }

  /** tgt [length, batch, dModel] and memory [source length, batch, dModel] (or batch first) to tgt's shape */
  forward(tgt: Tensor, memory: Tensor, options: DecoderStackCall = {}): Tensor {
    checkOptions('TransformerDecoder', options, decoderRules);
    const { cache, ...rest } = options;
    const caches = cachesOf('TransformerDecoder', cache, this.layers.length);
    let x = tgt;
    [...this.layers].forEach((layer, i) => {
      x = layer.call(x, memory, { ...rest, cache: caches[i] });
    });
    return this.norm ? this.norm.call(x) : x;
  }

  /** For decoding token by token with tgtIsCausal, in noGrad; to be disposed. */
  newCache(): StackCache<DecoderCache> {
    return new StackCache(Array.from(this.layers, (layer) => layer.newCache()));
  }
}

export interface TransformerOptions extends TransformerLayerOptions {
  /** Default 512. */
  readonly dModel?: number;
  /** Default 8. */
  readonly nhead?: number;
  /** Default 6. */
  readonly numEncoderLayers?: number;
  /** Default 6. */
  readonly numDecoderLayers?: number;
}

export type TransformerCall = Omit<EncoderOptions, 'isCausal'> &
  DecoderOptions & { readonly srcIsCausal?: boolean };

/** An encoder and a decoder, each with a last norm (Vaswani et al. 2017). Weights start by xavierUniform_. */
export class Transformer extends Layer<[src: Tensor, tgt: Tensor, options?: TransformerCall]> {
  readonly encoder: TransformerEncoder;
  readonly decoder: TransformerDecoder;

  constructor(options: TransformerOptions = {}) {
    super();
    const counts = { numEncoderLayers: layerCount, numDecoderLayers: layerCount };
    const own = { dModel: whole(1), nhead: whole(1), ...counts };
    checkOptions('Transformer', options, { ...transformerRules, ...own });
    const { dModel = 512, nhead = 8, numEncoderLayers = 6, numDecoderLayers = 6, ...layer } = options;
    const { layerNormEps: eps = 1e-5, bias = true, dtype = 'float32', generator } = options;
    const norm = (): LayerNorm => new LayerNorm(dModel, { eps, bias, dtype });
    const [encoding, decoding] = [TransformerEncoderLayer, TransformerDecoderLayer];
    this.encoder = new TransformerEncoder(() => new encoding(dModel, nhead, layer), numEncoderLayers, {
      norm: norm(),
    });
    this.decoder = new TransformerDecoder(() => new decoding(dModel, nhead, layer), numDecoderLayers, {
      norm: norm(),
    });
    for (const tensor of this.parameters())
      if (tensor.ndim > 1) xavierUniform_(tensor, generator ? { generator } : {});
  }

  /** src [S, batch, dModel] and tgt [T, batch, dModel] (or batch first) to tgt's shape */
  forward(src: Tensor, tgt: Tensor, options: TransformerCall = {}): Tensor {
    const { srcMask, srcKeyPaddingMask, srcIsCausal, ...rest } = options;
    const memory = this.encoder.call(src, { srcMask, srcKeyPaddingMask, isCausal: srcIsCausal });
    return this.decoder.call(tgt, memory, rest);
  }

  /** [size, size], -Infinity above the diagonal and 0 elsewhere. */
  static generateSquareSubsequentMask(size: number): Tensor {
    checkSizes('generateSquareSubsequentMask', { size }, whole(1));
    const one = triu(full([size, size], 1), { diagonal: 1 });
    return full([size, size], 0).maskedFill(one.eq(1), -Infinity);
  }
}

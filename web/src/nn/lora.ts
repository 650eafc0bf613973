// Low-rank adaptation (Hu et al. 2021): beside a frozen weight, the product of two small ones is trained. Names and
// layouts are those of PEFT: NAME.lora_A.weight and NAME.lora_B.weight.

import { noGrad } from '../autograd.js';
import { zeros } from '../create.js';
import { failure, shown } from '../errors.js';
import { linear, matmul } from '../ops.generated.js';
import { type Rule, checkOptions, checkValue, finite, share, whole } from '../options.js';
import type { Generator } from '../random.js';
import { scope } from '../scope.js';
import { dropout } from '../stochastic.js';
import type { Tensor } from '../tensor.js';
import { generatorRules } from './checks.js';
import { ConvBase } from './conv.js';
import { fanInUniform } from './init.js';
import { Linear } from './linear.js';
import { type AnyModule, Module, checkModule, parameter } from './module.js';
import { type LoadOptions, type LoadResult, type StateDict, loadInto } from './state.js';

export interface LoraOptions {
  /** Inner size of the product, for each group of channels; default 8. */
  readonly rank?: number;
  /** The product counts alpha / rank; default: rank. */
  readonly alpha?: number;
  /** Of the product's input, in training; default 0. */
  readonly dropout?: number;
  /** Which Linear and Conv layers: a pattern of their names, or a function of name and layer. Default: all. */
  readonly target?: RegExp | ((name: string, layer: Linear | ConvBase) => boolean);
  /** Where initial values come from. */
  readonly generator?: Generator;
}

const aTarget: Rule = {
  text: 'a RegExp or a function of name and layer',
  test: (v) => v instanceof RegExp || typeof v === 'function',
};
const rules = {
  rank: whole(1),
  alpha: finite,
  dropout: share,
  target: aTarget,
  ...generatorRules,
};

class Weight extends Module<never, never> {
  readonly weight: Tensor;
  constructor(weight: Tensor) {
    super();
    this.weight = weight;
  }
  forward(): never {
    throw failure('Lora', 'argument', 'it is computed with its layer; call that');
  }
}

// A layer, its two small weights, and how both make one output.
class Adapter {
  readonly layer: Linear | ConvBase;
  readonly a: Weight;
  readonly b: Weight;
  readonly #scale: number;
  readonly #dropout: number;
  readonly #generator: Generator | undefined;
  readonly #groups: number;
  merged = false;

  constructor(layer: Linear | ConvBase, options: LoraOptions) {
    const { rank = 8, alpha = rank, generator } = options;
    const { weight } = layer;
    const dtype = weight.dtype === 'float64' ? 'float64' : 'float32';
    const [outputs = 0, inputs = 0, ...kernel] = weight.shape;
    this.layer = layer;
    this.#scale = alpha / rank;
    this.#dropout = options.dropout ?? 0;
    this.#generator = generator;
    this.#groups = layer instanceof ConvBase ? layer.options.groups : 1;
    const fanIn = kernel.reduce((product, size) => product * size, inputs);
    const drawn = generator ? ({ dtype, generator } as const) : ({ dtype } as const);
    // The product begins at zero.
    this.a = new Weight(fanInUniform([rank * this.#groups, inputs, ...kernel], fanIn, drawn));
    this.b = new Weight(parameter(zeros([outputs, rank, ...kernel.map(() => 1)], { dtype })));
    layer.register('lora_A', this.a);
    layer.register('lora_B', this.b);
    Object.defineProperty(layer, 'forward', { value: (x: Tensor) => this.#forward(x), configurable: true });
  }

  #forward(x: Tensor): Tensor {
    const { layer } = this;
    const base = plainForward(layer, x);
    if (this.merged) return base;
    const p = layer.training ? this.#dropout : 0;
    const input = p > 0 ? dropout(x, p, { generator: this.#generator }) : x;
    return base.add(this.#product(input).mul(this.#scale));
  }

  #product(x: Tensor): Tensor {
    const { layer } = this;
    const [a, b] = [this.a.weight, this.b.weight];
    if (layer instanceof Linear) return linear(linear(x, a), b);
    return layer.lowRank(x, a, b);
  }

  /** What the product adds to the weight, scaled. */
  delta(): Tensor {
    const { shape } = this.layer.weight;
    const rank = this.b.weight.shape[1] ?? 1;
    const groups = this.#groups;
    const b = this.b.weight.reshape([groups, (shape[0] ?? 0) / groups, rank]);
    const a = this.a.weight.reshape([groups, rank, -1]);
    return matmul(b, a).mul(this.#scale).reshape(shape);
  }

  remove(): void {
    const { layer } = this;
    layer.unregister('lora_A');
    layer.unregister('lora_B');
    Reflect.deleteProperty(layer, 'forward');
    this.a.dispose();
    this.b.dispose();
  }
}

// The class's forward, which the instance's own hides.
const plainForward = (layer: Linear | ConvBase, x: Tensor): Tensor =>
  (Object.getPrototypeOf(layer) as Linear | ConvBase).forward.call(layer, x);

/** Adapters in a network. Only their parameters are trained. */
export class Lora {
  readonly #module: AnyModule;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #trained: ReadonlySet<Tensor>;

  constructor(module: AnyModule, adapters: ReadonlyMap<string, Adapter>, trained: ReadonlySet<Tensor>) {
    this.#module = module;
    this.#adapters = adapters;
    this.#trained = trained;
  }

  /** Names of the adapted layers. */
  get layers(): string[] {
    return [...this.#adapters.keys()];
  }
  /** What there is to train, for an optimizer. */
  parameters(): Tensor[] {
    return Array.from(this.namedParameters(), ([, tensor]) => tensor);
  }
  *namedParameters(): IterableIterator<[string, Tensor]> {
    for (const [name, { a, b }] of this.#adapters) {
      yield [`${name === '' ? '' : `${name}.`}lora_A.weight`, a.weight];
      yield [`${name === '' ? '' : `${name}.`}lora_B.weight`, b.weight];
    }
  }

  /** The live adapters alone, by name. */
  stateDict(): StateDict {
    return Object.fromEntries(this.namedParameters());
  }
  /** Copies values into the adapters; as Module.loadStateDict. @throws OmnigradError where they are merged */
  loadStateDict(dict: Readonly<StateDict>, options: LoadOptions = {}): LoadResult {
    if (this.merged)
      throw failure('Lora', 'order', 'the adapters are merged; unmerge() before loading others');
    return loadInto(this.stateDict(), dict, options);
  }

  /** Whether the products are part of the weights. */
  get merged(): boolean {
    return [...this.#adapters.values()].some(({ merged }) => merged);
  }
  /** Adds the products to the weights, so that a call costs what it did without them. Train after `unmerge`. */
  merge(): this {
    return this.#shift(true);
  }
  /** Takes the products out of the weights again (up to rounding). */
  unmerge(): this {
    return this.#shift(false);
  }
  #shift(merge: boolean): this {
    for (const adapter of this.#adapters.values()) {
      if (adapter.merged === merge) continue;
      const { weight } = adapter.layer;
      noGrad(() => {
        scope(() => {
          weight.copy_(merge ? weight.add(adapter.delta()) : weight.sub(adapter.delta()));
        });
      });
      adapter.merged = merge;
    }
    return this;
  }

  /** Frees the adapters; the network is as it was, or as merged, and trains what it trained. */
  remove(): void {
    for (const adapter of this.#adapters.values()) adapter.remove();
    for (const tensor of this.#module.parameters()) if (this.#trained.has(tensor)) tensor.requiresGrad = true;
  }
}

/**
 * Freezes a network and puts an adapter beside its Linear and Conv layers. Their forward becomes
 * `forward(x) + alpha / rank * B(A(x))`; B begins at zero, so that nothing changes at first.
 *
 * @returns the adapters: `new AdamW(lora.parameters())` trains them
 * @throws OmnigradError if no layer is a target, or one has adapters already
 */
export function applyLora(module: AnyModule, options: LoraOptions = {}): Lora {
  checkModule('applyLora', 'module', module);
  checkOptions('applyLora', options, rules);
  const { target = () => true } = options;
  const layers: [string, Linear | ConvBase][] = [];
  for (const [name, layer] of module.namedModules()) {
    if (!(layer instanceof Linear) && !(layer instanceof ConvBase)) continue;
    const chosen: unknown = target instanceof RegExp ? name.search(target) >= 0 : target(name, layer);
    checkValue('applyLora', `target('${name}')`, chosen, {
      text: 'true or false',
      test: (v) => typeof v === 'boolean',
    });
    if (chosen !== true) continue;
    if (Object.hasOwn(layer, 'forward'))
      throw failure('applyLora', 'argument', `'${name}' has an adapter; remove() that first`);
    layers.push([name, layer]);
  }
  if (layers.length === 0) {
    const text = `no Linear or Conv layer is a target: ${target instanceof RegExp ? String(target) : shown(target)}`;
    throw failure('applyLora', 'option', text);
  }
  const trained = new Set(module.parameters().filter((tensor) => tensor.requiresGrad));
  module.requiresGrad_(false);
  const adapters = new Map(layers.map(([name, layer]) => [name, new Adapter(layer, options)]));
  return new Lora(module, adapters, trained);
}

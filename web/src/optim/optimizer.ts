// What all optimizers share: groups of parameters with their options, state by parameter, zeroGrad, and minimize. The
// update itself is each one's, most often a fused op of the core.

import { backward, enableGrad, noGrad } from '../autograd.js';
import { zerosLike } from '../create.js';
import { isFloating } from '../dtype.js';
import { failure, shown } from '../errors.js';
import {
  type Rule,
  anything,
  belowOne,
  boolean,
  checkOptions,
  checkValue,
  either,
  finite,
  func,
  items,
  listOf,
  notNegative,
  oneOf,
  share,
  whole,
} from '../options.js';
import { keep, scope } from '../scope.js';
import { Tensor } from '../tensor.js';
import { clipGradNorm, clipGradValue } from './clip.js';
import { type OptimizerState, type TorchOptimizerState, stateOf } from './state.js';
import {
  type LossResult,
  type MinimizeOptions,
  type Minimized,
  evaluate,
  lossValue,
  minimizeRules,
  minimized,
} from './loss.js';

/** Options as an optimizer holds them: all there, and settable between steps. */
export type Settings<O> = { -readonly [K in keyof O]-?: O[K] };

/** Parameters with options of their own; what is absent is as the optimizer's. */
export type GroupOptions<O> = O & { readonly params: Iterable<Tensor> };

/** Parameters, or groups of them. */
export type Params<O> = Iterable<Tensor> | Iterable<GroupOptions<O>>;

/** A group of parameters as an optimizer holds it. */
export interface ParamGroup<O> {
  readonly params: readonly Tensor[];
  readonly options: Settings<O>;
  /** The rate that schedules start from; set by the first of them. */
  initialLr?: number;
}

/** A parameter that has a gradient, and its number. */
export interface Active {
  readonly index: number;
  readonly param: Tensor;
  readonly grad: Tensor;
}

/** What is kept of a parameter: how many steps it took, and tensors that no scope frees. */
export interface ParamState {
  step: number;
  readonly tensors: Map<string, Tensor>;
}

const pair = (text: string, test: (a: number, b: number) => boolean): Rule => ({
  text,
  test: (v) => listOf(finite, 2).test(v) && test(...(v as [number, number])),
});

// Options that are more than their default tells: a number is finite and not negative, a list has as many decays.
const rules: Readonly<Record<string, Rule>> = {
  rho: share,
  alpha: share,
  etas: pair(
    '[down, up], down above 0 and below 1, up above 1',
    (down, up) => 0 < down && down < 1 && up > 1,
  ),
  stepSizes: pair('[least, largest], numbers above 0, least not above largest', (a, b) => 0 < a && a <= b),
  nsCoefficients: listOf(finite, 3),
  nsSteps: whole(1, 100),
  adjustLrFn: oneOf('original', 'matchRmsAdamw'),
  maxIter: whole(1),
  maxEval: either(whole(1), oneOf(null)),
  historySize: whole(1),
  lineSearchFn: oneOf('strongWolfe', null),
};

function ruleOf(name: string, normal: unknown): Rule {
  if (rules[name]) return rules[name];
  if (typeof normal === 'boolean') return boolean;
  return Array.isArray(normal) ? listOf(belowOne, normal.length) : notNegative;
}

/** Base of the optimizers. */
export abstract class Optimizer<O extends { readonly lr?: number } = { readonly lr?: number }> {
  readonly paramGroups: ParamGroup<O>[] = [];
  readonly #name: string;
  readonly #defaults: Settings<O>;
  readonly #rules: Readonly<Record<string, Rule>>;
  readonly #state = new Map<number, ParamState>();
  #waiting = 0; // calls of minimize whose gradients wait for a step

  /** @param params leaves that require grad, e.g. `net.parameters()`, or groups of them with options */
  protected constructor(name: string, params: Params<O>, defaults: Settings<O>, options: O) {
    this.#name = name;
    this.#rules = Object.fromEntries(
      Object.entries(defaults).map(([key, value]) => [key, ruleOf(key, value)]),
    );
    this.#defaults = this.#settings(defaults, options);
    const list = this.#listed(params) as (Tensor | GroupOptions<O>)[];
    if (list.length === 0) throw failure(name, 'argument', 'there are no parameters to optimise');
    const isGroup = (item: Tensor | GroupOptions<O>): item is GroupOptions<O> =>
      typeof item === 'object' && !(item instanceof Tensor) && 'params' in item;
    if (list.every(isGroup)) for (const group of list) this.addParamGroup(group);
    else this.addParamGroup({ params: list as Tensor[] } as unknown as GroupOptions<O>);
  }

  #listed(params: unknown): unknown[] {
    const rule = 'a list of tensors, e.g. net.parameters(), or of groups { params, ...options }';
    return items(this.#name, 'params', params, rule);
  }

  /** Adds parameters, with options of their own. */
  addParamGroup(group: GroupOptions<O>): void {
    checkOptions(this.#name, group, { ...this.#rules, params: anything });
    const { params, ...own } = group;
    const known = new Set(this.params);
    const list = this.#listed(params) as Tensor[];
    const from = this.params.length;
    list.forEach((p: unknown, i) => {
      const where = `parameter ${from + i}`;
      // One that requires no grad is frozen: it is passed over until it has a gradient.
      if (!(p instanceof Tensor) || !p.isLeaf || !isFloating(p.dtype))
        throw failure(this.#name, 'argument', `${where} is ${whatIs(p)}; it must be a floating leaf tensor`);
      if (known.has(p)) throw failure(this.#name, 'argument', `${where} is there twice`);
      known.add(p);
    });
    if (list.length === 0) throw failure(this.#name, 'argument', 'a group has no parameters');
    const options = this.#settings(this.#defaults, own as unknown as O);
    this.paramGroups.push({ params: list, options });
  }

  // The defaults with what is given, checked.
  #settings(defaults: Settings<O>, given: O): Settings<O> {
    checkOptions(this.#name, given, this.#rules);
    const settings: Record<string, unknown> = { ...defaults };
    for (const [key, value] of Object.entries(given as object))
      if (value !== undefined) settings[key] = value;
    this.#check(settings);
    return settings as Settings<O>;
  }

  #check(settings: object): void {
    checkOptions(this.#name, settings, this.#rules);
    const { nesterov, momentum, dampening = 0 } = settings as Record<string, unknown>;
    if (nesterov === true && (momentum === 0 || dampening !== 0))
      throw failure(this.#name, 'option', 'nesterov is true; it needs momentum above 0 and dampening 0');
  }

  /** All parameters, group by group. */
  get params(): readonly Tensor[] {
    return this.paramGroups.flatMap(({ params }) => params);
  }

  /** The rate of the first group; setting it sets every group's. */
  get lr(): number {
    return this.paramGroups[0]?.options.lr ?? NaN;
  }
  set lr(rate: number) {
    checkValue(this.#name, 'lr', rate, notNegative);
    for (const { options } of this.paramGroups) (options as { lr: number }).lr = rate;
  }

  /** Updates every parameter that has a gradient. */
  step(): void;
  /**
   * The same, of the gradients that the closure makes.
   *
   * @param closure zeroes the gradients, computes the loss, calls backward and returns the loss; run first
   * @returns the closure's loss
   */
  step(closure: () => Tensor): number;
  step(closure?: () => Tensor): number | undefined {
    if (closure !== undefined) checkValue(this.#name, 'closure', closure, func);
    for (const { options } of this.paramGroups) this.#check(options);
    this.#waiting = 0;
    return scope(() => {
      const loss = closure ? lossValue(this.#name, enableGrad(closure)) : undefined;
      noGrad(() => {
        let first = 0;
        for (const { params, options } of this.paramGroups) {
          for (const [step, active] of this.#advance(params, first)) this.update(options, active, step);
          first += params.length;
        }
      });
      return loss;
    });
  }

  // Counts a step for each parameter with a gradient. Those that lacked one at times are behind, so that a step goes in
  // batches of one count, and of one dtype.
  #advance(params: readonly Tensor[], first: number): [number, Active[]][] {
    const batches = new Map<string, [number, Active[]]>();
    params.forEach((param, i) => {
      const grad = param.grad;
      if (!grad) return;
      const state = this.stateOf(first + i);
      const step = ++state.step;
      const key = `${step} ${param.dtype}`;
      let batch = batches.get(key);
      if (!batch) batches.set(key, (batch = [step, []]));
      batch[1].push({ index: first + i, param, grad });
    });
    return [...batches.values()];
  }

  /** All that is kept of a parameter. */
  protected stateOf(index: number): ParamState {
    let state = this.#state.get(index);
    if (!state) this.#state.set(index, (state = { step: 0, tensors: new Map() }));
    return state;
  }

  /** The update of those parameters; runs in a scope, without recording. `step` counts from 1. */
  protected abstract update(options: Settings<O>, active: readonly Active[], step: number): void;

  /** The state of that name of each parameter, made when first asked for (zeros); no scope frees it. */
  protected state(
    active: readonly Active[],
    name: string,
    make: (param: Tensor) => Tensor = zerosLike,
  ): Tensor[] {
    return active.map(({ index, param }) => {
      const { tensors } = this.stateOf(index);
      let tensor = tensors.get(name);
      if (!tensor) tensors.set(name, (tensor = keep(make(param))));
      return tensor;
    });
  }

  /** Forgets the gradients. */
  zeroGrad(): void {
    this.#waiting = 0;
    for (const param of this.params) param.grad = null;
  }

  /**
   * One training step: zeroGrad, the function, backward, step, in a scope of its own.
   *
   * @param fn gives the loss (one element), or an object with it as `loss`
   * @returns the loss as a number; or the object with loss as a number, its other tensors kept for the caller's scope
   */
  minimize<R extends LossResult>(fn: () => R, options: MinimizeOptions = {}): Minimized<R> {
    checkOptions('minimize', options, minimizeRules);
    const { clipNorm, clipValue, accumulate = false } = options;
    const parts = typeof accumulate === 'number' ? accumulate : 1;
    return scope(() => {
      if (this.#waiting === 0) this.zeroGrad();
      const { result, loss, value } = evaluate(fn);
      backward(parts === 1 ? loss : loss.mul(1 / parts));
      this.#waiting++;
      if (accumulate !== true && this.#waiting >= parts) {
        if (clipNorm !== undefined) clipGradNorm(this.params, clipNorm);
        if (clipValue !== undefined) clipGradValue(this.params, clipValue);
        this.step();
      }
      return minimized(result, value);
    });
  }

  /** The live state (not copies) and the groups' options, as `loadStateDict` takes them. */
  stateDict(): OptimizerState {
    const state: Record<string, Record<string, Tensor | number>> = {};
    for (const [index, { step, tensors }] of this.#state)
      state[index] = { step, ...Object.fromEntries(tensors) };
    let first = 0;
    const paramGroups = this.paramGroups.map(({ params, options, initialLr }) => {
      const numbers = params.map((_, i) => first + i);
      first += params.length;
      return { ...options, ...(initialLr === undefined ? {} : { initialLr }), params: numbers };
    });
    return { state, paramGroups };
  }

  /**
   * Copies a state and its options into this optimizer; PyTorch's own is taken as well.
   *
   * @throws OmnigradError before anything is copied, if groups or shapes differ
   */
  loadStateDict(dict: OptimizerState | TorchOptimizerState): void {
    const { state, paramGroups } = stateOf(`${this.#name}.loadStateDict`, dict, Object.keys(this.#rules));
    const wrong = (text: string): Error => failure(`${this.#name}.loadStateDict`, 'state-dict', text);
    const sizes = (groups: readonly { params?: unknown }[]): string =>
      groups.map(({ params }) => (params as readonly unknown[]).length).join(', ');
    if (sizes(paramGroups) !== sizes(this.paramGroups)) {
      throw wrong(`groups of ${sizes(paramGroups)} parameters; the optimizer has ${sizes(this.paramGroups)}`);
    }
    const params = this.params;
    for (const [index, entries] of Object.entries(state)) {
      const param = params[Number(index)];
      if (!param) throw wrong(`there is no parameter ${index}`);
      for (const [name, value] of Object.entries(entries)) {
        if (!(value instanceof Tensor) || this.fits(value, param)) continue;
        const shapes = `is [${value.shape.join(', ')}] but the parameter [${param.shape.join(', ')}]`;
        throw wrong(`'${name}' of parameter ${index} ${shapes}`);
      }
    }
    this.paramGroups.forEach((group, i) => {
      const { params: _, initialLr, ...options } = paramGroups[i] as Record<string, unknown>;
      Object.assign(group.options, this.#settings(group.options, options as unknown as O));
      if (typeof initialLr === 'number') group.initialLr = initialLr;
    });
    this.#forget();
    noGrad(() => {
      for (const [index, entries] of Object.entries(state)) {
        const own = this.stateOf(Number(index));
        const dtype = params[Number(index)]?.dtype ?? 'float32';
        for (const [name, value] of Object.entries(entries)) {
          if (value instanceof Tensor)
            own.tensors.set(name, keep(value.dtype === dtype ? value.clone() : value.cast(dtype)));
          else if (name === 'step') own.step = value;
        }
      }
    });
  }

  /** Whether a state that is loaded may be that parameter's. */
  protected fits(value: Tensor, param: Tensor): boolean {
    return value.shape.join() === param.shape.join();
  }

  #forget(): void {
    for (const { tensors } of this.#state.values()) for (const tensor of tensors.values()) tensor.dispose();
    this.#state.clear();
  }

  /** Frees the state. */
  dispose(): void {
    this.#forget();
  }
}

export const paramsOf = (active: readonly Active[]): Tensor[] => active.map(({ param }) => param);
export const gradsOf = (active: readonly Active[]): Tensor[] => active.map(({ grad }) => grad);

const whatIs = (p: unknown): string =>
  p instanceof Tensor ? (p.isLeaf ? `of ${p.dtype}` : 'computed, not a leaf') : shown(p);

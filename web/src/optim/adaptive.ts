// The elementwise optimizers beside SGD and Adam: each names a rule of the core's one fused step, its options, and the
// states it keeps, which are PyTorch's.

import { full } from '../create.js';
import { type AdaptiveStepOptions, adaptiveStep } from '../ops.generated.js';
import type { Tensor } from '../tensor.js';
import { type Active, Optimizer, type Params, type Settings, gradsOf, paramsOf } from './optimizer.js';

interface Common {
  /** Rate. */
  readonly lr?: number;
  /** L2 penalty; default 0. */
  readonly weightDecay?: number;
  /** Go up instead of down. */
  readonly maximize?: boolean;
}
interface Eps {
  /** Added to what is divided by. */
  readonly eps?: number;
}
interface Betas extends Eps {
  /** Decays of the running means of gradients and of their squares; default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
}
interface Decoupled {
  /** Let weightDecay shrink the parameters, as AdamW's, instead of an L2 penalty. */
  readonly decoupledWeightDecay?: boolean;
}

const common = { weightDecay: 0, maximize: false };
const betas = [0.9, 0.999] as const;

function run(active: readonly Active[], first: Tensor[], options: AdaptiveStepOptions): void {
  adaptiveStep(paramsOf(active), gradsOf(active), first, options);
}

export interface AdagradOptions extends Common, Eps {
  /** lr / (1 + (step - 1) lrDecay); default 0. */
  readonly lrDecay?: number;
  /** What the sums of squares start from; default 0. */
  readonly initialAccumulatorValue?: number;
}
/** Divides by the root of the sum of all squares (Duchi et al. 2011). Default rate 0.01, eps 1e-10. */
export class Adagrad extends Optimizer<AdagradOptions> {
  constructor(params: Params<AdagradOptions>, options: AdagradOptions = {}) {
    const plain = { ...common, lr: 0.01, lrDecay: 0, initialAccumulatorValue: 0, eps: 1e-10 };
    super('Adagrad', params, plain, options);
  }
  protected update(options: Settings<AdagradOptions>, active: readonly Active[], step: number): void {
    const { initialAccumulatorValue: value, ...rest } = options;
    const sums = this.state(active, 'sum', (p) => full(p.shape, value, { dtype: p.dtype }));
    run(active, sums, { ...rest, rule: 'adagrad', step });
  }
}

export interface AdadeltaOptions extends Common, Eps {
  /** Decay of the running means of squares; default 0.9. */
  readonly rho?: number;
}
/** Steps in the unit of the parameters (Zeiler 2012). Default rate 1, eps 1e-6. */
export class Adadelta extends Optimizer<AdadeltaOptions> {
  constructor(params: Params<AdadeltaOptions>, options: AdadeltaOptions = {}) {
    super('Adadelta', params, { ...common, lr: 1, rho: 0.9, eps: 1e-6 }, options);
  }
  protected update(options: Settings<AdadeltaOptions>, active: readonly Active[], step: number): void {
    const { rho: beta1, ...rest } = options;
    const second = this.state(active, 'accDelta');
    run(active, this.state(active, 'squareAvg'), { ...rest, rule: 'adadelta', beta1, second, step });
  }
}

export interface AdamaxOptions extends Common, Betas {}
/** Adam by the largest size in place of squares (Kingma, Ba 2014). Default rate 2e-3, eps 1e-8. */
export class Adamax extends Optimizer<AdamaxOptions> {
  constructor(params: Params<AdamaxOptions>, options: AdamaxOptions = {}) {
    super('Adamax', params, { ...common, lr: 2e-3, betas, eps: 1e-8 }, options);
  }
  protected update(options: Settings<AdamaxOptions>, active: readonly Active[], step: number): void {
    const { betas: both, ...rest } = options;
    const second = this.state(active, 'expInf');
    const all = { ...rest, beta1: both[0], beta2: both[1], second, step };
    run(active, this.state(active, 'expAvg'), { ...all, rule: 'adamax' });
  }
}

export interface NAdamOptions extends Common, Betas, Decoupled {
  /** Of the momentum's schedule; default 4e-3. */
  readonly momentumDecay?: number;
}
/** Adam with Nesterov's momentum (Dozat 2016). Default rate 2e-3, eps 1e-8. */
export class NAdam extends Optimizer<NAdamOptions> {
  constructor(params: Params<NAdamOptions>, options: NAdamOptions = {}) {
    const plain = { ...common, lr: 2e-3, betas, eps: 1e-8, momentumDecay: 4e-3, decoupledWeightDecay: false };
    super('NAdam', params, plain, options);
  }
  protected update(options: Settings<NAdamOptions>, active: readonly Active[], step: number): void {
    const { betas: both, decoupledWeightDecay: decoupled, ...rest } = options;
    const second = this.state(active, 'expAvgSq');
    const all = { ...rest, beta1: both[0], beta2: both[1], decoupled, second, step };
    run(active, this.state(active, 'expAvg'), { ...all, rule: 'nadam' });
  }
}

export interface RAdamOptions extends Common, Betas, Decoupled {}
/** Adam that waits until its squares are known well enough (Liu et al. 2019). Default rate 1e-3, eps 1e-8. */
export class RAdam extends Optimizer<RAdamOptions> {
  constructor(params: Params<RAdamOptions>, options: RAdamOptions = {}) {
    super('RAdam', params, { ...common, lr: 1e-3, betas, eps: 1e-8, decoupledWeightDecay: false }, options);
  }
  protected update(options: Settings<RAdamOptions>, active: readonly Active[], step: number): void {
    const { betas: both, decoupledWeightDecay: decoupled, ...rest } = options;
    const second = this.state(active, 'expAvgSq');
    const all = { ...rest, beta1: both[0], beta2: both[1], decoupled, second, step };
    run(active, this.state(active, 'expAvg'), { ...all, rule: 'radam' });
  }
}

export interface RMSpropOptions extends Common, Eps {
  /** Decay of the running mean of squares; default 0.99. */
  readonly alpha?: number;
  /** Share of the last step; default 0. */
  readonly momentum?: number;
  /** Divide by the deviation, not the root mean square. */
  readonly centered?: boolean;
}
/** Divides by the root mean square of gradients (Hinton 2012). Default rate 0.01, eps 1e-8. */
export class RMSprop extends Optimizer<RMSpropOptions> {
  constructor(params: Params<RMSpropOptions>, options: RMSpropOptions = {}) {
    super(
      'RMSprop',
      params,
      { ...common, lr: 0.01, alpha: 0.99, eps: 1e-8, momentum: 0, centered: false },
      options,
    );
  }
  protected update(options: Settings<RMSpropOptions>, active: readonly Active[], step: number): void {
    const { alpha: beta1, ...rest } = options;
    const second = options.centered ? this.state(active, 'gradAvg') : null;
    const third = options.momentum === 0 ? null : this.state(active, 'momentumBuffer');
    run(active, this.state(active, 'squareAvg'), { ...rest, rule: 'rmsprop', beta1, second, third, step });
  }
}

export interface LionOptions extends Common {
  /** Of the step, and of the running mean of gradients; default [0.9, 0.99]. */
  readonly betas?: readonly [number, number];
}
/** The sign of a momentum; weightDecay shrinks the parameters (Chen et al. 2023). Default rate 1e-4. */
export class Lion extends Optimizer<LionOptions> {
  constructor(params: Params<LionOptions>, options: LionOptions = {}) {
    super('Lion', params, { ...common, lr: 1e-4, betas: [0.9, 0.99] as const }, options);
  }
  protected update(options: Settings<LionOptions>, active: readonly Active[], step: number): void {
    const { betas: both, ...rest } = options;
    const all = { ...rest, beta1: both[0], beta2: both[1], decoupled: true, step };
    run(active, this.state(active, 'expAvg'), { ...all, rule: 'lion' });
  }
}

export interface AdanOptions extends Common, Eps {
  /** Decays of the means of gradients, of their differences, and of squares; default [0.98, 0.92, 0.99]. */
  readonly betas?: readonly [number, number, number];
  /** Shrink the parameters before the step (as AdamW) in place of after it; default false. */
  readonly noProx?: boolean;
}
/** Nesterov's momentum by differences of gradients (Xie et al. 2022). Default rate 1e-3, eps 1e-8. */
export class Adan extends Optimizer<AdanOptions> {
  constructor(params: Params<AdanOptions>, options: AdanOptions = {}) {
    super(
      'Adan',
      params,
      { ...common, lr: 1e-3, betas: [0.98, 0.92, 0.99] as const, eps: 1e-8, noProx: false },
      options,
    );
  }
  protected update(options: Settings<AdanOptions>, active: readonly Active[], step: number): void {
    const { betas: three, noProx: decoupled, ...rest } = options;
    run(active, this.state(active, 'expAvg'), {
      ...rest,
      rule: 'adan',
      beta1: three[0],
      beta2: three[1],
      beta3: three[2],
      decoupled,
      proximal: !decoupled,
      second: this.state(active, 'expAvgDiff'),
      third: this.state(active, 'expAvgSq'),
      fourth: this.state(active, 'previousGrad'),
      step,
    });
  }
}

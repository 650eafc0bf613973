// Schedules of one formula, as PyTorch's; Noam's is Burn's.

import {
  checkOptions,
  checkValue,
  either,
  finite,
  func,
  instance,
  listOf,
  manyOf,
  required,
  whole,
} from '../options.js';
import { type AnyOptimizer, Schedule, alongCosine, perGroup, power } from './schedule.js';

/** lr * gamma every `stepSize` steps; gamma is 0.1 by default. */
export class StepLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: { readonly stepSize: number; readonly gamma?: number }) {
    checkOptions('StepLR', options, { stepSize: required(whole(1)), gamma: finite });
    const { stepSize, gamma = 0.1 } = options;
    super(optimizer, (step, base) => base * power(gamma, Math.floor(step / stepSize)));
  }
}

/** lr * gamma at each milestone; gamma is 0.1 by default. */
export class MultiStepLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    options: { readonly milestones: readonly number[]; readonly gamma?: number },
  ) {
    checkOptions('MultiStepLR', options, { milestones: required(manyOf(whole())), gamma: finite });
    const { milestones, gamma = 0.1 } = options;
    super(optimizer, (step, base) => base * power(gamma, milestones.filter((m) => m <= step).length));
  }
}

/** lr * gamma at every step. */
export class ExponentialLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: { readonly gamma: number }) {
    checkOptions('ExponentialLR', options, { gamma: required(finite) });
    const { gamma } = options;
    super(optimizer, (step, base) => base * power(gamma, step));
  }
}

/** Half a cosine from lr to `etaMin` (default 0) in `TMax` steps, then back, and so on. */
export class CosineAnnealingLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: { readonly TMax: number; readonly etaMin?: number }) {
    checkOptions('CosineAnnealingLR', options, { TMax: required(whole(1)), etaMin: finite });
    const { TMax, etaMin = 0 } = options;
    super(optimizer, (step, base) => alongCosine(base, etaMin, step / TMax));
  }
}

/** Half a cosine from lr to `etaMin` (default 0), again and again: in `T0` steps, then each `TMult` (1) times as long. */
export class CosineAnnealingWarmRestarts extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    options: { readonly T0: number; readonly TMult?: number; readonly etaMin?: number },
  ) {
    checkOptions('CosineAnnealingWarmRestarts', options, {
      T0: required(whole(1)),
      TMult: whole(1),
      etaMin: finite,
    });
    const { T0, TMult = 1, etaMin = 0 } = options;
    super(optimizer, (step, base) => {
      let [at, length] = [TMult === 1 ? step % T0 : step, T0];
      for (; at >= length; length *= TMult) at -= length;
      return alongCosine(base, etaMin, at / length);
    });
  }
}

/** From lr * `startFactor` (default 1/3) to lr * `endFactor` (1) in `totalIters` (5) steps, evenly. */
export class LinearLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    options: {
      readonly startFactor?: number;
      readonly endFactor?: number;
      readonly totalIters?: number;
    } = {},
  ) {
    checkOptions('LinearLR', options, { startFactor: finite, endFactor: finite, totalIters: whole(1) });
    const { startFactor = 1 / 3, endFactor = 1, totalIters = 5 } = options;
    const slope = (endFactor - startFactor) / totalIters;
    super(optimizer, (step, base) => base * (startFactor + slope * Math.min(step, totalIters)));
  }
}

/** lr * `factor` (default 1/3) for `totalIters` (5) steps, then lr. */
export class ConstantLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    options: { readonly factor?: number; readonly totalIters?: number } = {},
  ) {
    checkOptions('ConstantLR', options, { factor: finite, totalIters: whole() });
    const { factor = 1 / 3, totalIters = 5 } = options;
    super(optimizer, (step, base) => (step < totalIters ? base * factor : base));
  }
}

/** lr * (1 - step / totalIters)^power, then 0; `totalIters` is 5 and `power` 1 by default. */
export class PolynomialLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    options: { readonly totalIters?: number; readonly power?: number } = {},
  ) {
    checkOptions('PolynomialLR', options, { totalIters: whole(1), power: finite });
    const { totalIters = 5, power: to = 1 } = options;
    super(optimizer, (step, base) => base * power(1 - Math.min(step, totalIters) / totalIters, to));
  }
}

/**
 * lr * modelSize^-0.5 * min(n^-0.5, n * warmup^-1.5) for step n from 1 (Vaswani et al. 2017): up for `warmup` steps
 * (default 4000), then down with the root.
 */
export class NoamLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: { readonly modelSize: number; readonly warmup?: number }) {
    checkOptions('NoamLR', options, { modelSize: required(whole(1)), warmup: whole(1) });
    const { modelSize, warmup = 4000 } = options;
    super(optimizer, (step, base) => {
      const n = step + 1;
      return (base / Math.sqrt(modelSize)) * Math.min(1 / Math.sqrt(n), n / (warmup * Math.sqrt(warmup)));
    });
  }
}

export interface LambdaOptions {
  /** Of the number of steps; one, or one a group. */
  readonly lrLambda: ((step: number) => number) | readonly ((step: number) => number)[];
}

const lambdaRules = { lrLambda: required(either(func, manyOf(func))) };

/** lr * what the function (one, or one a group) gives for the number of steps. */
export class LambdaLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: LambdaOptions) {
    checkOptions('LambdaLR', options, lambdaRules);
    const { lrLambda } = options;
    super(optimizer, (step, base, group) => base * perGroup(lrLambda, group)(step));
  }
}

/** lr * what the function (one, or one a group) gives for each step from 1 to the present one. */
export class MultiplicativeLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: LambdaOptions) {
    checkOptions('MultiplicativeLR', options, lambdaRules);
    const { lrLambda } = options;
    // A product so far by group, so that a long run does not multiply from step 1 each time.
    const known: { step: number; product: number }[] = [];
    super(optimizer, (step, base, group) => {
      let at = known[group];
      if (!at || at.step > step) known[group] = at = { step: 0, product: 1 };
      while (at.step < step) at.product *= perGroup(lrLambda, group)(++at.step);
      return base * at.product;
    });
  }
}

/** One schedule after another: each begins anew at its milestone. */
export class SequentialLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    options: { readonly schedulers: readonly Schedule[]; readonly milestones: readonly number[] },
  ) {
    checkOptions('SequentialLR', options, {
      schedulers: required(manyOf(instance(Schedule))),
      milestones: required(manyOf(whole())),
    });
    const { schedulers, milestones } = options;
    checkValue('SequentialLR', 'milestones', milestones, listOf(whole(), schedulers.length - 1));
    const at = (step: number): [Schedule, number] => {
      const passed = milestones.filter((m) => m <= step).length;
      return [schedulers[passed] as Schedule, step - (milestones[passed - 1] ?? 0)];
    };
    const rate = (step: number, base: number, group: number): number => {
      const [schedule, own] = at(step);
      return schedule.rateAt(own, group, base);
    };
    const momentum = (step: number, _: number, group: number): number | undefined => {
      const [schedule, own] = at(step);
      return schedule.momentumAt(own, group);
    };
    super(optimizer, rate, momentum);
  }
}

/** Several schedules at once: the product of their factors. */
export class ChainedScheduler extends Schedule {
  constructor(optimizer: AnyOptimizer, options: { readonly schedulers: readonly Schedule[] }) {
    checkOptions('ChainedScheduler', options, { schedulers: required(manyOf(instance(Schedule))) });
    const { schedulers } = options;
    const rate = (step: number, base: number, group: number): number =>
      base === 0 ? 0 : schedulers.reduce((lr, one) => (lr * one.rateAt(step, group, base)) / base, base);
    super(optimizer, rate, (step, _, group) =>
      schedulers.findLast((one) => one.momentumAt(step, group) !== undefined)?.momentumAt(step, group),
    );
  }
}

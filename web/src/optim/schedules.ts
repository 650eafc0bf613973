// Schedules of one formula, as PyTorch's; Noam's is Burn's.

import { type AnyOptimizer, Schedule, alongCosine, perGroup, power, whole } from './schedule.js';

/** lr * gamma every `stepSize` steps; gamma is 0.1 by default. */
export class StepLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { stepSize, gamma = 0.1 }: { readonly stepSize: number; readonly gamma?: number },
  ) {
    whole('StepLR', 'stepSize', stepSize);
    super(optimizer, (step, base) => base * power(gamma, Math.floor(step / stepSize)));
  }
}

/** lr * gamma at each milestone; gamma is 0.1 by default. */
export class MultiStepLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { milestones, gamma = 0.1 }: { readonly milestones: readonly number[]; readonly gamma?: number },
  ) {
    super(optimizer, (step, base) => base * power(gamma, milestones.filter((m) => m <= step).length));
  }
}

/** lr * gamma at every step. */
export class ExponentialLR extends Schedule {
  constructor(optimizer: AnyOptimizer, { gamma }: { readonly gamma: number }) {
    super(optimizer, (step, base) => base * power(gamma, step));
  }
}

/** Half a cosine from lr to `etaMin` (default 0) in `TMax` steps, then back, and so on. */
export class CosineAnnealingLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { TMax, etaMin = 0 }: { readonly TMax: number; readonly etaMin?: number },
  ) {
    whole('CosineAnnealingLR', 'TMax', TMax);
    super(optimizer, (step, base) => alongCosine(base, etaMin, step / TMax));
  }
}

/** Half a cosine from lr to `etaMin` (default 0), again and again: in `T0` steps, then each `TMult` (1) times as long. */
export class CosineAnnealingWarmRestarts extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { T0, TMult = 1, etaMin = 0 }: { readonly T0: number; readonly TMult?: number; readonly etaMin?: number },
  ) {
    whole('CosineAnnealingWarmRestarts', 'T0', T0);
    whole('CosineAnnealingWarmRestarts', 'TMult', TMult);
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
    const { startFactor = 1 / 3, endFactor = 1, totalIters = 5 } = options;
    whole('LinearLR', 'totalIters', totalIters);
    const slope = (endFactor - startFactor) / totalIters;
    super(optimizer, (step, base) => base * (startFactor + slope * Math.min(step, totalIters)));
  }
}

/** lr * `factor` (default 1/3) for `totalIters` (5) steps, then lr. */
export class ConstantLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { factor = 1 / 3, totalIters = 5 }: { readonly factor?: number; readonly totalIters?: number } = {},
  ) {
    whole('ConstantLR', 'totalIters', totalIters, 0);
    super(optimizer, (step, base) => (step < totalIters ? base * factor : base));
  }
}

/** lr * (1 - step / totalIters)^power, then 0; `totalIters` is 5 and `power` 1 by default. */
export class PolynomialLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { totalIters = 5, power: to = 1 }: { readonly totalIters?: number; readonly power?: number } = {},
  ) {
    whole('PolynomialLR', 'totalIters', totalIters);
    super(optimizer, (step, base) => base * power(1 - Math.min(step, totalIters) / totalIters, to));
  }
}

/**
 * lr * modelSize^-0.5 * min(n^-0.5, n * warmup^-1.5) for step n from 1 (Vaswani et al. 2017): up for `warmup` steps
 * (default 4000), then down with the root.
 */
export class NoamLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { modelSize, warmup = 4000 }: { readonly modelSize: number; readonly warmup?: number },
  ) {
    whole('NoamLR', 'modelSize', modelSize);
    whole('NoamLR', 'warmup', warmup);
    super(optimizer, (step, base) => {
      const n = step + 1;
      return (base / Math.sqrt(modelSize)) * Math.min(1 / Math.sqrt(n), n / (warmup * Math.sqrt(warmup)));
    });
  }
}

/** lr * what the function (one, or one a group) gives for the number of steps. */
export class LambdaLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    { lrLambda }: { readonly lrLambda: ((step: number) => number) | readonly ((step: number) => number)[] },
  ) {
    super(optimizer, (step, base, group) => base * perGroup(lrLambda, group)(step));
  }
}

/** One schedule after another: each begins anew at its milestone. */
export class SequentialLR extends Schedule {
  constructor(
    optimizer: AnyOptimizer,
    {
      schedulers,
      milestones,
    }: { readonly schedulers: readonly Schedule[]; readonly milestones: readonly number[] },
  ) {
    whole(
      'SequentialLR',
      'the number of schedulers less that of milestones',
      schedulers.length - milestones.length,
    );
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
  constructor(optimizer: AnyOptimizer, { schedulers }: { readonly schedulers: readonly Schedule[] }) {
    const rate = (step: number, base: number, group: number): number =>
      base === 0 ? 0 : schedulers.reduce((lr, one) => (lr * one.rateAt(step, group, base)) / base, base);
    super(optimizer, rate, (step, _, group) =>
      schedulers.findLast((one) => one.momentumAt(step, group) !== undefined)?.momentumAt(step, group),
    );
  }
}

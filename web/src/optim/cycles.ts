// Schedules that move the momentum against the rate, as PyTorch's.

import {
  atLeastZero,
  belowOne,
  boolean,
  checkOptions,
  checkValue,
  either,
  finite,
  func,
  manyOf,
  notNegative,
  oneOf,
  positive,
  required,
  share,
  whole,
} from '../options.js';
import { type AnyOptimizer, Schedule, alongCosine, perGroup, power } from './schedule.js';

export interface OneCycleOptions {
  /** The highest rate: one, or one a group. */
  readonly maxLr: number | readonly number[];
  /** Steps in all; or give epochs and stepsPerEpoch. */
  readonly totalSteps?: number;
  readonly epochs?: number;
  readonly stepsPerEpoch?: number;
  /** Share of the steps that go up; default 0.3. */
  readonly pctStart?: number;
  /** Default 'cos'. */
  readonly annealStrategy?: 'cos' | 'linear';
  /** Move the momentum (or the first beta) too, from maxMomentum to baseMomentum and back; default true. */
  readonly cycleMomentum?: boolean;
  /** Default 0.85. */
  readonly baseMomentum?: number;
  /** Default 0.95. */
  readonly maxMomentum?: number;
  /** The first rate is maxLr / divFactor; default 25. */
  readonly divFactor?: number;
  /** The last rate is the first / finalDivFactor; default 1e4. */
  readonly finalDivFactor?: number;
  /** Go down as long as up, then to the last rate; default false: all the way down at once. */
  readonly threePhase?: boolean;
}

const rates = either(notNegative, manyOf(notNegative));
const momentumRules = { cycleMomentum: boolean, baseMomentum: belowOne, maxMomentum: belowOne };
const oneCycleRules = {
  ...momentumRules,
  maxLr: required(rates),
  totalSteps: whole(1),
  epochs: whole(1),
  stepsPerEpoch: whole(1),
  pctStart: share,
  annealStrategy: oneOf('cos', 'linear'),
  divFactor: positive,
  finalDivFactor: positive,
  threePhase: boolean,
};

/** Up to `maxLr` and down to almost nothing, once (Smith, Topin 2018). The optimizer's own rate is not used. */
export class OneCycleLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: OneCycleOptions) {
    checkOptions('OneCycleLR', options, oneCycleRules);
    const { maxLr, epochs = NaN, stepsPerEpoch = NaN, pctStart = 0.3, annealStrategy = 'cos' } = options;
    const { cycleMomentum = true, baseMomentum = 0.85, maxMomentum = 0.95 } = options;
    const { divFactor = 25, finalDivFactor = 1e4, threePhase = false } = options;
    const total = options.totalSteps ?? epochs * stepsPerEpoch;
    checkValue('OneCycleLR', 'totalSteps, or epochs * stepsPerEpoch,', total, whole(1));
    const ends = [pctStart * total - 1, ...(threePhase ? [2 * pctStart * total - 2] : []), total - 1];
    const along = (values: readonly number[], step: number): number => {
      const found = ends.findIndex((end) => step <= end);
      const phase = found < 0 ? ends.length - 1 : found;
      const [from, to] = [ends[phase - 1] ?? 0, ends[phase] ?? 0];
      const share = to > from ? Math.min((step - from) / (to - from), 1) : 1;
      const [start, end] = [values[phase] ?? NaN, values[phase + 1] ?? NaN];
      return annealStrategy === 'linear' ? start + (end - start) * share : alongCosine(start, end, share);
    };
    const rate = (step: number, _: number, group: number): number => {
      const top = perGroup(maxLr, group);
      const first = top / divFactor;
      return along([first, top, ...(threePhase ? [first] : []), first / finalDivFactor], step);
    };
    const momenta = [maxMomentum, baseMomentum, maxMomentum, maxMomentum];
    super(optimizer, rate, (step) => (cycleMomentum ? along(momenta, step) : undefined));
  }
}

export interface CyclicOptions {
  /** The lowest rate: one, or one a group. */
  readonly baseLr: number | readonly number[];
  /** The highest rate: one, or one a group. */
  readonly maxLr: number | readonly number[];
  /** Steps from the lowest to the highest; default 2000. */
  readonly stepSizeUp?: number;
  /** Steps back; default as many. */
  readonly stepSizeDown?: number;
  /** Cycles of one height; of half the height of the last; or times gamma at every step. Default 'triangular'. */
  readonly mode?: 'triangular' | 'triangular2' | 'exp_range';
  /** Of 'exp_range'; default 1. */
  readonly gamma?: number;
  /** A factor of the height in place of the mode's, of the number of the cycle (from 1), or of the step. */
  readonly scaleFn?: (x: number) => number;
  /** What scaleFn is given; default 'cycle'. */
  readonly scaleMode?: 'cycle' | 'iterations';
  /** Move the momentum (or the first beta) against the rate; default true. */
  readonly cycleMomentum?: boolean;
  /** Default 0.8. */
  readonly baseMomentum?: number;
  /** Default 0.9. */
  readonly maxMomentum?: number;
}

const cyclicRules = {
  ...momentumRules,
  baseLr: required(rates),
  maxLr: required(rates),
  stepSizeUp: positive,
  stepSizeDown: atLeastZero,
  mode: oneOf('triangular', 'triangular2', 'exp_range'),
  gamma: finite,
  scaleFn: func,
  scaleMode: oneOf('cycle', 'iterations'),
};

/** Up and down between two rates, again and again (Smith 2015). The optimizer's own rate is not used. */
export class CyclicLR extends Schedule {
  constructor(optimizer: AnyOptimizer, options: CyclicOptions) {
    checkOptions('CyclicLR', options, cyclicRules);
    const { baseLr, maxLr, stepSizeUp = 2000, mode = 'triangular', gamma = 1, scaleFn } = options;
    const { cycleMomentum = true, baseMomentum = 0.8, maxMomentum = 0.9, scaleMode = 'cycle' } = options;
    const stepSizeDown = options.stepSizeDown ?? stepSizeUp;
    const total = stepSizeUp + stepSizeDown;
    // The share of the height at a step, 0 to 1.
    const height = (step: number): number => {
      const cycle = Math.floor(1 + step / total);
      const x = 1 + step / total - cycle;
      const up = stepSizeUp / total;
      const share = x <= up ? x / up : (x - 1) / (up - 1);
      if (scaleFn) return share * scaleFn(scaleMode === 'cycle' ? cycle : step);
      if (mode === 'triangular2') return share / power(2, cycle - 1);
      return mode === 'exp_range' ? share * power(gamma, step) : share;
    };
    const rate = (step: number, _: number, group: number): number => {
      const low = perGroup(baseLr, group);
      return low + (perGroup(maxLr, group) - low) * height(step);
    };
    const momentum = (step: number): number => maxMomentum - (maxMomentum - baseMomentum) * height(step);
    super(optimizer, rate, (step) => (cycleMomentum ? momentum(step) : undefined));
  }
}

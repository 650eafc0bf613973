// L-BFGS, in PyTorch's form: the one optimizer that evaluates the loss several times a step.

import { backward, enableGrad, noGrad } from '../autograd.js';
import { zeros } from '../create.js';
import { failure } from '../errors.js';
import { cat } from '../ops.generated.js';
import { checkOptions, checkValue, func } from '../options.js';
import { keep, scope } from '../scope.js';
import { Tensor } from '../tensor.js';
import { type Point, strongWolfe } from './line_search.js';
import {
  type LossResult,
  type MinimizeOptions,
  type Minimized,
  evaluate,
  lossValue,
  minimizeRules,
  minimized,
} from './loss.js';
import { Optimizer, type Settings } from './optimizer.js';

export interface LbfgsOptions {
  /** Length of a step; with a line search, the first to try. Default 1. */
  readonly lr?: number;
  /** Iterations of a step; default 20. */
  readonly maxIter?: number;
  /** Evaluations of a step; default maxIter * 5 / 4. */
  readonly maxEval?: number | null;
  /** Ends where no element of the gradient is larger; default 1e-7. */
  readonly toleranceGrad?: number;
  /** Ends where parameters or loss change by less; default 1e-9. */
  readonly toleranceChange?: number;
  /** How many steps the curvature is told from; default 100. */
  readonly historySize?: number;
  /** 'strongWolfe', or null for steps of length lr. Default null. */
  readonly lineSearchFn?: 'strongWolfe' | null;
}

const dot = (a: Tensor, b: Tensor): number => a.mul(b).sum().item();
const largest = (x: Tensor): number => (x.numel === 0 ? 0 : x.abs().amax().item());

/**
 * Quasi-Newton steps from a limited history (Liu, Nocedal 1989). `step` needs a closure that zeroes the gradients,
 * computes the loss, calls backward and returns the loss; `minimize` makes one of its function.
 */
export class LBFGS extends Optimizer<LbfgsOptions> {
  constructor(params: Iterable<Tensor>, options: LbfgsOptions = {}) {
    const plain: Settings<LbfgsOptions> = {
      lr: 1,
      maxIter: 20,
      maxEval: null,
      toleranceGrad: 1e-7,
      toleranceChange: 1e-9,
      historySize: 100,
      lineSearchFn: null,
    };
    super('LBFGS', params, plain, options);
  }

  protected update(): never {
    throw failure('LBFGS', 'argument', 'step needs a closure that computes the loss and its gradients');
  }
  // Its states are of all parameters together.
  protected override fits(): boolean {
    return true;
  }

  override step(): void;
  override step(closure: () => Tensor): number;
  override step(closure?: () => Tensor): number | undefined {
    if (!closure) return this.update();
    checkValue('LBFGS', 'closure', closure, func);
    return scope(() => noGrad(() => this.#iterate(() => lossValue('LBFGS', enableGrad(closure)))));
  }

  override minimize<R extends LossResult>(fn: () => R, options: MinimizeOptions = {}): Minimized<R> {
    checkOptions('LBFGS', options, minimizeRules);
    if (Object.values(options).some((value) => value !== undefined && value !== false))
      throw failure('LBFGS', 'option', 'minimize takes no clipping and no accumulation');
    return scope(() => {
      let first: R | undefined;
      const value = this.step(() => {
        this.zeroGrad();
        const { result, loss } = evaluate(fn);
        first ??= result;
        backward(loss);
        return loss;
      });
      return minimized(first as R, value);
    });
  }

  #iterate(evaluateLoss: () => number): number {
    const { lr, maxIter, toleranceGrad, toleranceChange, lineSearchFn } = this.#options();
    const maxEval = this.#options().maxEval ?? Math.floor((maxIter * 5) / 4);
    const own = this.stateOf(0);
    const first = evaluateLoss();
    let [loss, gradient, evaluations] = [first, this.#gradient(), 1];
    for (
      let i = 1;
      i <= maxIter && (i === 1 || evaluations < maxEval) && largest(gradient) > toleranceGrad;
      i++
    ) {
      own.step++;
      const direction = this.#direction(gradient);
      const slope = dot(gradient, direction);
      this.#store('prevFlatGrad', gradient.clone());
      const size = largest(direction);
      let t = own.step === 1 ? Math.min(1, 1 / gradient.abs().sum().item()) * lr : lr;
      if (slope > -toleranceChange) {
        this.#store('lastStep', direction.mul(0));
        break;
      }
      const before = loss;
      const start = this.params.map((p) => p.clone());
      const at = (length: number): Point<Tensor> => {
        this.#move(start, direction, length);
        const value = evaluateLoss();
        const there = this.#gradient();
        evaluations++;
        return { t: length, value, slope: dot(there, direction), gradient: there };
      };
      if (lineSearchFn === 'strongWolfe') {
        const origin = { t: 0, value: loss, slope, gradient };
        ({ t, value: loss, gradient } = strongWolfe(at, origin, t, size, toleranceChange));
        this.#move(start, direction, t);
      } else if (i < maxIter) {
        ({ value: loss, gradient } = at(t));
      } else {
        this.#move(start, direction, t); // the next step evaluates there
      }
      this.#store('lastStep', direction.mul(t));
      if (t * size <= toleranceChange || (i < maxIter && Math.abs(loss - before) < toleranceChange)) break;
    }
    return first;
  }

  #options(): Settings<LbfgsOptions> {
    return (this.paramGroups[0] as (typeof this.paramGroups)[number]).options;
  }

  // The inverse curvature times -gradient, by the two-loop recursion over pairs of (change of gradient, step).
  #direction(gradient: Tensor): Tensor {
    const { tensors } = this.stateOf(0);
    const [previous, step] = [tensors.get('prevFlatGrad'), tensors.get('lastStep')];
    if (!previous || !step) return gradient.neg();
    const change = gradient.sub(previous);
    if (dot(change, step) > 1e-10) this.#remember(change, step.clone());
    const pairs: { y: Tensor; s: Tensor; ys: number; share: number }[] = [];
    for (let k = 0; ; k++) {
      const [y, s] = [tensors.get(`oldDirs.${k}`), tensors.get(`oldStps.${k}`)];
      if (!y || !s) break;
      pairs.push({ y, s, ys: dot(y, s), share: 0 });
    }
    let q = gradient.neg();
    for (const pair of pairs.toReversed()) {
      pair.share = dot(pair.s, q) / pair.ys;
      q = q.sub(pair.y.mul(pair.share));
    }
    const last = pairs.at(-1);
    if (last) q = q.mul(last.ys / dot(last.y, last.y));
    for (const { y, s, ys, share } of pairs) q = q.add(s.mul(share - dot(y, q) / ys));
    return q;
  }

  #remember(y: Tensor, s: Tensor): void {
    const { tensors } = this.stateOf(0);
    const { historySize } = this.#options();
    let count = 0;
    while (tensors.has(`oldDirs.${count}`)) count++;
    for (const [name, tensor] of [['oldDirs', y] as const, ['oldStps', s] as const]) {
      if (count < historySize) {
        tensors.set(`${name}.${count}`, keep(tensor));
        continue;
      }
      tensors.get(`${name}.0`)?.dispose();
      for (let k = 1; k < count; k++) tensors.set(`${name}.${k - 1}`, tensors.get(`${name}.${k}`) as Tensor);
      if (count > 0) tensors.set(`${name}.${count - 1}`, keep(tensor));
    }
  }

  #store(name: string, tensor: Tensor): void {
    const { tensors } = this.stateOf(0);
    tensors.get(name)?.dispose();
    tensors.set(name, keep(tensor));
  }

  // The gradients of all parameters in one row.
  #gradient(): Tensor {
    return cat(
      this.params.map((p) => (p.grad ?? zeros([p.numel], { dtype: p.dtype })).reshape([-1])),
      0,
    ).clone();
  }

  // Parameters = start + length * direction.
  #move(start: readonly Tensor[], direction: Tensor, length: number): void {
    let from = 0;
    this.params.forEach((param, i) => {
      const part = direction.at([from, from + param.numel]).reshape(param.shape);
      param.copy_(part.mul(length).add(start[i] as Tensor));
      from += param.numel;
    });
  }
}

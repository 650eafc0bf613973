// The heat and the wave equation as losses: a network u(x, y, t) is trained until it solves them, from nothing but the
// equation and the state at the start (Raissi et al. 2019, "Physics-informed neural networks"). The edge stays at 0.

import { type Tensor, keep, noGrad, rand, scope, tensor } from 'omnigrad';
import type { Measure } from '../shared/task.js';
import { cells } from './facts.js';
import type { Goal } from './goal.js';
import { SineNet, gradient, second } from './model.js';
import { type Amplitudes, type Law, exactFrames, modes, stiffness, sumOfModes } from './modes.js';

export interface EquationView {
  readonly kind: 'heat' | 'wave';
  /** Points along a side, in the middles of as many cells. */
  readonly side: number;
  /** Of these times, from 0 to 1, both included. */
  readonly frames: number;
  /** The network's solution, [frames, side, side]. */
  readonly network: Float32Array;
  readonly exact: Float32Array;
  /** |network - exact| / |exact|, over all of it. */
  readonly error: number;
}

/** Relative error that the task allows. */
export const allowed = 0.02;
/** How much of the square a unit of time spreads over; chosen so that the default keeps a tenth, or swings once. */
export const laws = { heat: { kind: 'heat', a: 0.02 }, wave: { kind: 'wave', a: 0.25 } } as const;

/** Steps between two looks. */
const lookEvery = 10;
const shown = { side: cells, frames: 13 };

export class EquationGoal implements Goal<EquationView> {
  readonly net: SineNet;
  readonly #points: number;
  readonly #law: Law;
  readonly #grid: Tensor;
  #amplitudes: Amplitudes;
  #begin: Tensor;
  #exact: Float64Array;
  // Of the residual, so that it begins at about 1.
  #unit: number;
  // What was last shown: it costs as much as a step.
  #shown: EquationView | undefined;
  #since = 0;

  constructor(law: Law, amplitudes: Amplitudes, options: { width: number; points: number }) {
    this.net = new SineNet({ inputs: 3, width: options.width, w0: 5 });
    this.#points = options.points;
    this.#law = law;
    this.#grid = keep(
      tensor(gridPoints(shown.side, shown.frames), { shape: [shown.frames * shown.side * shown.side, 3] }),
    );
    this.#amplitudes = amplitudes;
    [this.#begin, this.#exact, this.#unit] = this.#prepared();
  }

  readonly given = {
    stateDict: () => ({ amplitudes: tensor(this.#amplitudes) }),
    loadStateDict: ({ amplitudes }: { amplitudes: Tensor }) => {
      this.#begin.dispose();
      this.#amplitudes = Float64Array.from(amplitudes.toTypedArray(), Number);
      [this.#begin, this.#exact, this.#unit] = this.#prepared();
    },
  };

  #prepared(): [Tensor, Float64Array, number] {
    const exact = exactFrames(this.#amplitudes, this.#law, shown.side, shown.frames);
    const begin = keep(tensor(Float32Array.from(this.#amplitudes), { shape: [modes, modes] }));
    // The mean square of a mode is a quarter.
    const k = stiffness();
    const power = this.#amplitudes.reduce(
      (sum, a, i) => sum + a * a * (k[i] as number) * (k[i] as number),
      0,
    );
    return [begin, exact, this.#law.a * (Math.sqrt(power / 4) || 1)];
  }

  /** u at points x, y, t [N, 3] from 0 to 1. The start and the edge hold by the form of it, the equation by training. */
  #solution(points: Tensor): Tensor {
    const [x, y, t] = [0, 1, 2].map((i) => points.at(':', i)) as [Tensor, Tensor, Tensor];
    const inside = x.mul(x.neg().add(1)).mul(y).mul(y.neg().add(1)).mul(16);
    // From rest: the wave's first derivative is 0 at the start too.
    const later = this.#law.kind === 'heat' ? t : t.square();
    const learnt = this.net.call(points.mul(2).sub(1));
    return sumOfModes(this.#begin, x, y).add(inside.mul(later).mul(learnt));
  }

  /** The mean square of u_t - a (u_xx + u_yy), or with u_tt for the wave. */
  loss(): Tensor {
    this.#since++;
    const points = rand([this.#points, 3], { requiresGrad: true });
    const slope = gradient(this.#solution(points), points);
    const bend = second(slope, points, 0).add(second(slope, points, 1));
    const change = this.#law.kind === 'heat' ? slope.at(':', 2) : second(slope, points, 2);
    return change
      .sub(bend.mul(this.#law.a))
      .mul(1 / this.#unit)
      .square()
      .mean();
  }

  #found(): Float32Array {
    return scope(() => noGrad(() => this.#solution(this.#grid).toTypedArray())) as Float32Array;
  }

  #error(found: Float32Array): number {
    let [missed, all] = [0, 0];
    this.#exact.forEach((value, i) => {
      const difference = (found[i] as number) - value;
      missed += difference * difference;
      all += value * value;
    });
    return Math.sqrt(missed / (all || 1));
  }

  curve(): Record<string, number> {
    return { error: this.#error(this.#found()) };
  }

  look(): EquationView {
    if (!this.#shown || this.#since >= lookEvery) this.#shown = this.#looked();
    return this.#shown;
  }

  #looked(): EquationView {
    this.#since = 0;
    const network = this.#found();
    const exact = Float32Array.from(this.#exact);
    return { kind: this.#law.kind, ...shown, network, exact, error: this.#error(network) };
  }

  renewed(): void {
    this.#shown = undefined;
  }

  measure(): Measure {
    this.#shown = undefined;
    const value = this.#error(this.#found());
    const goal = this.#law.kind === 'heat' ? `; the goal is ${100 * allowed} %` : '';
    const text = `${(100 * value).toFixed(2)} % off the exact solution of the ${this.#law.kind} equation (relative L2)${goal}.`;
    return { value, reached: goal === '' ? undefined : value <= allowed, text };
  }

  dispose(): void {
    for (const part of [this.net, this.#grid, this.#begin]) part.dispose();
  }
}

// The middles of the cells, frame by frame: x, y, t of each.
function gridPoints(side: number, frames: number): Float32Array {
  const points = new Float32Array(frames * side * side * 3);
  for (let i = 0; i < frames * side * side; i++) {
    const cell = i % (side * side);
    points[3 * i] = ((cell % side) + 0.5) / side;
    points[3 * i + 1] = (Math.floor(cell / side) + 0.5) / side;
    points[3 * i + 2] = Math.floor(i / (side * side)) / (frames - 1);
  }
  return points;
}

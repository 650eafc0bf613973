// Muon, in PyTorch's form but in the parameters' own dtype.

import { muonStep } from '../ops.generated.js';
import { type Active, Optimizer, type Params, type Settings, gradsOf, paramsOf } from './optimizer.js';

export interface MuonOptions {
  /** Rate; default 1e-3. */
  readonly lr?: number;
  /** Decay of the parameters; default 0.1. */
  readonly weightDecay?: number;
  /** Decay of the running mean of gradients; default 0.95. */
  readonly momentum?: number;
  /** Look ahead; default true. */
  readonly nesterov?: boolean;
  /** Of the Newton-Schulz iteration a X + (b X X^T + c (X X^T)^2) X; default [3.4445, -4.775, 2.0315]. */
  readonly nsCoefficients?: readonly [number, number, number];
  /** Iterations; default 5. */
  readonly nsSteps?: number;
  /** Least norm to divide by; default 1e-7. */
  readonly eps?: number;
  /** Rate by the shape: lr sqrt(max(1, rows / columns)), or 0.2 lr sqrt(max(rows, columns)). Default 'original'. */
  readonly adjustLrFn?: 'original' | 'matchRmsAdamw';
  /** Go up instead of down. */
  readonly maximize?: boolean;
}

/**
 * Momentum whose step is made near orthogonal (Jordan et al. 2024). For weights of hidden layers: parameters of two
 * axes or more, those after the first counting as one. Give the others to AdamW.
 */
export class Muon extends Optimizer<MuonOptions> {
  constructor(params: Params<MuonOptions>, options: MuonOptions = {}) {
    const plain: Settings<MuonOptions> = {
      lr: 1e-3,
      weightDecay: 0.1,
      momentum: 0.95,
      nesterov: true,
      nsCoefficients: [3.4445, -4.775, 2.0315],
      nsSteps: 5,
      eps: 1e-7,
      adjustLrFn: 'original',
      maximize: false,
    };
    super('Muon', params, plain, options);
  }

  protected update(options: Settings<MuonOptions>, active: readonly Active[], step: number): void {
    const { nsCoefficients: coefficients, adjustLrFn: adjust, ...rest } = options;
    const [a, b, c] = coefficients;
    const velocities = this.state(active, 'momentumBuffer');
    muonStep(paramsOf(active), gradsOf(active), velocities, { ...rest, a, b, c, adjust, step });
  }
}

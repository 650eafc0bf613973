// Functions on the unit square that are 0 at its edge, as sums of sin(m pi x) sin(n pi y): the beginning of an equation,
// and its exact solution, in which every mode goes its own way. Sines, cosines and exponentials are the core's.

import { type Tensor, arange, scope, tensor } from 'omnigrad';

/** Modes along x and along y. */
export const modes = 8;

/** How modes go on with time: under u_t = a (u_xx + u_yy), or u_tt = a (u_xx + u_yy) from rest. */
export interface Law {
  readonly kind: 'heat' | 'wave';
  readonly a: number;
}

/** Amplitudes a[n - 1, m - 1] of sin(m pi x) sin(n pi y), row by row. */
export type Amplitudes = Float64Array;

const at = (m: number, n: number): number => (n - 1) * modes + m - 1;

/** A sum of few modes, none of them alone. */
export function defaultModes(): Amplitudes {
  const amplitudes = new Float64Array(modes * modes);
  const few = [[1, 1, 0.6], [2, 1, 0.5], [1, 3, -0.4], [3, 2, 0.3], [4, 4, 0.2]] as const; // prettier-ignore
  for (const [m, n, amplitude] of few) amplitudes[at(m, n)] = amplitude;
  return amplitudes;
}

/** sin(m pi x) for m = 1 ... modes: positions [N] to [N, modes]. */
export function sines(x: Tensor): Tensor {
  return scope(() => {
    const m = arange(1, modes + 1, { dtype: x.dtype as 'float32' | 'float64' }).mul(Math.PI);
    return x.reshape([-1, 1]).mul(m).sin();
  });
}

/** The sum of the modes at points: amplitudes [n, m], positions [N] each, to [N]. */
export function sumOfModes(amplitudes: Tensor, x: Tensor, y: Tensor): Tensor {
  return sines(y).matmul(amplitudes).mul(sines(x)).sum(1);
}

/** pi^2 (m^2 + n^2), [n, m] float64: minus the Laplacian of a mode, by the mode. */
export function stiffness(): Float64Array {
  return Float64Array.from({ length: modes * modes }, (_, k) => {
    const [m, n] = [(k % modes) + 1, Math.floor(k / modes) + 1];
    return Math.PI * Math.PI * (m * m + n * n);
  });
}

/**
 * The modes of a drawing, after the heat has had a short time to round what no sum of few modes can have: brightness from 0
 * to 1 of side * side pixels, row by row.
 */
export function modesOf(drawing: Float64Array, side: number): Amplitudes {
  return scope(() => {
    const middles = arange(side, { dtype: 'float64' })
      .add(0.5)
      .mul(1 / side);
    const basis = sines(middles);
    const pixels = tensor(drawing, { shape: [side, side] });
    const found = basis
      .permute([1, 0])
      .matmul(pixels)
      .matmul(basis)
      .mul(4 / (side * side));
    const kept = tensor(stiffness(), { shape: [modes, modes] })
      .mul(-rounding)
      .exp();
    return found.mul(kept).toTypedArray() as Float64Array;
  });
}
// In units of 1 / a; the shortest mode keeps a seventh.
const rounding = 0.0015;

/** The exact solution on a grid of side * side pixels' middles at `frames` times from 0 to 1, [frames, side, side]. */
export function exactFrames(amplitudes: Amplitudes, law: Law, side: number, frames: number): Float64Array {
  return scope(() => {
    const middles = arange(side, { dtype: 'float64' })
      .add(0.5)
      .mul(1 / side);
    const basis = sines(middles);
    const k = tensor(stiffness(), { shape: [modes, modes] });
    const all = new Float64Array(frames * side * side);
    for (let frame = 0; frame < frames; frame++) {
      const t = frame / (frames - 1);
      const factor = law.kind === 'heat' ? k.mul(-law.a * t).exp() : k.mul(law.a).sqrt().mul(t).cos();
      const now = tensor(amplitudes, { shape: [modes, modes] }).mul(factor);
      const field = basis.matmul(now).matmul(basis.permute([1, 0]));
      all.set(field.toTypedArray() as Float64Array, frame * side * side);
    }
    return all;
  });
}

// How the learning rate goes over a run.

/** Up over the first twentieth, then straight down to a fiftieth of the peak. `step` counts from 1. */
export function rateAt(step: number, steps: number, peak: number): number {
  const warm = Math.max(1, Math.floor(steps / 20));
  if (step <= warm) return (peak * step) / warm;
  return peak * Math.max(0.02, (steps - step + 1) / (steps - warm));
}

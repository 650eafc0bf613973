// Turns, scales, shifts and bends images, by our own ops: the same bits in every engine.

import {
  type Generator,
  type Tensor,
  affineGrid,
  gridSample,
  interpolate,
  normal,
  stack,
  uniform,
} from 'omnigrad';

export interface WarpOptions {
  /** Degrees at most, either way. */
  readonly turn: number;
  /** Deviation of the bends, in pixels. */
  readonly warp: number;
  readonly generator: Generator;
}

/** How much an image may grow or shrink, and be shifted, as a share of it. */
const scale = 0.15;
const shift = 0.08;
/** The bends are those of a net with so many knots a side. */
const knots = 4;

/** @param ink [N, 1, H, W], 0 where there is nothing. Call in a scope. */
export function warped(ink: Tensor, { turn, warp, generator }: WarpOptions): Tensor {
  const [count = 0, , height = 0, width = 0] = ink.shape;
  const angle = uniform([count], (-turn * Math.PI) / 180, (turn * Math.PI) / 180, { generator });
  const size = uniform([count], 1 - scale, 1 + scale, { generator });
  const [right, down] = uniform([2, count], -2 * shift, 2 * shift, { generator }).unbind(0) as [
    Tensor,
    Tensor,
  ];
  const [cos, sin] = [angle.cos().mul(size), angle.sin().mul(size)];
  const theta = stack([cos, sin.neg(), right, sin, cos, down], 1).reshape([count, 2, 3]);
  const straight = affineGrid(theta, [count, 1, height, width]);
  // A pixel is 2 / width of the grid's unit.
  const knotted = normal([count, 2, knots, knots], 0, (2 * warp) / width, { generator });
  const bends = interpolate(knotted, { size: [height, width], mode: 'cubic', alignCorners: true });
  return gridSample(ink, straight.add(bends.permute([0, 2, 3, 1])));
}

// The LSTM whose state is projected to fewer numbers (Sak et al. 2014), step by step in ops.

import { zeros } from '../create.js';
import { failure } from '../errors.js';
import { arange, cat, linear, lt, matmul, mul, sigmoid, stack, tanh, where } from '../ops.generated.js';
import type { Tensor } from '../tensor.js';
import { chunk } from '../views.js';
import { shapeOf } from './checks.js';

export interface ProjectedOptions {
  readonly numLayers: number;
  readonly bidirectional: boolean;
  readonly batchFirst: boolean;
  readonly bias: boolean;
  readonly lengths: Tensor | null;
}

/**
 * As `lstm`, with h = W_hr (o tanh(c)): weights ih, hh, [ih bias, hh bias,] hr of each direction of each layer.
 *
 * @returns y [T, B, directions * projSize], hn [layers * directions, B, projSize], cn [..., hiddenSize]
 */
export function projectedLstm(
  input: Tensor,
  weights: readonly Tensor[],
  [h0, c0]: readonly (Tensor | null | undefined)[],
  { numLayers, bidirectional, batchFirst, bias, lengths }: ProjectedOptions,
): [y: Tensor, hn: Tensor, cn: Tensor] {
  const first = weights[0] as Tensor;
  const size = first.shape[1] as number;
  if ((input.ndim !== 2 && input.ndim !== 3) || input.shape.at(-1) !== size)
    throw failure(
      'LSTM',
      'shape',
      `the input is ${shapeOf(input)}; its last axis must be ${size}, and it of rank 2 or 3`,
    );
  const single = input.ndim === 2;
  const batched = (x: Tensor | null | undefined): Tensor | null => (x ? (single ? x.unsqueeze(1) : x) : null);
  let x = single ? input.unsqueeze(1) : batchFirst ? input.permute([1, 0, 2]) : input;
  const [states, cells] = [batched(h0), batched(c0)];
  const directions = bidirectional ? 2 : 1;
  const each = bias ? 5 : 3;
  const [hs, cs]: [Tensor[], Tensor[]] = [[], []];
  for (let layer = 0; layer < numLayers; layer++) {
    const ys: Tensor[] = [];
    for (let d = 0; d < directions; d++) {
      const at = layer * directions + d;
      const own = weights.slice(at * each, (at + 1) * each);
      const [y, h, c] = run(x, own, states?.at(at) ?? null, cells?.at(at) ?? null, d === 1, lengths);
      ys.push(y);
      hs.push(h);
      cs.push(c);
    }
    x = ys.length === 1 ? (ys[0] as Tensor) : cat(ys, 2);
  }
  const [hn, cn] = [stack(hs, 0), stack(cs, 0)];
  if (single) return [x.squeeze(1), hn.squeeze(1), cn.squeeze(1)];
  return [batchFirst ? x.permute([1, 0, 2]) : x, hn, cn];
}

// One direction of one layer: x [T, B, I].
function run(
  x: Tensor,
  weights: readonly Tensor[],
  h0: Tensor | null,
  c0: Tensor | null,
  backwards: boolean,
  lengths: Tensor | null,
): [y: Tensor, h: Tensor, c: Tensor] {
  const [ih, hh] = weights as [Tensor, Tensor];
  const [biasIh, biasHh] = weights.length === 5 ? weights.slice(2) : [];
  const hr = weights.at(-1) as Tensor;
  const [time, batch] = x.shape as [number, number];
  const [projected, hidden] = hr.shape as [number, number];
  const dtype = x.dtype as 'float32';
  let h = h0 ?? zeros([batch, projected], { dtype });
  let c = c0 ?? zeros([batch, hidden], { dtype });
  const inputs = linear(x, ih, { bias: biasIh });
  const alive = lengths
    ? lt(
        arange(0, time, 1, { dtype: 'int64' }).reshape([time, 1, 1]),
        lengths.cast('int64').reshape([1, batch, 1]),
      )
    : null;
  const ys = new Array<Tensor>(time);
  for (let step = 0; step < time; step++) {
    const t = backwards ? time - 1 - step : step;
    const gates = inputs.at(t).add(linear(h, hh, { bias: biasHh }));
    const [i, f, g, o] = chunk(gates, 4, 1) as [Tensor, Tensor, Tensor, Tensor];
    const cell = mul(sigmoid(f), c).add(mul(sigmoid(i), tanh(g)));
    const state = matmul(mul(sigmoid(o), tanh(cell)), hr.permute([1, 0]));
    if (alive) {
      const on = alive.at(t);
      ys[t] = where(on, state, 0);
      h = where(on, state, h);
      c = where(on, cell, c);
    } else {
      ys[t] = h = state;
      c = cell;
    }
  }
  return [stack(ys, 0), h, c];
}

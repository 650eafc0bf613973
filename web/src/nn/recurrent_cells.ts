// One step of a recurrent layer.

import { failure } from '../errors.js';
import { gru, lstm, rnn } from '../ops.generated.js';
import { checkOptions, oneOf, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, layerRules, shapeOf } from './checks.js';
import { type LayerOptions, fanInUniform } from './init.js';
import { Layer } from './layer.js';
import type { LSTMState } from './recurrent.js';

type Run = (x: Tensor, weights: Tensor[], states: (Tensor | null)[], bias: boolean) => Tensor[];

abstract class CellBase<State, Last> extends Layer<[x: Tensor, state?: State | null], Last> {
  /** [gates * hiddenSize, inputSize] */
  readonly weightIh: Tensor;
  /** [gates * hiddenSize, hiddenSize] */
  readonly weightHh: Tensor;
  /** [gates * hiddenSize] */
  readonly biasIh: Tensor | null;
  /** [gates * hiddenSize] */
  readonly biasHh: Tensor | null;
  readonly #name: string;

  protected constructor(
    name: string,
    gates: number,
    inputSize: number,
    hiddenSize: number,
    options: LayerOptions,
  ) {
    super();
    checkSizes(name, { inputSize, hiddenSize }, whole(1));
    checkOptions(name, options, { ...layerRules, nonlinearity: oneOf('tanh', 'relu') });
    this.#name = name;
    const make = (...shape: number[]): Tensor => fanInUniform(shape, hiddenSize, options);
    const bias = options.bias ?? true;
    this.weightIh = make(gates * hiddenSize, inputSize);
    this.weightHh = make(gates * hiddenSize, hiddenSize);
    this.biasIh = bias ? make(gates * hiddenSize) : null;
    this.biasHh = bias ? make(gates * hiddenSize) : null;
  }

  // As a sequence of one step.
  protected run(op: Run, x: Tensor, states: (Tensor | null)[]): Tensor[] {
    checkInput(this.#name, x);
    if (x.ndim !== 1 && x.ndim !== 2)
      throw failure(
        this.#name,
        'shape',
        `the input is ${shapeOf(x)}; it must be [batch, features] or [features]`,
      );
    const { weightIh, weightHh, biasIh, biasHh } = this;
    const weights = [weightIh, weightHh, ...(biasIh && biasHh ? [biasIh, biasHh] : [])];
    const step = (t: Tensor): Tensor => t.reshape([1, ...(t.ndim === 1 ? [1] : []), ...t.shape]);
    const after = op(
      step(x),
      weights,
      states.map((s) => s && step(s)),
      biasIh !== null,
    );
    return after.slice(1).map((s) => s.reshape(x.ndim === 1 ? s.shape.slice(2) : s.shape.slice(1)));
  }
}

/** One step of RNN: [batch, inputSize] and a state [batch, hiddenSize] (default 0) to the next state. */
export class RNNCell extends CellBase<Tensor, Tensor> {
  readonly #nonlinearity: 'tanh' | 'relu';
  constructor(
    inputSize: number,
    hiddenSize: number,
    options: LayerOptions & { readonly nonlinearity?: 'tanh' | 'relu' } = {},
  ) {
    super('RNNCell', 1, inputSize, hiddenSize, options);
    this.#nonlinearity = options.nonlinearity ?? 'tanh';
  }
  forward(x: Tensor, h?: Tensor | null): Tensor {
    const nonlinearity = this.#nonlinearity;
    const run: Run = (y, weights, [h0], bias) => rnn(y, weights, { h0, bias, nonlinearity });
    return this.run(run, x, [h ?? null])[0] as Tensor;
  }
}

/** One step of GRU: [batch, inputSize] and a state [batch, hiddenSize] (default 0) to the next state. */
export class GRUCell extends CellBase<Tensor, Tensor> {
  constructor(inputSize: number, hiddenSize: number, options: LayerOptions = {}) {
    super('GRUCell', 3, inputSize, hiddenSize, options);
  }
  forward(x: Tensor, h?: Tensor | null): Tensor {
    const run: Run = (y, weights, [h0], bias) => gru(y, weights, { h0, bias });
    return this.run(run, x, [h ?? null])[0] as Tensor;
  }
}

/** One step of LSTM: [batch, inputSize] and states [h, c] (default 0) to the next ones. */
export class LSTMCell extends CellBase<LSTMState, [h: Tensor, c: Tensor]> {
  constructor(inputSize: number, hiddenSize: number, options: LayerOptions = {}) {
    super('LSTMCell', 4, inputSize, hiddenSize, options);
  }
  forward(x: Tensor, state?: LSTMState | null): [h: Tensor, c: Tensor] {
    const run: Run = (y, weights, [h0, c0], bias) => lstm(y, weights, { h0, c0, bias });
    return this.run(run, x, [state?.[0] ?? null, state?.[1] ?? null]) as [Tensor, Tensor];
  }
}

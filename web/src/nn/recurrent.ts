// Recurrent layers over sequences, with PyTorch's names and layouts of weights.

import { failure } from '../errors.js';
import { cat, gru, lstm, rnn } from '../ops.generated.js';
import { type Rule, boolean, checkOptions, oneOf, share, whole } from '../options.js';
import { dropout } from '../stochastic.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, layerCount, layerRules, stacked } from './checks.js';
import { type LayerOptions, fanInUniform } from './init.js';
import { Module } from './module.js';
import { type Lengths, lengthsOf } from './lengths.js';
import { projectedLstm } from './projected_lstm.js';

export interface RecurrentOptions extends LayerOptions {
  /** Layers, each reading the one before; default 1. */
  readonly numLayers?: number;
  /** x and y are [batch, time, features], not [time, batch, features]; default false. */
  readonly batchFirst?: boolean;
  /** Dropout between layers, in training; default 0. */
  readonly dropout?: number;
  /** With a second direction, from each sequence's end; default false. */
  readonly bidirectional?: boolean;
}

export interface RNNOptions extends RecurrentOptions {
  /** Of a step; default 'tanh'. */
  readonly nonlinearity?: 'tanh' | 'relu';
}

export interface SequenceOptions {
  /** Steps of each sequence: beyond them y is 0 and the state stays. Default: all. */
  readonly lengths?: Lengths | null;
}

export interface LSTMOptions extends RecurrentOptions {
  /** Numbers that h is projected to, fewer than hiddenSize; default 0: none. Step by step in ops, so slower. */
  readonly projSize?: number;
}

/** What a layer of any kind computes of x: y and its last states, [directions, batch, hidden] each. */
type Run = (x: Tensor, weights: Tensor[], states: (Tensor | null)[], options: RunOptions) => Tensor[];
interface RunOptions {
  readonly numLayers: number;
  readonly bidirectional: boolean;
  readonly batchFirst: boolean;
  readonly bias: boolean;
  readonly lengths: Tensor | null;
}

abstract class RecurrentBase<State, Last> extends Module<
  [x: Tensor, state?: State | null, options?: SequenceOptions],
  [y: Tensor, state: Last]
> {
  readonly #name: string;
  readonly #weights: Tensor[] = [];
  readonly #options: Omit<RunOptions, 'lengths'>;
  readonly #dropout: number;
  readonly #run: Run;

  protected constructor(
    name: string,
    gates: number,
    inputSize: number,
    hiddenSize: number,
    options: RecurrentOptions & { readonly projSize?: number },
    run: Run,
  ) {
    super();
    checkSizes(name, { inputSize, hiddenSize }, whole(1));
    const own = { numLayers: layerCount, batchFirst: boolean, dropout: share, bidirectional: boolean };
    checkOptions(name, options, { ...layerRules, ...own, ...ownRules[name] });
    const { projSize = 0 } = options;
    if (projSize >= hiddenSize)
      throw failure(name, 'option', `projSize is ${projSize}; it must be below hiddenSize, ${hiddenSize}`);
    const states = projSize === 0 ? hiddenSize : projSize;
    const { numLayers = 1, batchFirst = false, bidirectional = false, bias = true } = options;
    this.#name = name;
    this.#options = { numLayers, batchFirst, bidirectional, bias };
    this.#dropout = options.dropout ?? 0;
    this.#run = run;
    const directions = bidirectional ? ['', '_reverse'] : [''];
    const make = (layer: number): void => {
      const inputs = layer === 0 ? inputSize : states * directions.length;
      for (const direction of directions) {
        const add = (what: string, shape: number[]): void => {
          // Within 1/sqrt(hiddenSize), all of them.
          const tensor = fanInUniform(shape, hiddenSize, options);
          this.#weights.push(this.register(`${what}_l${layer}${direction}`, tensor));
        };
        add('weight_ih', [gates * hiddenSize, inputs]);
        add('weight_hh', [gates * hiddenSize, states]);
        if (bias) add('bias_ih', [gates * hiddenSize]);
        if (bias) add('bias_hh', [gates * hiddenSize]);
        if (projSize > 0) add('weight_hr', [projSize, hiddenSize]);
      }
    };
    stacked(name, numLayers, make, () => {
      this.dispose();
    });
  }

  protected run(x: Tensor, states: (Tensor | null)[], given: SequenceOptions): Tensor[] {
    checkInput(this.#name, x);
    checkOptions(this.#name, given, { lengths: { text: 'a Tensor or a list', test: isLengths } });
    const lengths = lengthsOf(given.lengths);
    const { numLayers, bidirectional } = this.#options;
    if (!this.training || this.#dropout === 0 || numLayers === 1)
      return this.#run(x, this.#weights, states, { ...this.#options, lengths });
    // Layer by layer, with dropout between them.
    const directions = bidirectional ? 2 : 1;
    const count = this.#weights.length / numLayers;
    const own = { ...this.#options, numLayers: 1, lengths };
    const last: Tensor[][] = states.map(() => []);
    let y = x;
    for (let layer = 0; layer < numLayers; layer++) {
      const rows = [layer * directions, (layer + 1) * directions] as const;
      const first = states.map((state) => state?.at(rows) ?? null);
      const weights = this.#weights.slice(layer * count, (layer + 1) * count);
      const [next, ...after] = this.#run(layer === 0 ? y : dropout(y, this.#dropout), weights, first, own);
      y = next as Tensor;
      after.forEach((state, i) => last[i]?.push(state));
    }
    return [y, ...last.map((list) => cat(list, 0))];
  }
}

const ownRules: Readonly<Record<string, Record<string, Rule>>> = {
  RNN: { nonlinearity: oneOf('tanh', 'relu') },
  LSTM: { projSize: whole() },
};
const isLengths = (value: unknown): boolean => typeof value === 'object';

/** Elman's layers: h' = tanh(W x + b + U h + c), or relu. */
export class RNN extends RecurrentBase<Tensor, Tensor> {
  constructor(inputSize: number, hiddenSize: number, options: RNNOptions = {}) {
    const { nonlinearity = 'tanh' } = Object(options) as RNNOptions; // checked below
    super('RNN', 1, inputSize, hiddenSize, options, (x, weights, [h0], given) =>
      rnn(x, weights, { ...given, h0, nonlinearity }),
    );
  }
  /**
   * @param x [time, batch, inputSize] (or batch first), or [time, inputSize] of one sequence
   * @param h0 [layers * directions, batch, hiddenSize]; default 0
   * @returns y [time, batch, directions * hiddenSize] and the last h
   */
  forward(x: Tensor, h0?: Tensor | null, options: SequenceOptions = {}): [y: Tensor, hn: Tensor] {
    return this.run(x, [h0 ?? null], options) as [Tensor, Tensor];
  }
}

/** Gated recurrent units (Cho et al. 2014), in PyTorch's form: n = tanh(W x + b + r (U h + c)). */
export class GRU extends RecurrentBase<Tensor, Tensor> {
  constructor(inputSize: number, hiddenSize: number, options: RecurrentOptions = {}) {
    super('GRU', 3, inputSize, hiddenSize, options, (x, weights, [h0], given) =>
      gru(x, weights, { ...given, h0 }),
    );
  }
  /** As RNN's. */
  forward(x: Tensor, h0?: Tensor | null, options: SequenceOptions = {}): [y: Tensor, hn: Tensor] {
    return this.run(x, [h0 ?? null], options) as [Tensor, Tensor];
  }
}

/** State and cell state. */
export type LSTMState = readonly [h: Tensor, c: Tensor];

/** Long short-term memory (Hochreiter, Schmidhuber 1997), gates i, f, g, o. */
export class LSTM extends RecurrentBase<LSTMState, [hn: Tensor, cn: Tensor]> {
  constructor(inputSize: number, hiddenSize: number, options: LSTMOptions = {}) {
    super('LSTM', 4, inputSize, hiddenSize, options, (x, weights, [h0, c0], given) =>
      options.projSize ? projectedLstm(x, weights, [h0, c0], given) : lstm(x, weights, { ...given, h0, c0 }),
    );
  }
  /** As RNN's, with two states: [h, c]; y and h have projSize numbers for hiddenSize where that is given. */
  forward(
    x: Tensor,
    state?: LSTMState | null,
    options: SequenceOptions = {},
  ): [y: Tensor, state: [hn: Tensor, cn: Tensor]] {
    const [y, hn, cn] = this.run(x, [state?.[0] ?? null, state?.[1] ?? null], options);
    return [y as Tensor, [hn as Tensor, cn as Tensor]];
  }
}

// Exponential moving averages of parameters: often better than the last ones.

import { noGrad } from '../autograd.js';
import { failure, shown } from '../errors.js';
import { lerp } from '../ops.generated.js';
import { boolean, checkOptions, func, checkValue, share } from '../options.js';
import { keep, refusePromise, scope } from '../scope.js';
import { Tensor } from '../tensor.js';

export interface EmaOptions {
  /** Share that an average keeps of itself at each update; default 0.999. */
  readonly decay?: number;
  /** In the first updates no more than (1 + n) / (10 + n), so that the start is soon forgotten; default false. */
  readonly warmup?: boolean;
}

export interface EmaState {
  readonly updates: number;
  /** The live averages by name. */
  readonly averages: Readonly<Record<string, Tensor>>;
}

/** What has named parameters, as a Module has. */
interface Named {
  namedParameters(): Iterable<readonly [string, Tensor]>;
}

/**
 * Averages of a module's parameters. Call `update` after each step of the optimizer, and evaluate inside `averaged`.
 * What the module keeps in buffers (running statistics) is an average already, and is left alone.
 */
export class EMA {
  readonly #pairs: readonly (readonly [name: string, param: Tensor, average: Tensor])[];
  readonly #decay: number;
  readonly #warmup: boolean;
  #updates = 0;
  #swapped = false;

  constructor(module: Named, options: EmaOptions = {}) {
    if (typeof (module as Partial<Named> | null | undefined)?.namedParameters !== 'function')
      throw failure('EMA', 'argument', `module is ${shown(module)}; it must be a Module`);
    checkOptions('EMA', options, { decay: share, warmup: boolean });
    this.#decay = options.decay ?? 0.999;
    this.#warmup = options.warmup ?? false;
    this.#pairs = noGrad(() =>
      Array.from(module.namedParameters(), ([name, param]) => [name, param, keep(param.clone())] as const),
    );
  }

  /** How often `update` was called. */
  get updates(): number {
    return this.#updates;
  }

  /** Moves every average towards its parameter. */
  update(): void {
    this.#refuseSwapped('update');
    const n = ++this.#updates;
    const decay = this.#warmup ? Math.min(this.#decay, (1 + n) / (10 + n)) : this.#decay;
    noGrad(() => {
      scope(() => {
        for (const [, param, average] of this.#pairs) average.copy_(lerp(average, param, 1 - decay));
      });
    });
  }

  /** Runs `fn`, synchronously, with the averages in the parameters' place. */
  averaged<T>(fn: () => T): T {
    checkValue('EMA', 'fn', fn, func);
    this.#refuseSwapped('averaged');
    this.#swap();
    this.#swapped = true;
    try {
      const result = fn();
      refusePromise('EMA.averaged', result, 'it is synchronous; use copyTo where you await');
      return result;
    } finally {
      this.#swap();
      this.#swapped = false;
    }
  }

  /** Copies the averages into parameters of the same names: of another module, to keep it for inference. */
  copyTo(module: Named): void {
    const targets = new Map(module.namedParameters());
    const missing = this.#pairs.filter(([name]) => !targets.has(name)).map(([name]) => name);
    if (missing.length > 0)
      throw failure('EMA.copyTo', 'state-dict', `the module has no parameter ${missing.join(', ')}`);
    noGrad(() => {
      for (const [name, , average] of this.#pairs) targets.get(name)?.copy_(average);
    });
  }

  // Exchanges values; the tensors stay what they are, so that optimizers and fields go on holding them.
  #swap(): void {
    noGrad(() => {
      scope(() => {
        for (const [, param, average] of this.#pairs) {
          const before = param.clone();
          param.copy_(average);
          average.copy_(before);
        }
      });
    });
  }

  #refuseSwapped(method: string): void {
    if (this.#swapped)
      throw failure(`EMA.${method}`, 'order', 'the averages are in the parameters, by averaged()');
  }

  stateDict(): EmaState {
    const averages = Object.fromEntries(this.#pairs.map(([name, , average]) => [name, average]));
    return { updates: this.#updates, averages };
  }
  /** @throws OmnigradError before anything is copied, naming all that is missing or of another shape */
  loadStateDict({ updates, averages }: EmaState): void {
    this.#refuseSwapped('loadStateDict');
    const wrong = this.#pairs.flatMap(([name, , own]) => {
      const value: unknown = averages[name];
      if (!(value instanceof Tensor)) return [`'${name}' is ${shown(value)}`];
      return value.shape.join() === own.shape.join()
        ? []
        : [`'${name}' is [${value.shape.join(', ')}] but the parameter [${own.shape.join(', ')}]`];
    });
    if (wrong.length > 0) throw failure('EMA.loadStateDict', 'state-dict', wrong.join('; '));
    this.#updates = updates;
    noGrad(() => {
      for (const [name, , average] of this.#pairs) average.copy_(averages[name] as Tensor);
    });
  }

  /** Frees the averages. */
  dispose(): void {
    for (const [, , average] of this.#pairs) average.dispose();
  }
}

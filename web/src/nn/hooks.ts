// What runs around a module's forward and in its backward pass. Modules make one of these when the first hook comes.

import { failure, shown } from '../errors.js';
import { intercept } from '../custom_grad.js';
import { checkValue, func } from '../options.js';
import { keep } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';
import type { AnyModule } from './module.js';

/** Takes a hook away again. */
export interface HookHandle {
  remove(): void;
}

/* eslint-disable @typescript-eslint/no-invalid-void-type */
interface Shapes<In, Out> {
  before(module: AnyModule, inputs: In): In | undefined | void;
  after(module: AnyModule, inputs: In, output: Out): Out | undefined | void;
  backward(module: AnyModule, gradInputs: Grads, gradOutputs: Grads): Grads | undefined | void;
}
/* eslint-enable @typescript-eslint/no-invalid-void-type */
type Grads = readonly (Tensor | null)[];

/** Sees the inputs; a list that it returns replaces them. */
export type ForwardPreHook<In extends unknown[]> = Shapes<In, unknown>['before'];
/** Sees inputs and output; what it returns, unless undefined, replaces the output. */
export type ForwardHook<In extends unknown[], Out> = Shapes<In, Out>['after'];
/** Sees gradients, one an input and one an output tensor; a list that it returns replaces the inputs'. */
export type BackwardHook = Shapes<unknown, unknown>['backward'];

/** Refuses a hook that is no function. */
export function hookOf<F>(op: string, hook: F): F {
  checkValue(op, 'hook', hook, func);
  return hook;
}

type Kinds = Shapes<unknown[], unknown>;

/** The hooks of one module, whose types the module sees to. */
export class Hooks {
  // Each in a list of its own, so that a function may be there twice.
  readonly #hooks: { readonly [K in keyof Kinds]: Set<[Kinds[K]]> } = {
    before: new Set(),
    after: new Set(),
    backward: new Set(),
  };

  add<K extends keyof Kinds>(kind: K, hook: Kinds[K]): HookHandle {
    const list = this.#hooks[kind];
    const item: [Kinds[K]] = [hook];
    list.add(item);
    return { remove: () => void list.delete(item) };
  }

  /** Runs `forward` with everything around it. */
  run<In extends unknown[], Out>(module: AnyModule, given: In, forward: (inputs: In) => Out): Out {
    let inputs = given;
    for (const [hook] of this.#hooks.before) {
      const changed: unknown = hook(module, inputs);
      if (changed === undefined) continue;
      if (!Array.isArray(changed))
        throw failure(
          'registerForwardPreHook',
          'argument',
          `the hook returned ${shown(changed)}; it must be a list`,
        );
      inputs = changed as In;
    }
    let output = this.#hooks.backward.size > 0 ? this.#watched(module, inputs, forward) : forward(inputs);
    for (const [hook] of this.#hooks.after) {
      const changed = hook(module, inputs, output);
      if (changed !== undefined) output = changed as Out;
    }
    return output;
  }

  // The outputs' gradients come first in a backward pass; they are held until the inputs' are there.
  #watched<In extends unknown[], Out>(module: AnyModule, inputs: In, forward: (inputs: In) => Out): Out {
    let gradOutputs: (Tensor | null)[] = [];
    const places = inputs.flatMap((x, i) => (isTensor(x) && x.requiresGrad ? [i] : []));
    const given = [...inputs] as In;
    const passed = intercept(
      places.map((i) => inputs[i] as Tensor),
      (grads) => {
        const gradInputs = inputs.map<Tensor | null>(() => null);
        places.forEach((place, i) => (gradInputs[place] = grads[i] ?? null));
        const changed = this.#told(module, gradInputs, gradOutputs);
        for (const g of gradOutputs) if (g && !changed.includes(g)) g.dispose();
        gradOutputs = [];
        return places.map((place) => changed[place] ?? null);
      },
    );
    places.forEach((place, i) => (given[place] = passed[i]));
    const output = forward(given);
    const outputs: Tensor[] = [];
    mapTensors(output, (y) => (outputs.push(y), y));
    const wanted = outputs.filter((y) => y.requiresGrad);
    const recorded = intercept(wanted, (grads) => {
      const all = outputs.map((y) => grads[wanted.indexOf(y)] ?? null);
      if (places.length > 0) gradOutputs = all.map((g) => g && keep(g));
      else {
        const none = inputs.map(() => null);
        this.#told(module, none, all);
      }
      return grads;
    });
    return mapTensors(output, (y) => recorded[wanted.indexOf(y)] ?? y) as Out;
  }

  #told(
    module: AnyModule,
    gradInputs: readonly (Tensor | null)[],
    gradOutputs: readonly (Tensor | null)[],
  ): readonly (Tensor | null)[] {
    let current = gradInputs;
    for (const [hook] of this.#hooks.backward) {
      const changed: unknown = hook(module, current, gradOutputs);
      if (changed === undefined) continue;
      if (!Array.isArray(changed) || changed.length !== current.length) {
        const text = `the hook returned ${shown(changed)}; it must be a list of ${current.length} gradients, one an input`;
        throw failure('registerFullBackwardHook', 'argument', text);
      }
      current = changed as (Tensor | null)[];
    }
    return current;
  }
}

// The same arrays and records with other tensors.
function mapTensors(value: unknown, fn: (x: Tensor) => Tensor): unknown {
  if (isTensor(value)) return fn(value);
  if (Array.isArray(value)) return value.map((item) => mapTensors(item, fn));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTensors(item, fn)]));
}

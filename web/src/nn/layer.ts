// The base of this library's layers whose fields have names of several words.

import { Module } from './module.js';
import type { Tensor } from '../tensor.js';

/** A module whose fields are camelCase and stand in the state dict as PyTorch has them: runningMean as running_mean. */
export abstract class Layer<In extends unknown[] = [Tensor], Out = Tensor> extends Module<In, Out> {
  protected override entries(): Iterable<readonly [string, unknown]> {
    return Array.from(super.entries(), ([name, value]) => [snakeCase(name), value] as const);
  }
}

/** outProj to out_proj; lora_A stays. */
export function snakeCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

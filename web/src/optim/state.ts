// What an optimizer remembers, as a dictionary: this library's form, and PyTorch's read into it.

import { failure, shown } from '../errors.js';
import { Tensor } from '../tensor.js';

/** What an optimizer has to remember, in PyTorch's layout with names in camelCase. Tensors stand beside `step`. */
export interface OptimizerState {
  readonly state: Readonly<Record<string, Readonly<Record<string, Tensor | number>>>>;
  readonly paramGroups: readonly Readonly<Record<string, unknown>>[];
}

/** What `optimizer.state_dict()` of PyTorch gives. */
export interface TorchOptimizerState {
  readonly state: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly param_groups: readonly Readonly<Record<string, unknown>>[];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A state as far as it must be one for its names to be looked at; `options` are the optimizer's own. */
export function stateOf(op: string, dict: unknown, options: readonly string[]): OptimizerState {
  const given = isRecord(dict) && 'param_groups' in dict ? fromTorch(dict, options) : dict;
  const { state, paramGroups } = (given ?? {}) as Record<string, unknown>;
  const isGroup = (group: unknown): boolean => isRecord(group) && Array.isArray(group.params);
  const isState = isRecord(state) && Object.values(state).every(isRecord);
  if (!isState || !Array.isArray(paramGroups) || !paramGroups.every(isGroup))
    throw failure(op, 'argument', `the state must be what stateDict() gives; got ${shown(dict)}`);
  return given as OptimizerState;
}

// What PyTorch keeps and this library computes of the step: of NAdam a product, of ASGD the rate and the mean's share.
const computed = ['mu_product', 'eta', 'mu'];

// PyTorch's options that are none of ours say how it computes, not what: foreach, capturable, ... Its step may be a
// tensor, and SGD has none.
function fromTorch(dict: Record<string, unknown>, options: readonly string[]): unknown {
  const known = new Set([...options, 'params', 'initialLr']);
  const groupOf = (group: unknown): unknown =>
    isRecord(group)
      ? Object.fromEntries(
          Object.entries(group)
            .map(([name, value]) => [camelCase(name), value] as const)
            .filter(([name]) => known.has(name)),
        )
      : group;
  const entryOf = (entry: unknown): unknown => {
    if (!isRecord(entry)) return entry;
    const values: Record<string, unknown> = { step: 1 };
    for (const [name, value] of Object.entries(entry)) {
      if (computed.includes(name) || value === null) continue;
      values[camelCase(name)] = name === 'step' && value instanceof Tensor ? value.item() : value;
    }
    return values;
  };
  const { state, param_groups: groups } = dict;
  return {
    state: isRecord(state)
      ? Object.fromEntries(Object.entries(state).map(([index, entry]) => [index, entryOf(entry)]))
      : state,
    paramGroups: Array.isArray(groups) ? groups.map(groupOf) : groups,
  };
}

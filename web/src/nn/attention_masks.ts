// What attention may look at: PyTorch's masks as one, and keys and values that are kept from call to call.

import { arange, zeros } from '../create.js';
import type { DType } from '../dtype.js';
import { failure } from '../errors.js';
import { cat, logicalAnd, logicalNot, pad } from '../ops.generated.js';
import { boolean, checkOptions } from '../options.js';
import { keep } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { shapeOf } from './checks.js';

export interface Masks {
  readonly attnMask?: Tensor | null | undefined;
  readonly keyPaddingMask?: Tensor | null | undefined;
  readonly isCausal?: boolean | undefined;
  /** The first query's position among the keys. */
  readonly offset: number;
}

/**
 * One mask as scaledDotProductAttention takes it, or null: bool and true where a key counts, or floating and added.
 *
 * @param q [batch, heads, L, size]
 * @param k [batch, heads, S, size], of which the last `extra` are no inputs and always seen
 */
export function maskOf(op: string, q: Tensor, k: Tensor, masks: Masks, extra: number): Tensor | null {
  const { attnMask, keyPaddingMask, isCausal = false, offset } = masks;
  const [batch = 1, heads = 1, length = 0] = q.shape;
  const keys = (k.shape[2] ?? 0) - extra;
  const list: Tensor[] = [];
  if (attnMask) list.push(fitted(op, 'attnMask', attnMask, [length, keys], [batch, heads]));
  if (keyPaddingMask) list.push(paddingMask(op, keyPaddingMask, batch, keys));
  if (isCausal) {
    const last = arange(length, { dtype: 'int64' }).add(offset);
    list.push(arange(keys, { dtype: 'int64' }).le(last.reshape([length, 1])));
  }
  const combined = list.length === 0 ? null : list.reduce(both);
  if (!combined || extra === 0) return combined;
  return pad(combined, [[0, extra]], { value: combined.dtype === 'bool' ? 1 : 0 });
}

// True where a key counts, in place of PyTorch's true where it does not.
const turned = (mask: Tensor): Tensor => (mask.dtype === 'bool' ? logicalNot(mask) : mask);

function fitted(
  op: string,
  name: string,
  mask: Tensor,
  [length, keys]: [number, number],
  [batch, heads]: [number, number],
): Tensor {
  const shape = mask.shape.join();
  if (shape === `${length},${keys}`) return turned(mask);
  if (shape === `${batch * heads},${length},${keys}`)
    return turned(mask).reshape([batch, heads, length, keys]);
  const rule = `[${length}, ${keys}] or [${batch * heads}, ${length}, ${keys}]`;
  throw failure(op, 'shape', `${name} is ${shapeOf(mask)}; it must be ${rule}`);
}

function paddingMask(op: string, mask: Tensor, batch: number, keys: number): Tensor {
  const shape = mask.shape.join();
  if (shape !== `${batch},${keys}` && !(batch === 1 && shape === String(keys)))
    throw failure(op, 'shape', `keyPaddingMask is ${shapeOf(mask)}; it must be [${batch}, ${keys}]`);
  return turned(mask).reshape([batch, 1, 1, keys]);
}

function both(a: Tensor, b: Tensor): Tensor {
  if (a.dtype === 'bool' && b.dtype === 'bool') return logicalAnd(a, b);
  if (a.dtype === 'bool') return added(a, b.dtype).add(b);
  return a.add(b.dtype === 'bool' ? added(b, a.dtype) : b);
}

// 0 where a key counts, else -Infinity.
const added = (mask: Tensor, dtype: DType): Tensor =>
  zeros(mask.shape, { dtype }).maskedFill(logicalNot(mask), -Infinity);

/**
 * Keys and values that attention has seen, for decoding token by token: each call's go after the earlier ones. Without
 * gradients: inside noGrad. Its tensors live until `dispose`.
 */
export class KeyValueCache {
  #tensors: [key: Tensor, value: Tensor] | null = null;
  /** Keeps the first call's alone. */
  readonly fixed: boolean;

  /** @param options `fixed`: the first call's alone are kept, and later calls use these; for a memory that stays */
  constructor(options: { readonly fixed?: boolean } = {}) {
    checkOptions('KeyValueCache', options, { fixed: boolean });
    this.fixed = options.fixed ?? false;
  }

  /** How many positions it holds. */
  get length(): number {
    return this.#tensors?.[0].shape[2] ?? 0;
  }
  /** What a fixed cache holds, if it does. */
  get filled(): [key: Tensor, value: Tensor] | null {
    return this.fixed ? this.#tensors : null;
  }

  /** Adds positions [batch, heads, length, size]; gives all. */
  append(key: Tensor, value: Tensor): [key: Tensor, value: Tensor] {
    if (key.requiresGrad || value.requiresGrad)
      throw failure('KeyValueCache', 'graph', 'it keeps no graph; call the module in noGrad(() => ...)');
    const before = this.#tensors;
    if (before && before[0].shape[0] !== key.shape[0]) {
      const text = `it holds a batch of ${before[0].shape[0] ?? 0}; this one is of ${key.shape[0] ?? 0}`;
      throw failure('KeyValueCache', 'shape', text);
    }
    const joined = (old: Tensor | undefined, next: Tensor): Tensor =>
      keep(old ? cat([old, next], 2) : next.clone());
    this.#tensors = [joined(before?.[0], key), joined(before?.[1], value)];
    for (const old of before ?? []) old.dispose();
    return this.#tensors;
  }

  /** Forgets and frees what it holds. */
  dispose(): void {
    for (const tensor of this.#tensors ?? []) tensor.dispose();
    this.#tensors = null;
  }
}

// Padding layers.

import { pad } from '../ops.generated.js';
import { checkValue, either, finite, integer, listOf, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { Spatial } from './spatial.js';

/** One number around, or [before, after] an axis; negative ones crop (ConstantPad alone). */
export type PadSizes = number | readonly (readonly [before: number, after: number])[];
type Mode = 'constant' | 'reflect' | 'replicate' | 'circular';

// Circular padding of rank 1 to 3 and the others differ in the rule alone.
abstract class PadBase extends Spatial {
  readonly #padding: readonly (readonly [number, number])[];
  readonly #options: { mode: Mode; value?: number };

  protected constructor(name: string, rank: number, padding: PadSizes, mode: Mode, value?: number) {
    super(name, rank);
    const size = mode === 'constant' ? integer : whole();
    checkValue(name, 'padding', padding, {
      text: `${size.text}, or a list of ${rank} [before, after]`,
      test: either(size, listOf(listOf(size, 2), rank)).test,
    });
    if (mode === 'constant' && value !== undefined) checkValue(name, 'value', value, finite);
    this.#padding =
      typeof padding === 'number'
        ? Array.from({ length: rank }, () => [padding, padding] as const)
        : padding.map(([before, after]) => [before, after] as const);
    this.#options = value === undefined ? { mode } : { mode, value };
  }
  protected run(x: Tensor): Tensor {
    return pad(x, this.#padding, this.#options);
  }
}

/** Puts `value` around [N, C, L]. */
export class ConstantPad1d extends PadBase {
  constructor(padding: PadSizes, value: number) {
    super('ConstantPad1d', 1, padding, 'constant', value);
  }
}
/** Puts `value` around [N, C, H, W]. */
export class ConstantPad2d extends PadBase {
  constructor(padding: PadSizes, value: number) {
    super('ConstantPad2d', 2, padding, 'constant', value);
  }
}
/** Puts `value` around [N, C, D, H, W]. */
export class ConstantPad3d extends PadBase {
  constructor(padding: PadSizes, value: number) {
    super('ConstantPad3d', 3, padding, 'constant', value);
  }
}
/** Puts zeros around [N, C, L]. */
export class ZeroPad1d extends PadBase {
  constructor(padding: PadSizes) {
    super('ZeroPad1d', 1, padding, 'constant');
  }
}
/** Puts zeros around [N, C, H, W]. */
export class ZeroPad2d extends PadBase {
  constructor(padding: PadSizes) {
    super('ZeroPad2d', 2, padding, 'constant');
  }
}
/** Puts zeros around [N, C, D, H, W]. */
export class ZeroPad3d extends PadBase {
  constructor(padding: PadSizes) {
    super('ZeroPad3d', 3, padding, 'constant');
  }
}
/** Mirrors, the edge not repeated, [N, C, L]. */
export class ReflectionPad1d extends PadBase {
  constructor(padding: PadSizes) {
    super('ReflectionPad1d', 1, padding, 'reflect');
  }
}
/** Mirrors, the edge not repeated, [N, C, H, W]. */
export class ReflectionPad2d extends PadBase {
  constructor(padding: PadSizes) {
    super('ReflectionPad2d', 2, padding, 'reflect');
  }
}
/** Mirrors, the edge not repeated, [N, C, D, H, W]. */
export class ReflectionPad3d extends PadBase {
  constructor(padding: PadSizes) {
    super('ReflectionPad3d', 3, padding, 'reflect');
  }
}
/** Repeats the edges of [N, C, L]. */
export class ReplicationPad1d extends PadBase {
  constructor(padding: PadSizes) {
    super('ReplicationPad1d', 1, padding, 'replicate');
  }
}
/** Repeats the edges of [N, C, H, W]. */
export class ReplicationPad2d extends PadBase {
  constructor(padding: PadSizes) {
    super('ReplicationPad2d', 2, padding, 'replicate');
  }
}
/** Repeats the edges of [N, C, D, H, W]. */
export class ReplicationPad3d extends PadBase {
  constructor(padding: PadSizes) {
    super('ReplicationPad3d', 3, padding, 'replicate');
  }
}
/** Continues periodically [N, C, L]. */
export class CircularPad1d extends PadBase {
  constructor(padding: PadSizes) {
    super('CircularPad1d', 1, padding, 'circular');
  }
}
/** Continues periodically [N, C, H, W]. */
export class CircularPad2d extends PadBase {
  constructor(padding: PadSizes) {
    super('CircularPad2d', 2, padding, 'circular');
  }
}
/** Continues periodically [N, C, D, H, W]. */
export class CircularPad3d extends PadBase {
  constructor(padding: PadSizes) {
    super('CircularPad3d', 3, padding, 'circular');
  }
}

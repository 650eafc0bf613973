// The operations' schema as the module tells it (schemaJson), read by the wire encoding. What the operations mean is
// documented at their functions, which scripts/generate-ops.mjs writes at build time.

export type InputKind = string;

export interface InputSchema {
  readonly name: string;
  /** Which dtypes it takes. */
  readonly kind: InputKind;
  readonly optional: boolean;
  readonly variadic: boolean;
  /** Whether it has a gradient. */
  readonly diff: boolean;
  /** Whether the op writes into it. */
  readonly mutated: boolean;
  /** Place among positional parameters. */
  readonly order: number;
}

export interface OptionSchema {
  readonly name: string;
  readonly type: 'boolean' | 'integer' | 'number' | 'choice' | 'text' | 'dims' | 'padding';
  /** Null is a value. */
  readonly optional: boolean;
  readonly default: unknown;
  /** Of a choice; else empty. */
  readonly choices: readonly string[];
  readonly positional: boolean;
  readonly order: number;
}

export interface OutputSchema {
  readonly name: string;
  /** The option that shows it; empty: always there. */
  readonly when: string;
  readonly diff: boolean;
}

export interface OpSchema {
  readonly name: string;
  readonly inputs: readonly InputSchema[];
  readonly options: readonly OptionSchema[];
  readonly outputs: readonly OutputSchema[];
  /** Reached through other ops; not a function of the library. */
  readonly internal: boolean;
  /** Why it has none; else empty. */
  readonly noGradient: string;
}

export interface Schema {
  readonly maxRank: number;
  readonly ops: readonly OpSchema[];
}

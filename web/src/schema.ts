// The operations' schema as the module tells it (schemaJson). Read by the wire encoding here and, at build time, by
// scripts/generate-ops.mjs.

export type InputKind = string;

export interface InputSchema {
  readonly name: string;
  readonly doc: string;
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
  readonly doc: string;
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
  readonly doc: string;
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

// What a run may be told: by the flags of a Node script, the address of a page and the fields of its form. One rule for
// each setting, so all three refuse the same things in the same words. Knows of none of them.

/** What a setting may be. Values travel as text. */
export interface Rule<V = unknown> {
  /** What is allowed, to follow "it is". */
  readonly allowed: string;
  /** Taken where nothing is given. */
  readonly initial: V;
  /** What a person calls it; default: its name. */
  readonly label?: string;
  readonly field: Field;
  /** The value of a text; undefined if that is not allowed. */
  read(text: string): V | undefined;
}

/** How a form asks for it. */
export type Field =
  | { readonly kind: 'number'; readonly low: number; readonly high: number; readonly whole: boolean }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'switch' };

export type Rules = Readonly<Record<string, Rule>>;

/** The values that rules give. */
export type Values<R extends Rules> = {
  readonly [K in keyof R]: R[K] extends Rule<infer V> ? V : never;
};

/** A whole number from `low` to `high`. */
export const whole = (low: number, high: number, initial: number, label?: string): Rule<number> => ({
  allowed: `a whole number from ${low} to ${high}`,
  initial,
  ...(label === undefined ? {} : { label }),
  field: { kind: 'number', low, high, whole: true },
  read: (text) => (/^\d+$/.test(text) ? between(Number(text), low, high) : undefined),
});

/** A number from `low` to `high`. */
export const real = (low: number, high: number, initial: number, label?: string): Rule<number> => ({
  allowed: `a number from ${low} to ${high}`,
  initial,
  ...(label === undefined ? {} : { label }),
  field: { kind: 'number', low, high, whole: false },
  read: (text) =>
    /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? between(Number(text), low, high) : undefined,
});

/** One of some texts. */
export const oneOf = <const T extends readonly string[]>(
  choices: T,
  initial: T[number],
  label?: string,
): Rule<T[number]> => ({
  allowed: choices.join(' or '),
  initial,
  ...(label === undefined ? {} : { label }),
  field: { kind: 'choice', choices },
  read: (text) => choices.find((choice) => choice === text),
});

/** On or off. */
export const onOff = (initial: boolean, label?: string): Rule<boolean> => ({
  allowed: 'on or off',
  initial,
  ...(label === undefined ? {} : { label }),
  field: { kind: 'switch' },
  read: (text) => ({ on: true, off: false })[text],
});

/** As a rule, but "auto" (the default) leaves the choice to the library: undefined. */
export const orAuto = <V>(rule: Rule<V>): Rule<V | 'auto'> => ({
  ...rule,
  allowed: `${rule.allowed}, or auto`,
  initial: 'auto',
  read: (text) => (text === 'auto' || text === '' ? 'auto' : rule.read(text)),
});

const between = (value: number, low: number, high: number): number | undefined =>
  value >= low && value <= high ? value : undefined;

/** A value as flags and addresses have it. */
export const written = (value: unknown): string =>
  typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);

/** The settings that every task has, as rules. */
export const commonRules = ({ steps, lr }: { readonly steps: number; readonly lr: number }) => ({
  seed: whole(0, Number.MAX_SAFE_INTEGER, 1),
  steps: whole(1, 100000, steps),
  lr: real(1e-6, 10, lr, 'learning rate'),
});

/** What decides where a run computes, and none of its bits. */
export const machineRules = {
  variant: oneOf(['auto', 'threads', 'single'], 'auto', 'build'),
  threads: orAuto(whole(1, 64, 1)),
};

export interface Read<R extends Rules> {
  /** What was given and is allowed. */
  readonly values: Partial<Values<R>>;
  /** A sentence for each thing that is wrong. */
  readonly problems: readonly string[];
}

/** Checks what was given against the rules; `undefined` is a name without a value. */
export function readSettings<R extends Rules>(
  given: Iterable<readonly [name: string, text: string | undefined]>,
  rules: R,
  label = (name: string): string => name,
): Read<R> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, text] of given) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    const value = text === undefined ? undefined : rule?.read(text);
    if (!rule) {
      problems.push(`${label(name)} is unknown; allowed: ${Object.keys(rules).map(label).join(', ')}`);
    } else if (value === undefined) {
      const told = text === undefined ? 'has no value' : `is ${JSON.stringify(text)}`;
      problems.push(`${label(name)} ${told}; it is ${rule.allowed}`);
    } else values[name] = value;
  }
  return { values: values as Partial<Values<R>>, problems };
}

/** The values with the rules' own where none is given. */
export function complete<R extends Rules>(rules: R, values: Partial<Values<R>>): Values<R> {
  const initial = Object.entries(rules).map(([name, rule]) => [name, rule.initial]);
  return { ...(Object.fromEntries(initial) as Values<R>), ...values };
}

// What a run may be told, by the flags of the Node script and by the address of the page: one rule for each setting, so
// both refuse the same things in the same words. Knows of neither.

interface Rule {
  /** What is allowed, to follow "it is". */
  readonly allowed: string;
  fits(text: string): boolean;
}

const whole = (low: number, high: number): Rule => ({
  allowed: `a whole number from ${low} to ${high}`,
  fits: (text) => /^\d+$/.test(text) && Number(text) >= low && Number(text) <= high,
});
const oneOf = (...choices: string[]): Rule => ({
  allowed: choices.join(' or '),
  fits: (text) => choices.includes(text),
});

const rules = {
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  steps: whole(1, 100000),
  batch: whole(1, 4096),
  variant: oneOf('auto', 'threads', 'single'),
  threads: whole(1, 64),
  epochs: whole(1, 100),
  target: {
    allowed: 'a number from 0 to 1',
    fits: (text) => /^\d*\.?\d+$/.test(text) && Number(text) <= 1,
  },
  losses: { allowed: 'a file to write', fits: (text) => text !== '' },
  quiet: { allowed: 'given without a value', fits: (text) => text === '' },
} satisfies Record<string, Rule>;

export type SettingName = keyof typeof rules;

/** What the page takes. */
export const pageSettings = ['seed', 'steps', 'batch', 'variant', 'threads'] as const;
/** What the Node script takes. */
export const nodeSettings: readonly SettingName[] = [...pageSettings, 'epochs', 'target', 'losses', 'quiet'];

export interface Read {
  readonly values: Partial<Record<SettingName, string>>;
  /** A sentence for each thing that is wrong; what is wrong is not among the values. */
  readonly problems: string[];
}

/** Checks what was given against the rules of `names`; `undefined` is a name without a value. */
export function readSettings(
  given: Iterable<readonly [name: string, value: string | undefined]>,
  names: readonly SettingName[],
  label = (name: string): string => name,
): Read {
  const values: Partial<Record<SettingName, string>> = {};
  const problems: string[] = [];
  for (const [key, value] of given) {
    const name = names.find((known) => known === key);
    if (name === undefined) {
      problems.push(`${label(key)} is unknown; allowed: ${names.map(label).join(', ')}`);
    } else if (value === undefined || !rules[name].fits(value)) {
      const told = value === undefined ? 'has no value' : `is ${JSON.stringify(value)}`;
      problems.push(`${label(name)} ${told}; it is ${rules[name].allowed}`);
    } else values[name] = value;
  }
  return { values, problems };
}

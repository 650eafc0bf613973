// The one error class of the library. Nothing here knows of the module: errors may be made before init.

const brand = Symbol.for('omnigrad.OmnigradError');

/** Where an error came from. */
export interface ErrorDetails {
  /** The operation that refused, e.g. `conv`. */
  readonly op: string;
  /** A short word to branch on, e.g. `shape`, `dtype`, `option`, `index`, `disposed`, `memory`, `not-initialised`. */
  readonly code: string;
  /** Shapes of the operation's inputs, where it got that far. */
  readonly shapes?: readonly (readonly number[])[];
  readonly cause?: unknown;
}

/** `op: what is wrong, the shapes, the rule`. Everything omnigrad throws on purpose is one of these. */
export class OmnigradError extends Error {
  readonly op: string;
  readonly code: string;
  readonly shapes: readonly (readonly number[])[];

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'OmnigradError';
    this.op = details.op;
    this.code = details.code;
    this.shapes = details.shapes ?? [];
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for errors of any copy of the library in this realm; `instanceof` is only true for this copy's. */
  static is(value: unknown): value is OmnigradError {
    return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true;
  }
}

/** Makes (does not throw) `op: text`. */
export function failure(op: string, code: string, text: string, cause?: unknown): OmnigradError {
  return new OmnigradError(`${op}: ${text}`, { op, code, cause });
}

/** What a value is, for an error. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string' || typeof value === 'boolean')
    return `${typeof value} ${JSON.stringify(value)}`;
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === 'string' ? `an object of ${name}` : 'an object';
}

/** A value as an error shows it: short, and telling its type. */
export function shown(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol') return 'a symbol';
  if (Array.isArray(value))
    return value.length < 9 && depth < 4 // it may hold itself
      ? `[${value.map((item) => shown(item, depth + 1)).join(', ')}]`
      : `${value.length} values`;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : describe(value);
}

/** Too many arguments, of which numbers were probably meant as one list. */
export function tooMany(name: string, most: number, given: ArrayLike<unknown>): OmnigradError {
  const values = Array.from(given);
  const numbers = values.filter((value) => typeof value === 'number');
  const first = numbers.length < values.length ? 'x, ' : '';
  const spread = most > 0 && numbers.length >= values.length - 1;
  const hint = spread ? `; a list is one argument: ${name}(${first}[${numbers.join(', ')}])` : '';
  return failure(name, 'argument', `takes at most ${most} arguments; got ${values.length}${hint}`);
}

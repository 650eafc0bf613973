// Errors on their way from one realm to another. Structured clone keeps neither own fields nor classes; this keeps
// class where it is known, name, message, stack, own fields that can be cloned, cause, and the errors of an
// AggregateError.

import { OmnigradError } from '../errors.js';

export type PackedError =
  | { readonly kind: 'value'; readonly value: unknown }
  | {
      readonly kind: 'error';
      readonly omnigrad: boolean;
      readonly name: string;
      readonly message: string;
      readonly stack: string | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly cause?: PackedError;
      readonly errors?: readonly PackedError[];
    };

// Causes may form a circle.
const deepest = 8;

export function packError(error: unknown, depth = 0): PackedError {
  if (!(error instanceof Error)) return { kind: 'value', value: cloneable(error) ? error : String(error) };
  const { name, message, stack, cause } = error;
  const errors = (error as { errors?: unknown }).errors;
  const fields: Record<string, unknown> = {};
  // `code` of a DOMException is on its prototype, and says less than its name.
  for (const key of Object.keys(error)) {
    const value = (error as unknown as Record<string, unknown>)[key];
    if (key !== 'cause' && key !== 'errors' && key !== 'name' && cloneable(value)) fields[key] = value;
  }
  const deeper = depth < deepest;
  return {
    kind: 'error',
    omnigrad: OmnigradError.is(error),
    name,
    message,
    stack,
    fields,
    ...('cause' in error && deeper ? { cause: packError(cause, depth + 1) } : {}),
    ...(Array.isArray(errors) && deeper
      ? { errors: errors.map((e: unknown) => packError(e, depth + 1)) }
      : {}),
  };
}

function cloneable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return typeof value !== 'function' && typeof value !== 'symbol';
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

/** The error again. Its stack is the worker's, followed by where the page called from. */
export function unpackError(packed: PackedError, calledFrom?: string): unknown {
  if (packed.kind === 'value') return packed.value;
  const error = makeError(packed);
  if (packed.cause) define(error, 'cause', unpackError(packed.cause));
  if (packed.errors)
    define(
      error,
      'errors',
      packed.errors.map((e) => unpackError(e)),
    );
  const stack = packed.stack ?? `${packed.name}: ${packed.message}`;
  define(
    error,
    'stack',
    calledFrom === undefined ? stack : `${stack}\n    in the worker, called from\n${calledFrom}`,
  );
  return error;
}

const classes: Readonly<Record<string, new (message: string) => Error>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

function makeError({ omnigrad, name, message, fields }: PackedError & { kind: 'error' }): Error {
  if (omnigrad) {
    const { op, code, shapes } = fields as { op: string; code: string; shapes: number[][] };
    return Object.assign(new OmnigradError(message, { op, code, shapes }), fields);
  }
  const Class = Object.hasOwn(classes, name) ? classes[name] : undefined;
  const error = new (Class ?? Error)(message);
  if (error.name !== name) define(error, 'name', name);
  return Object.assign(error, fields);
}

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: false });
}

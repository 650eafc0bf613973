// A reader of Python's pickles that runs nothing: it builds lists, dicts, numbers and texts, and hands the few functions
// it was told of to its caller. Everything else is an error that names it. Only what protocols 2 to 5 write for such
// values is understood. https://github.com/python/cpython/blob/main/Lib/pickletools.py

import { Cursor, type Origin } from './bytes.js';

/** A Python dict; the other classes are a list, a tuple and a name. */
export class PyDict {
  readonly items = new Map<unknown, unknown>();
}
export class PyList {
  readonly items: unknown[] = [];
}
export class PyTuple {
  readonly items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}
/** A name that stands for a class or function of Python. */
export class PyGlobal {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** What a pickle may name, and what calling it gives. */
export interface Unpickler {
  /** True for the names that may stand in it. */
  allowed(name: string): boolean;
  /** The result of calling a name; undefined if it cannot be called, or not so. */
  call(name: string, args: readonly unknown[], offset: number): unknown;
  /** The object for a persistent id. */
  persistent(id: unknown, offset: number): unknown;
}

class Mark {
  declare readonly mark: true;
}

/** Reads one pickle. @throws OmnigradError `format`, naming file and offset */
export function unpickle(bytes: Uint8Array, origin: Origin, host: Unpickler): unknown {
  return new Machine(new Cursor(bytes, origin), host).run();
}

// Protocol 2 to 5 opcodes by their byte.
type Step = (machine: Machine, at: number) => void;

class Machine {
  readonly input: Cursor;
  readonly host: Unpickler;
  readonly stack: unknown[] = [];
  readonly memo = new Map<number, unknown>();
  done = false;

  constructor(input: Cursor, host: Unpickler) {
    this.input = input;
    this.host = host;
  }

  run(): unknown {
    while (!this.done) {
      const at = this.input.offset;
      const code = this.input.u8('the pickle');
      const step = steps.get(code);
      if (!step) {
        const name = code > 32 && code < 127 ? `'${String.fromCharCode(code)}'` : `0x${code.toString(16)}`;
        throw this.input.fail(`opcode ${name} is not among those that state dicts need`, at);
      }
      step(this, at);
    }
    return this.pop(this.input.offset);
  }

  pop(at: number): unknown {
    const value = this.stack.pop();
    if (value === undefined || value instanceof Mark)
      throw this.input.fail('the stack has no value here', at);
    return value;
  }

  top(at: number): unknown {
    const value = this.stack.at(-1);
    if (value === undefined || value instanceof Mark)
      throw this.input.fail('the stack has no value here', at);
    return value;
  }

  /** All above the last mark, which goes too. */
  popMark(at: number): unknown[] {
    let mark = this.stack.length - 1;
    while (mark >= 0 && !(this.stack[mark] instanceof Mark)) mark--;
    if (mark < 0) throw this.input.fail('there is no mark on the stack', at);
    const values = this.stack.splice(mark);
    values.shift();
    return values;
  }

  remember(index: number, at: number): void {
    this.memo.set(index, this.top(at));
  }

  recall(index: number, at: number): void {
    const value = this.memo.get(index);
    if (value === undefined) throw this.input.fail(`memo ${index} is empty`, at);
    this.stack.push(value);
  }

  global(name: string, at: number): void {
    if (!this.host.allowed(name))
      throw this.input.fail(
        `the file wants Python's '${name}'; only names that tensors need are allowed`,
        at,
      );
    this.stack.push(new PyGlobal(name));
  }

  reduce(at: number): void {
    const args = this.pop(at);
    const callee = this.pop(at);
    if (!(callee instanceof PyGlobal) || !(args instanceof PyTuple))
      throw this.input.fail('what is called here is no function that was named', at);
    const result = this.host.call(callee.name, args.items, at);
    if (result === undefined) throw this.input.fail(`'${callee.name}' cannot be called so`, at);
    this.stack.push(result);
  }

  /** Sets pairs of the dict below them. */
  setItems(pairs: readonly unknown[], at: number): void {
    const dict = this.top(at);
    if (!(dict instanceof PyDict) || pairs.length % 2 !== 0)
      throw this.input.fail('items are set in what is no dict', at);
    for (let i = 0; i < pairs.length; i += 2) dict.items.set(this.#key(pairs[i], at), pairs[i + 1]);
  }

  #key(key: unknown, at: number): unknown {
    if (typeof key === 'object' && key !== null)
      throw this.input.fail('a key is neither a text nor a number', at);
    return key;
  }

  append(values: readonly unknown[], at: number): void {
    const list = this.top(at);
    if (!(list instanceof PyList)) throw this.input.fail('values are appended to what is no list', at);
    for (const value of values) list.items.push(value);
  }

  /** Attributes of a dict, as state dicts' `_metadata`, are left out. */
  build(at: number): void {
    this.pop(at);
    if (!(this.top(at) instanceof PyDict)) throw this.input.fail('attributes are set of what is no dict', at);
  }

  tuple(count: number, at: number): void {
    const items = Array.from({ length: count }, () => this.pop(at)).reverse();
    this.stack.push(new PyTuple(items));
  }

  /** A whole number of `count` bytes, two's complement. */
  long(count: number): void {
    const bytes = this.input.take(count, 'a number');
    let hex = '';
    for (const byte of bytes) hex = byte.toString(16).padStart(2, '0') + hex;
    const value = BigInt.asIntN(8 * count, BigInt(`0x${hex || '0'}`));
    const small = Number(value);
    this.stack.push(Number.isSafeInteger(small) ? small : value);
  }

  line(): string {
    const { bytes, offset } = this.input;
    const end = bytes.indexOf(10, offset);
    const text = this.input.text((end < 0 ? bytes.length : end) - offset, 'a name');
    this.input.skip(1, 'a name');
    return text;
  }
}

// Texts that Python 2 wrote have no encoding: they are names.
const latin = (bytes: Uint8Array): string => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');

const steps = new Map<number, Step>();
const on = (code: number | string, step: Step): void => {
  steps.set(typeof code === 'string' ? code.charCodeAt(0) : code, step);
};
const pushing = (code: number | string, make: (input: Cursor) => unknown): void => {
  on(code, ({ stack, input }) => stack.push(make(input)));
};

on(0x80, ({ input }, at) => {
  const version = input.u8('the protocol');
  if (version > 5) throw input.fail(`protocol ${version}; those up to 5 are read`, at);
});
on(0x95, ({ input }) => input.u64('a frame'));
on('.', (machine) => (machine.done = true));
on('(', ({ stack }) => stack.push(new Mark()));
on('0', (machine, at) => machine.pop(at));
on('1', (machine, at) => machine.popMark(at));
on('2', (machine, at) => machine.stack.push(machine.top(at)));

pushing('N', () => null);
pushing(0x88, () => true);
pushing(0x89, () => false);
pushing('J', (input) => input.i32('a number'));
pushing('K', (input) => input.u8('a number'));
pushing('M', (input) => input.u16('a number'));
pushing('G', (input) => input.f64be('a number'));
on(0x8a, (machine) => {
  machine.long(machine.input.u8('a number'));
});
on(0x8b, (machine, at) => {
  const count = machine.input.i32('a number');
  // Longer ones take long to convert, and no state dict has them.
  if (count < 0 || count > 1024) throw machine.input.fail(`a number of ${count} bytes`, at);
  machine.long(count);
});

pushing('X', (input) => input.text(input.u32('a text'), 'a text'));
pushing(0x8c, (input) => input.text(input.u8('a text'), 'a text'));
pushing(0x8d, (input) => input.text(input.u64('a text'), 'a text'));
pushing('U', (input) => latin(input.take(input.u8('a text'), 'a text')));
pushing('T', (input) => latin(input.take(input.u32('a text'), 'a text')));
pushing('C', (input) => input.take(input.u8('bytes'), 'bytes'));
pushing('B', (input) => input.take(input.u32('bytes'), 'bytes'));
pushing(0x8e, (input) => input.take(input.u64('bytes'), 'bytes'));

pushing('}', () => new PyDict());
pushing(']', () => new PyList());
pushing(')', () => new PyTuple([]));
on('t', (machine, at) => machine.stack.push(new PyTuple(machine.popMark(at))));
on(0x85, (machine, at) => {
  machine.tuple(1, at);
});
on(0x86, (machine, at) => {
  machine.tuple(2, at);
});
on(0x87, (machine, at) => {
  machine.tuple(3, at);
});
on('s', (machine, at) => {
  const value = machine.pop(at);
  machine.setItems([machine.pop(at), value], at);
});
on('u', (machine, at) => {
  machine.setItems(machine.popMark(at), at);
});
on('a', (machine, at) => {
  machine.append([machine.pop(at)], at);
});
on('e', (machine, at) => {
  machine.append(machine.popMark(at), at);
});

on('q', (machine, at) => {
  machine.remember(machine.input.u8('the memo'), at);
});
on('r', (machine, at) => {
  machine.remember(machine.input.u32('the memo'), at);
});
on(0x94, (machine, at) => {
  machine.remember(machine.memo.size, at);
});
on('h', (machine, at) => {
  machine.recall(machine.input.u8('the memo'), at);
});
on('j', (machine, at) => {
  machine.recall(machine.input.u32('the memo'), at);
});

on('c', (machine, at) => {
  const module = machine.line();
  machine.global(`${module}.${machine.line()}`, at);
});
on(0x93, (machine, at) => {
  const name = machine.pop(at);
  const module = machine.pop(at);
  if (typeof name !== 'string' || typeof module !== 'string')
    throw machine.input.fail('a name is no text', at);
  machine.global(`${module}.${name}`, at);
});
on('R', (machine, at) => {
  machine.reduce(at);
});
on('b', (machine, at) => {
  machine.build(at);
});
on('Q', (machine, at) => machine.stack.push(machine.host.persistent(machine.pop(at), at)));

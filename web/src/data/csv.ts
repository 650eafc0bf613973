// CSV as RFC 4180 has it, row by row, so that files may be larger than memory. Own code, since what is needed is a
// machine of four states that stops between any two pieces of text; libraries bring thirty kilobytes of downloads,
// workers and guesses at types beside it.

import { tensor } from '../create.js';
import { type ComputeDType, rangeOf } from '../dtype.js';
import { failure, shown } from '../errors.js';
import type { Source } from '../io/places.js';
import { nameOf, streamBytes } from '../io/source.js';
import { anything, boolean, checkOptions } from '../options.js';
import { stack } from '../ops.generated.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import type { Stream } from './dataset.js';

export interface CsvOptions {
  /** Whether the first row has the columns' names; else they are '0', '1', ... Default true. */
  readonly header?: boolean;
  /** Between fields, one character; default ','. */
  readonly delimiter?: string;
  /** What columns hold, by name; others are as the first row of data looks: float64 for a number, else text. */
  readonly dtypes?: Readonly<Record<string, ComputeDType | 'text'>>;
}

/** A row: numbers or texts by column. */
export type CsvRow = Record<string, number | string>;

const csvRules = {
  header: boolean,
  delimiter: {
    text: 'one character, no quote or line end',
    test: (v: unknown) => typeof v === 'string' && /^[^"\r\n]$/u.test(v),
  },
  dtypes: anything,
};
const columnTypes = ['text', 'float32', 'float64', 'int32', 'int64', 'uint8', 'bool'];

/** The rows of a file or text stream, as they are read. A pass reads the file anew. */
export function csvRows(source: Source, options: CsvOptions = {}): Stream<CsvRow> {
  checkCsv('csvRows', options);
  return {
    async *[Symbol.asyncIterator]() {
      const rows = new Rows('csvRows', nameOf(source), options);
      const decoder = new TextDecoder();
      for await (const piece of streamBytes('csvRows', source))
        yield* rows.push(decoder.decode(piece, { stream: true }));
      yield* rows.end(decoder.decode());
    },
  };
}

/** A file by columns. */
export async function readCsv(source: Source, options: CsvOptions = {}): Promise<CsvTable> {
  checkCsv('readCsv', options);
  const rows: CsvRow[] = [];
  const reader = new Rows('readCsv', nameOf(source), options);
  const decoder = new TextDecoder();
  for await (const piece of streamBytes('readCsv', source))
    rows.push(...reader.push(decoder.decode(piece, { stream: true })));
  rows.push(...reader.end(decoder.decode()));
  return new CsvTable(rows, reader.columns, reader.types);
}

/** A text by columns. */
export function parseCsv(csv: string, options: CsvOptions = {}): CsvTable {
  if (typeof csv !== 'string')
    throw failure('parseCsv', 'argument', `csv is ${shown(csv)}; it must be a string`);
  checkCsv('parseCsv', options);
  const reader = new Rows('parseCsv', 'the text', options);
  const rows = [...reader.push(csv), ...reader.end('')];
  return new CsvTable(rows, reader.columns, reader.types);
}

function checkCsv(op: string, options: CsvOptions): void {
  checkOptions(op, options, csvRules);
  for (const [name, type] of Object.entries(options.dtypes ?? {}))
    if (!columnTypes.includes(type))
      throw failure(
        op,
        'option',
        `column '${name}' is ${shown(type)}; it must be one of ${columnTypes.join(', ')}`,
      );
}

/** What a column holds: numbers of a dtype, or text. */
export type ColumnType = ComputeDType | 'text';

/** Columns of numbers and texts. */
export class CsvTable {
  readonly rows: readonly CsvRow[];
  readonly columns: readonly string[];
  readonly #types: readonly ColumnType[];

  constructor(rows: readonly CsvRow[], columns: readonly string[], types: readonly ColumnType[]) {
    this.rows = rows;
    this.columns = columns;
    this.#types = types;
  }

  get length(): number {
    return this.rows.length;
  }

  /** What a column holds. */
  column(name: string): (number | string)[] {
    this.#typeOf(name);
    return this.rows.map((row) => row[name] as number | string);
  }

  /** A column as a tensor [N], or several as one [N, columns]. @throws OmnigradError `dtype` for texts */
  tensor(names: string | readonly string[], options: { readonly dtype?: ComputeDType } = {}): Tensor {
    const one = (name: string): Tensor => {
      const type = this.#typeOf(name);
      if (type === 'text')
        throw failure('CsvTable', 'dtype', `column '${name}' has texts; map them to numbers first`);
      return tensor(this.column(name) as number[], { shape: [this.length], dtype: options.dtype ?? type });
    };
    return typeof names === 'string' ? one(names) : scope(() => stack(names.map(one), 1));
  }

  #typeOf(name: string): ColumnType {
    const type = this.#types[this.columns.indexOf(name)];
    if (type === undefined)
      throw failure(
        'CsvTable',
        'argument',
        `there is no column '${name}'; there are ${this.columns.join(', ')}`,
      );
    return type;
  }
}

/** Fields and rows of text that comes in pieces. */
class Rows {
  columns: string[] = [];
  types: ColumnType[] = [];
  readonly #op: string;
  readonly #name: string;
  readonly #options: CsvOptions;
  readonly #delimiter: string;
  #fields: { text: string; quoted: boolean }[] = [];
  #text = '';
  #quoted = false;
  // Inside quotes, or behind a quote that may be the last or the first of two.
  #state: 'plain' | 'quoted' | 'quote' = 'plain';
  #line = 1;
  #rowLine = 1;
  #first = true;
  #afterReturn = false;

  constructor(op: string, name: string, options: CsvOptions) {
    this.#op = op;
    this.#name = name;
    this.#options = options;
    this.#delimiter = options.delimiter ?? ',';
  }

  *push(piece: string): Generator<CsvRow> {
    for (const c of piece) {
      const afterReturn = this.#afterReturn;
      this.#afterReturn = false;
      if (this.#state === 'quoted') {
        if (c === '"') this.#state = 'quote';
        else this.#add(c);
      } else if (c === '"') {
        if (this.#state === 'plain' && (this.#text !== '' || this.#quoted))
          throw this.#wrong('a quote within a field that has none around it');
        if (this.#state === 'quote') this.#text += c;
        this.#state = 'quoted';
        this.#quoted = true;
      } else if (c === this.#delimiter) {
        this.#field();
      } else if (c === '\n' || c === '\r') {
        if (c === '\n' && afterReturn) continue;
        this.#afterReturn = c === '\r';
        const row = this.#row();
        this.#line++;
        this.#rowLine = this.#line;
        if (row) yield row;
      } else if (this.#state === 'quote') {
        throw this.#wrong(`'${c}' behind the quote that ends a field`);
      } else if (!(this.#first && this.#text === '' && c === '\ufeff')) {
        this.#text += c;
      }
    }
  }

  *end(piece: string): Generator<CsvRow> {
    yield* this.push(piece);
    if (this.#state === 'quoted') throw this.#wrong('the file ends within quotes');
    const row = this.#row();
    if (row) yield row;
  }

  #add(c: string): void {
    if (c === '\n') this.#line++;
    this.#text += c;
  }

  #field(): void {
    this.#fields.push({ text: this.#text, quoted: this.#quoted });
    this.#text = '';
    this.#quoted = false;
    this.#state = 'plain';
  }

  // Empty lines are none.
  #row(): CsvRow | undefined {
    if (this.#fields.length === 0 && this.#text === '' && !this.#quoted) return undefined;
    this.#field();
    const fields = this.#fields;
    this.#fields = [];
    if (this.#first) {
      this.#first = false;
      const header = this.#options.header ?? true;
      this.columns = fields.map(({ text }, i) => (header ? text : String(i)));
      const twice = this.columns.find((name, i) => this.columns.indexOf(name) !== i);
      if (twice !== undefined) throw this.#wrong(`column '${twice}' is there twice`);
      const unknown = Object.keys(this.#options.dtypes ?? {}).find((name) => !this.columns.includes(name));
      if (unknown !== undefined)
        throw this.#wrong(`there is no column '${unknown}'; there are ${this.columns.join(', ')}`);
      if (header) return undefined;
    }
    if (fields.length !== this.columns.length)
      throw this.#wrong(`${fields.length} fields; the first row has ${this.columns.length}`);
    if (this.types.length === 0)
      this.types = fields.map(
        ({ text, quoted }, i) =>
          this.#options.dtypes?.[this.columns[i] as string] ??
          (!quoted && isNumber(text) ? 'float64' : 'text'),
      );
    return Object.fromEntries(
      fields.map(({ text }, i) => [this.columns[i] as string, this.#value(text, i)] as const),
    );
  }

  #value(field: string, column: number): number | string {
    const type = this.types[column] as ColumnType;
    if (type === 'text') return field;
    const name = this.columns[column] as string;
    if (type === 'bool') {
      const value = { true: 1, false: 0, '1': 1, '0': 0 }[field.trim().toLowerCase()];
      if (value === undefined)
        throw this.#wrong(`column '${name}' has '${field}'; bool is true, false, 1 or 0`);
      return value;
    }
    // A field without anything is a number that is not there.
    if (field.trim() === '' && !rangeOf(type)) return NaN;
    const value = toNumber(field);
    const range = rangeOf(type);
    const fits = !range || (Number.isSafeInteger(value) && value >= range[0] && value <= range[1]);
    if (!isNumber(field) || !fits)
      throw this.#wrong(`column '${name}' has '${field}'; it must be a number of ${type}`);
    return value;
  }

  #wrong(text: string): Error {
    return failure(this.#op, 'format', `${this.#name}, line ${this.#rowLine}: ${text}`);
  }
}

const toNumber = (field: string): number =>
  Number(field.trim().toLowerCase().replace(/^([+-]?)inf(inity)?$/, '$1Infinity')); // prettier-ignore

const isNumber = (field: string): boolean =>
  /^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)\s*$/i.test(field);

// A table of what a network is made of, from one run of it.

import { noGrad } from '../autograd.js';
import { itemSize } from '../dtype.js';
import { aTensor, checkValue } from '../options.js';
import { scope } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';
import { type AnyModule, Module, checkModule } from './module.js';

/** One module of a network. */
export interface SummaryRow {
  /** Dotted, '' for the network itself. */
  readonly name: string;
  /** The class. */
  readonly type: string;
  /** Of the first call's output tensors; none if it was not called. */
  readonly outputShapes: readonly (readonly number[])[];
  /** Elements of its own parameters, those of submodules not included. */
  readonly parameters: number;
  /** Bytes of its own parameters and buffers. */
  readonly bytes: number;
}

/** What a network is made of. As a string it is a table. */
export interface Summary {
  readonly rows: readonly SummaryRow[];
  /** Elements of all parameters, shared ones counted once. */
  readonly parameters: number;
  /** Of those, elements that require grad. */
  readonly trainable: number;
  /** Bytes of all parameters and buffers. */
  readonly bytes: number;
  toString(): string;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
const bytesOf = (tensors: readonly Tensor[]): number => sum(tensors.map((x) => x.numel * itemSize(x.dtype)));

function shapesIn(value: unknown): (readonly number[])[] {
  if (isTensor(value)) return [value.shape];
  if (Array.isArray(value)) return value.flatMap(shapesIn);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(shapesIn) : [];
}

/** Runs a network once, in eval and unrecorded, and tells of each of its modules what it gave and holds. */
export function summary<In extends unknown[]>(module: Module<In, unknown>, ...inputs: In): Summary {
  checkModule('summary', 'module', module);
  if (inputs.length > 0) checkValue('summary', 'the first input', inputs[0], aTensor);
  const all: [string, AnyModule][] = [...module.namedModules()];
  const shapes = new Map<AnyModule, (readonly number[])[]>();
  const modes = all.map(([, part]) => part.training);
  const hooks = all.map(([, part]) =>
    part.registerForwardHook((_module, _inputs, output) => {
      if (!shapes.has(part)) shapes.set(part, shapesIn(output));
    }),
  );
  try {
    module.eval();
    noGrad(() => {
      scope(() => {
        module.call(...inputs);
      });
    });
  } finally {
    for (const hook of hooks) hook.remove();
    setModes(all, modes);
  }
  const owners = new Set<Tensor>();
  const own = (tensors: readonly Tensor[], part: AnyModule): Tensor[] => {
    const below = new Set(part.children().flatMap((child) => [...child.parameters(), ...child.buffers()]));
    return tensors.filter((x) => !below.has(x) && !owners.has(x) && owners.add(x).size > 0);
  };
  const rows = all.map(([name, part]): SummaryRow => {
    const parameters = own(part.parameters(), part);
    return {
      name,
      type: part.constructor.name,
      outputShapes: shapes.get(part) ?? [],
      parameters: sum(parameters.map((x) => x.numel)),
      bytes: bytesOf([...parameters, ...own(part.buffers(), part)]),
    };
  });
  const parameters = module.parameters();
  const totals = {
    parameters: sum(parameters.map((x) => x.numel)),
    trainable: sum(parameters.map((x) => (x.requiresGrad ? x.numel : 0))),
    bytes: bytesOf([...parameters, ...module.buffers()]),
  };
  return { rows, ...totals, toString: () => table(rows, totals) };
}

// Each module's own mode; train() would set those below as well.
function setModes(all: readonly (readonly [string, AnyModule])[], modes: readonly boolean[]): void {
  // From the top down, so that what is below is set last.
  all.forEach(([, part], i) => part.train(modes[i]));
}

function table(
  rows: readonly SummaryRow[],
  totals: Pick<Summary, 'parameters' | 'trainable' | 'bytes'>,
): string {
  const number = (n: number): string => n.toLocaleString('en-US');
  const cells = rows.map(({ name, type, outputShapes, parameters, bytes }) => {
    const depth = name === '' ? 0 : name.split('.').length;
    const shapes = outputShapes.map((shape) => `[${shape.join(', ')}]`).join(' ');
    const label = `${'  '.repeat(depth)}${type}${name === '' ? '' : ` (${name})`}`;
    return [label, shapes, number(parameters), number(bytes)] as const;
  });
  const all = [['Layer', 'Output shape', 'Parameters', 'Bytes'] as const, ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((cell) => cell[column]?.length ?? 0)));
  const line = (cell: readonly string[]): string =>
    cell
      .map((text, i) => (i < 2 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const [head, ...body] = all.map(line);
  const rule = '-'.repeat(sum(widths) + 6);
  const { parameters, trainable, bytes } = totals;
  const foot = `${number(parameters)} parameters, ${number(trainable)} of them trained; ${number(bytes)} bytes`;
  return [head, rule, ...body, rule, foot].join('\n');
}

// Tensors as text. Pure: takes elements and shape.

import type { DType, TypedArray } from './dtype.js';

/** More elements than this are shortened to the first and last few of each dimension. */
const longest = 1000;
const edge = 3;

/** `tensor([[1, 2], [3, 4]], dtype=float64)`. float32 and bool go unsaid: they are what JavaScript's values make. */
export function printTensor(
  values: TypedArray,
  shape: readonly number[],
  dtype: DType,
  requiresGrad: boolean,
): string {
  const show = elementPrinter(dtype);
  const short = values.length > longest;
  const body = printAxis(values, shape, 0, 0, short, show, 'tensor('.length);
  const notes = [body];
  if (values.length === 0 && shape.length !== 1) notes.push(`shape=[${shape.join(', ')}]`);
  if (dtype !== 'float32' && dtype !== 'bool') notes.push(`dtype=${dtype}`);
  if (requiresGrad) notes.push('requiresGrad=true');
  return `tensor(${notes.join(', ')})`;
}

function printAxis(
  values: TypedArray,
  shape: readonly number[],
  axis: number,
  offset: number,
  short: boolean,
  show: (value: number | bigint) => string,
  indent: number,
): string {
  if (axis === shape.length) return show(values[offset] ?? NaN);
  const size = shape[axis] ?? 0;
  const stride = shape.slice(axis + 1).reduce((product, n) => product * n, 1);
  const cut = short && size > 2 * edge;
  const parts: string[] = [];
  for (let i = 0; i < size; i++) {
    if (cut && i === edge) {
      parts.push('...');
      i = size - edge;
    }
    parts.push(printAxis(values, shape, axis + 1, offset + i * stride, short, show, indent + 1));
  }
  const inner = axis === shape.length - 1;
  const wide = parts.reduce((sum, part) => sum + part.length + 2, indent) > 100;
  // One line where it fits; otherwise rows stand under each other, as in PyTorch.
  const separator =
    !inner && (wide || parts.some((part) => part.includes('\n'))) ? `,\n${' '.repeat(indent + 1)}` : ', ';
  return `[${parts.join(separator)}]`;
}

function elementPrinter(dtype: DType): (value: number | bigint) => string {
  if (dtype === 'bool') return (value) => (Number(value) !== 0 ? 'true' : 'false');
  if (dtype === 'float32' || dtype === 'float64') return (value) => printFloat(Number(value));
  return String;
}

function printFloat(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return Object.is(value, -0) ? '-0' : String(value);
  return String(Number(value.toPrecision(5)));
}

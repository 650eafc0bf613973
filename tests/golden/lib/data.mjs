// Reads .safetensors files and the golden cases in them. Knows nothing of ops.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const arrays = { F32: Float32Array, F64: Float64Array, I32: Int32Array, I64: BigInt64Array, U8: Uint8Array };

/** A file's metadata, its tensors' names, and `tensor(name)`: { dtype, shape, data } or undefined. */
export function readSafetensors(path) {
  const bytes = readFileSync(path);
  const headerSize = Number(bytes.readBigUInt64LE(0));
  const { __metadata__: metadata = {}, ...entries } = JSON.parse(bytes.toString('utf8', 8, 8 + headerSize));
  const tensor = (name) => {
    const entry = entries[name];
    if (!entry) return undefined;
    const [begin, end] = entry.data_offsets;
    const copy = Uint8Array.from(bytes.subarray(8 + headerSize + begin, 8 + headerSize + end));
    return { dtype: entry.dtype, shape: entry.shape, data: new arrays[entry.dtype](copy.buffer) };
  };
  return { path, metadata, names: Object.keys(entries), tensor };
}

/** Every case of every file of a folder: [{ file, family, ...case }]. */
export function readCases(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.safetensors'));
  return names.sort().flatMap((name) => {
    const file = readSafetensors(join(folder, name));
    const cases = JSON.parse(file.metadata.cases ?? '[]');
    return cases.map((one) => ({ file, family: name.replace('.safetensors', ''), ...one }));
  });
}

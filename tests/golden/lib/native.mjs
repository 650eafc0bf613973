// Runs plans in the native program, all at once: it reads a JSON of plans and writes a .safetensors of what came out.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSafetensors } from './data.mjs';

const program = fileURLToPath(
  new URL('../../../build/native/tests/golden/native/omnigrad_golden', import.meta.url),
);
const dtypes = { F32: 'float32', F64: 'float64', I32: 'int32', I64: 'int64', U8: 'bool' };

function call(...args) {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${signal ?? status}: ${stderr.trim()}`);
  return stdout;
}

/** { schema, runAll(plans, dtypes): (plan number, dtype) => run } */
export function startNative() {
  if (!existsSync(program)) {
    throw new Error(
      `${program} is not there; build it: cmake --build --preset native --target omnigrad_golden`,
    );
  }
  return { schema: JSON.parse(call('--schema')), runAll };
}

function runAll(plans, wanted) {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-golden-'));
  try {
    const [planFile, resultFile] = [join(folder, 'plans.json'), join(folder, 'results.safetensors')];
    writeFileSync(planFile, JSON.stringify({ dtypes: wanted, plans }));
    call(planFile, resultFile);
    const names = JSON.parse(readFileSync(`${resultFile}.json`, 'utf8'));
    const results = readSafetensors(resultFile);
    return (number, dtype) => {
      const { error, tensors } = names[`${number}/${dtype}`];
      if (error !== undefined) return { error };
      const entries = tensors.map((name) => [name, toTensor(results.tensor(`${number}/${dtype}/${name}`))]);
      return { tensors: Object.fromEntries(entries) };
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const toTensor = ({ dtype, shape, data }) => ({ dtype: dtypes[dtype], shape, data });

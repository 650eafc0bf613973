// Runs plans in the native program, all at once: it reads a JSON of plans and writes a .safetensors of what came out.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSafetensors } from './data.mjs';

const dtypes = { F32: 'float32', F64: 'float64', I32: 'int32', I64: 'int64', U8: 'bool' };

function call(program, ...args) {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${signal ?? status}: ${stderr.trim()}`);
  return stdout;
}

/** { schema, runAll(plans, dtypes): (plan number, dtype) => run } of a preset's build. */
export function startNative(preset) {
  const program = fileURLToPath(
    new URL(`../../../build/${preset}/tests/golden/native/omnigrad_golden`, import.meta.url),
  );
  if (!existsSync(program)) {
    const command = `cmake --build --preset ${preset} --target omnigrad_golden`;
    throw new Error(`${program} is not there; build it: ${command}`);
  }
  return {
    schema: JSON.parse(call(program, '--schema')),
    runAll: (plans, wanted) => runAll(program, plans, wanted),
  };
}

function runAll(program, plans, wanted) {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-golden-'));
  try {
    const [planFile, resultFile] = [join(folder, 'plans.json'), join(folder, 'results.safetensors')];
    writeFileSync(planFile, JSON.stringify({ dtypes: wanted, plans }));
    call(program, planFile, resultFile);
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

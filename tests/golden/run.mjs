// Runs the golden cases and says what is wrong.
// usage: node tests/golden/run.mjs [--variant threads|single|native] [--dtype float32|float64] [--only OP[,OP]]
//        [--dir DIR] [--json FILE] [--preset native|native-asan|native-tsan]
// A case in one dtype is one check. Exit: 0 all passed, 1 some failed, 2 nothing could be run.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { check } from './lib/check.mjs';
import { readCases } from './lib/data.mjs';
import { camel, planOf } from './lib/plan.mjs';
import { report } from './lib/report.mjs';

class UsageError extends Error {}

const choices = { variant: ['threads', 'single', 'native'], dtype: ['float32', 'float64'] };

function options() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      variant: { ...text, default: 'threads' },
      dir: { ...text, default: fileURLToPath(new URL('data', import.meta.url)) },
      preset: { ...text, default: 'native' },
      dtype: text,
      only: text,
      json: text,
    },
  });
  for (const [name, allowed] of Object.entries(choices)) {
    if (values[name] !== undefined && !allowed.includes(values[name])) {
      throw new UsageError(`--${name} is ${values[name]}; it must be one of ${allowed.join(', ')}`);
    }
  }
  return { ...values, dtypes: values.dtype ? [values.dtype] : choices.dtype };
}

function select({ dir, only, variant }) {
  const names = only?.split(',');
  const cases = readCases(dir).filter(
    ({ op }) => !names || names.includes(op) || names.includes(camel(op)),
  );
  // Schedules have no op: they are JavaScript.
  const here = cases.filter(({ op }) => variant !== 'native' || !op.startsWith('lr.'));
  if (here.length < cases.length)
    console.log(`${cases.length - here.length} cases of lr.* are JavaScript's alone`);
  if (here.length === 0) throw new UsageError(`no case${only ? ` of ${only}` : ''} in ${dir}`);
  return here;
}

async function start({ variant, preset }) {
  if (variant === 'native') return (await import('./lib/native.mjs')).startNative(preset);
  return (await import('./lib/package.mjs')).startPackage(variant);
}

function tryPlan(golden, schema) {
  try {
    return planOf(golden, schema);
  } catch (error) {
    return { error: error.message };
  }
}

async function main() {
  const chosen = options();
  const cases = select(chosen);
  const { schema, run, runAll } = await start(chosen);
  const plans = cases.map((golden) => tryPlan(golden, schema));
  const batch = runAll?.(plans, chosen.dtypes);
  const results = cases.flatMap((golden, i) =>
    chosen.dtypes.map((dtype) => {
      const plan = plans[i];
      if (plan.error !== undefined) return check(golden, plan, dtype, plan);
      return check(golden, plan, dtype, batch ? batch(i, dtype) : run(plan, golden.file, dtype));
    }),
  );
  if (chosen.json) {
    // JSON has no Infinity
    const plain = results.map((one) => ({ ...one, error: Number.isFinite(one.error) ? one.error : null }));
    writeFileSync(chosen.json, `${JSON.stringify({ variant: chosen.variant, results: plain }, null, 1)}\n`);
  }
  return report(results) === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const usage = error instanceof UsageError || String(error.code).startsWith('ERR_PARSE_ARGS');
  console.error(`golden: ${usage ? error.message : error.stack}`);
  process.exitCode = 2;
}

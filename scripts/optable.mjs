// npm run optable: writes tests/ops.md, the table of ops, from the schema and from what the tests measure while it runs:
// gradient checks by differences on each build, and the golden cases on each build. Nothing in it is typed by hand.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, cmake, packageBuild } from './lib/build.mjs';
import { capture, fail, root, say } from './lib/run.mjs';
import { documentedSchema } from './lib/schema.mjs';
import { setUp } from './lib/setup.mjs';

const builds = {
  native: { preset: 'native', program: ['build/native/tests/cpp/omnigrad_tests'] },
  single: { preset: 'wasm-single', program: ['node', 'build/wasm-single/tests/cpp/omnigrad_tests.js'] },
  threads: { preset: 'wasm-threads', program: ['node', 'build/wasm-threads/tests/cpp/omnigrad_tests.js'] },
};
const checks = ['FirstOrder', 'SecondOrder', 'ThirdOrder', 'Float32AgreesWithFloat64'];

// What a kind of input takes, in the page's words.
const kinds = {
  floating: 'float32, float64',
  number: 'floating, integers',
  any: 'all',
  free: 'all',
  storage: 'all, halves too',
  index: 'integers',
  boolean: 'bool',
};

setUp({ tests: true });
await build('the package', packageBuild);
const scratch = mkdtempSync(join(tmpdir(), 'omnigrad-optable-'));
try {
  const measured = {};
  for (const name of Object.keys(builds)) measured[name] = await measure(name);
  const rows = (await documentedSchema()).ops.filter((op) => !op.internal);
  writeFileSync(join(root, 'tests/ops.md'), page(rows, measured));
  const failed = Object.values(measured).reduce((sum, results) => sum + failures(results), 0);
  say(`tests/ops.md: ${rows.length} ops, ${failed} failed checks`);
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true });
}

/** { checks: Map("FirstOrder/relu" -> { passed, zero }), golden: Map(op -> { passed, failed }) } of one build. */
async function measure(name) {
  const { preset, program } = builds[name];
  await build(
    `the ${name} tests`,
    cmake(preset, 'omnigrad_tests', ...(name === 'native' ? ['omnigrad_golden'] : [])),
  );
  const [report, cases] = [join(scratch, `${name}-checks.json`), join(scratch, `${name}-golden.json`)];
  const [command, ...args] = program;
  const filter = `--gtest_filter=${checks.map((check) => `Op/Gradcheck.${check}/*`).join(':')}`;
  say(`gradient checks on ${name}`);
  const ran = await capture(command, [...args, filter, `--gtest_output=json:${report}`]);
  say(`golden cases on ${name}`);
  await capture('node', ['tests/golden/run.mjs', '--variant', name, '--json', cases]);
  try {
    return { checks: readChecks(report), golden: readGolden(cases) };
  } catch (error) {
    fail(`the tests of ${name} wrote no report: ${error.message}\n${ran.output.slice(-2000)}`);
  }
}

function readChecks(path) {
  const { testsuites } = JSON.parse(readFileSync(path, 'utf8'));
  const tests = testsuites.flatMap(({ testsuite }) => testsuite);
  return new Map(tests.map(({ name, failures, zero }) => [name, { passed: failures === undefined, zero }]));
}

function failures({ checks: results, golden: cases }) {
  const failed = [...cases.values()].reduce((sum, count) => sum + count.failed, 0);
  return failed + [...results.values()].filter(({ passed }) => !passed).length;
}

function readGolden(path) {
  const counts = new Map();
  for (const { op, ok } of JSON.parse(readFileSync(path, 'utf8')).results) {
    const name = op.replace(/_([a-z0-9])/gi, (_, letter) => letter.toUpperCase());
    const count = counts.get(name) ?? { passed: 0, failed: 0 };
    count[ok ? 'passed' : 'failed'] += 1;
    counts.set(name, count);
  }
  return counts;
}

// One word for a check on all builds: yes, that there is nothing and why, or where it fails.
function verdict(op, check, measured) {
  const states = Object.entries(measured).map(([name, { checks: results }]) => ({
    name,
    ...results.get(`${check}/${op.name}`),
  }));
  const failed = states.filter(({ passed }) => passed === false).map(({ name }) => name);
  if (failed.length > 0) return `**fails on ${failed.join(', ')}**`;
  if (!states.every(({ passed }) => passed)) return 'not checked';
  return states[0].zero === undefined ? 'yes' : `0: ${states[0].zero}`;
}

function gradient(op, check, measured) {
  return op.noGradient ? `none: ${op.noGradient}` : verdict(op, check, measured);
}

function golden(op, results) {
  const count = results.golden.get(op.name);
  if (!count) return '';
  return count.failed > 0 ? `${count.passed} passed, **${count.failed} failed**` : `${count.passed}`;
}

function row(op, measured) {
  const dtypes = [...new Set(op.inputs.map((input) => kinds[input.kind]))].join('; ') || 'by option';
  const shapes = op.inputs.map((input) => `${input.name}: ${input.doc || 'any shape'}`).join('; ');
  const cells = [
    `\`${op.name}\``,
    gradient(op, 'FirstOrder', measured),
    ...checks.slice(1).map((check) => (op.noGradient ? '' : verdict(op, check, measured))),
    dtypes,
    shapes,
    ...Object.values(measured).map((results) => golden(op, results)),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function page(ops, measured) {
  const names = Object.keys(measured);
  return `# Ops

Written by \`npm run optable\` from the schema and from what the tests measured while it ran; not by hand. ${ops.length} ops.

- Gradient, second and third order: checked against central differences in float64 on ${names.join(', ')}; "yes" is on
  all of them. Where the third order is 0 it was checked to be, and the table says why.
- float32: its gradients agree with those of float64.
- Indices are integers from 0; a negative one is an error, but for \`index\` and \`indexPut\`, where it counts from the end.
- Golden: cases (in each dtype) that pass on each build: outputs, first and second order; empty where PyTorch gave none.

| op | gradient | second order | third order | float32 | dtypes | shapes | ${names.map((name) => `golden ${name}`).join(' | ')} |
|${' --- |'.repeat(7 + names.length)}
${ops.map((op) => row(op, measured)).join('\n')}
`;
}

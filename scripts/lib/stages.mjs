// Runs named stages, each a child process or several, with their output kept: one line a stage, the whole output of one
// that failed, and the sum of all their tests.
import { availableParallelism } from 'node:os';
import { capture } from './run.mjs';
import { files } from './sources.mjs';

const lastMatch = (text, pattern) => [...text.matchAll(pattern)].at(-1);
const total = (text, pattern) =>
  [...text.matchAll(pattern)].reduce((sum, match) => sum + Number(match[1]), 0);

// How each kind of output tells its counts: { passed, failed }.
export const counts = {
  /** A check that passes or not. */
  check: (_output, status) => ({ passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1 }),
  gtest: (output) => ({
    passed: total(output, /^\[ {2}PASSED {2}\] (\d+) tests?/gm),
    failed: total(output, /^\[ {2}FAILED {2}\] (\d+) tests?, listed below/gm),
  }),
  nodeTest: (output) => ({
    passed: total(output, /^# pass (\d+)$/gm),
    failed: total(output, /^# (?:fail|cancelled) (\d+)$/gm),
  }),
  summary(output) {
    const [, passed = 0, failed = 0] = lastMatch(output, /^(\d+) passed, (\d+) failed$/gm) ?? [];
    return { passed: Number(passed), failed: Number(failed) };
  },
};

/** The tests of a folder, by Node's runner: a file after the other. */
export const nodeTests = (name, folder, options) => ({
  name,
  count: counts.nodeTest,
  needsPackage: true,
  cores: 2,
  run: () =>
    capture(
      'node',
      [...['--test', '--test-reporter=tap', '--test-concurrency=1'], ...files(/\.test\.mjs$/, folder)],
      options,
    ),
});

// What is worth reading of a failed stage: not the progress of the build, not the tests that passed.
const brief = (output) =>
  output
    .replace(/^\[\d+\/\d+\] .*\n/gm, '')
    .replace(/^\[ RUN {6}\] .*\n\[ {7}OK \] .*\n/gm, '')
    .replace(/^\[-{10}\].*\n/gm, '')
    .replace(/\n{2,}/g, '\n')
    .replace(/^ok \d+ - .*\n( {2}---\n[^]*? {2}\.\.\.\n)?/gm, '')
    .replace(/^# Subtest: .*\n/gm, '');

/** The tests that failed, a line each; Node's with what they said. */
const failures = (output) => [
  ...[...output.matchAll(/^not ok \d+ - (.*)\n {2}---\n(?:[^]*?\n)?? {2}error: (.*(?:\n {4}.*){0,8})/gm)].map(
    ([, name, error]) => `${name}: ${error.replace(/^\|-/, '').replace(/\s+/g, ' ').trim()}`,
  ),
  ...new Set([...output.matchAll(/^\[ {2}FAILED {2}\] ([\w/]+\.[\w/]+)/gm)].map(([, name]) => name)),
];

// A stage that broke, or that ran nothing, is a failure even if no test of it says so.
function settle({ passed, failed }, status) {
  return { passed, failed: failed === 0 && (status !== 0 || passed === 0) ? 1 : failed };
}

/**
 * stage: { name, run: async () => ({ status, output }), count, cores }. Stages start in their order, as long as the
 * machine's cores suffice. Resolves to the totals, and to what failed: a line each, to be read at the end of a long log.
 */
export async function runStages(stages) {
  const cores = Math.max(2, availableParallelism());
  const sum = { passed: 0, failed: 0, failures: [] };
  const running = new Set();
  let used = 0;
  const finish = async (stage) => {
    const begin = performance.now();
    const { status, output } = await stage.run();
    const { passed, failed } = settle(stage.count(output, status), status);
    sum.passed += passed;
    sum.failed += failed;
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    const verdict = failed === 0 ? 'ok  ' : 'FAIL';
    console.log(`${verdict} ${stage.name.padEnd(22)} ${passed} passed, ${failed} failed, ${seconds} s`);
    if (failed === 0) return;
    console.log(brief(output).replace(/^/gm, '     | '));
    const tests = failures(output);
    sum.failures.push(...(tests.length > 0 ? tests : ['see above']).map((test) => `${stage.name}: ${test}`));
  };
  for (const stage of stages) {
    const need = Math.min(stage.cores ?? 1, cores);
    while (used + need > cores) await Promise.race(running);
    used += need;
    const task = finish(stage).then(() => {
      used -= need;
      running.delete(task);
    });
    running.add(task);
  }
  await Promise.all(running);
  return sum;
}

// npm test [-- --only NAME[,NAME]]: every check there is, each a stage. Closes with "N passed, N failed" on its own line.
import { cmake, packageBuild } from './lib/build.mjs';
import { bin, capture, captureAll, fail, root } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';
import { cppFiles } from './lib/sources.mjs';
import { counts, nodeTests, runStages } from './lib/stages.mjs';
import { tidy } from './lib/tidy.mjs';

const check = (name, command, ...args) => ({ name, count: counts.check, run: () => capture(command, args) });

// A native test program, in two processes that share its tests: they compute on one core each.
const nativeTests = (preset, ...args) => ({
  name: `gtest ${preset}`,
  count: counts.gtest,
  cores: 2,
  async run() {
    const built = await captureAll(cmake(preset, 'omnigrad_tests'));
    if (built.status !== 0) return built;
    const shard = (index) =>
      capture(`build/${preset}/tests/cpp/omnigrad_tests`, args, {
        env: {
          ...process.env,
          UBSAN_OPTIONS: 'print_stacktrace=1',
          GTEST_TOTAL_SHARDS: '2',
          GTEST_SHARD_INDEX: String(index),
        },
      });
    const ran = await Promise.all([shard(0), shard(1)]);
    return {
      status: Math.max(...ran.map(({ status }) => status)),
      output: built.output + ran.map(({ output }) => output).join('\n'),
    };
  },
});

const wasmTests = (preset) => ({
  name: `gtest ${preset}`,
  count: counts.gtest,
  cores: 2,
  run: () =>
    captureAll([...cmake(preset, 'omnigrad_tests'), ['node', `build/${preset}/tests/cpp/omnigrad_tests.js`]]),
});

const golden = (variant, ...before) => ({
  name: `golden ${variant}`,
  count: counts.summary,
  needsPackage: variant !== 'native',
  cores: variant === 'threads' ? 2 : 1,
  run: () => captureAll([...before, ['node', 'tests/golden/run.mjs', '--variant', variant]]),
});

const stages = [
  check('format c++', 'clang-format-19', '--dry-run', '-Werror', ...cppFiles()),
  check('format js', bin('prettier'), '--check', '.'),
  check('types', bin('tsc'), '-p', 'tests/types'),
  check('lint js', bin('eslint'), '.'),
  {
    name: 'size',
    count: counts.summary,
    needsPackage: true,
    run: () => capture('node', ['scripts/size.mjs', '--check']),
  },
  nativeTests('native'),
  nativeTests('native-asan'),
  nativeTests('native-tsan', '--gtest_filter=*Parallel*:*Kernel*'),
  wasmTests('wasm-single'),
  wasmTests('wasm-threads'),
  golden('native', ...cmake('native', 'omnigrad_golden')),
  golden('single'),
  golden('threads'),
  nodeTests('node', 'tests/node'),
  nodeTests('package', 'tests/package'),
  nodeTests('docs', 'tests/docs'),
  nodeTests('e2e', 'tests/e2e'),
  { name: 'lint c++', count: counts.summary, cores: 2, run: tidy },
];

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined;
const wanted = only
  ? stages.filter(({ name }) => only.split(',').some((part) => name.includes(part)))
  : stages;
if (wanted.length === 0)
  fail(`no stage is called ${only}; there are: ${stages.map(({ name }) => name).join(', ')}`);

process.chdir(root);
setUp({ tests: true });
installModules('web/demos/data');
const begin = performance.now();
const built = await runStages([{ name: 'build', count: counts.check, run: () => captureAll(packageBuild) }]);
// Without a package its tests have failed; the others still tell something.
const lost = built.failed > 0 ? wanted.filter((stage) => stage.needsPackage) : [];
for (const { name } of lost) console.log(`FAIL ${name}: no package to test`);
const ran = await runStages(wanted.filter((stage) => !lost.includes(stage)));
for (const failure of [...built.failures, ...ran.failures]) console.log(`failed: ${failure}`);
console.log(`${wanted.length} stages, ${((performance.now() - begin) / 1000).toFixed(0)} s`);
const failed = built.failed + lost.length + ran.failed;
console.log(`${built.passed + ran.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

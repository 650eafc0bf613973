// The steps from sources to dist/: two wasm modules, the op signatures written from their schema, TypeScript. Every run
// takes all of them: CMake, Ninja and tsc decide what has changed.
import { bin, capture, say } from './run.mjs';

/** The commands that configure a preset and build its targets. */
export function cmake(preset, ...targets) {
  return [
    ['cmake', '--preset', preset, '--log-level=WARNING'],
    ['cmake', '--build', '--preset', preset, '--target', ...targets],
  ];
}

export const packageBuild = [
  ...cmake('wasm-single', 'omnigrad_assets'),
  ...cmake('wasm-threads', 'omnigrad_assets'),
  ['node', 'scripts/generate-ops.mjs'],
  [bin('tsc'), '-p', 'tsconfig.json'],
  ['node', 'scripts/lib/vendor.mjs'],
  ['node', 'scripts/lib/copy-assets.mjs'],
];

/** Runs the commands quietly; prints what the first failing one said and ends the process. */
export async function build(what, commands) {
  const begin = performance.now();
  for (const [command, ...args] of commands) {
    const { status, output } = await capture(command, args);
    if (status !== 0) {
      console.error(output);
      console.error(`omnigrad: building ${what} failed: ${[command, ...args].join(' ')}`);
      process.exit(1);
    }
  }
  say(`${what} built in ${((performance.now() - begin) / 1000).toFixed(1)} s`);
}

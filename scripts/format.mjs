// npm run format: rewrites every source the way the format check wants it.
import { bin, runOrExit } from './lib/run.mjs';
import { setUp } from './lib/setup.mjs';
import { cppFiles } from './lib/sources.mjs';

setUp({ tests: true });
runOrExit('clang-format-19', ['-i', ...cppFiles()]);
runOrExit(bin('prettier'), ['--write', '--log-level=warn', '.']);

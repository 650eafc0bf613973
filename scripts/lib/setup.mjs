// Installs what is missing before a build or a test: Debian packages and node_modules. Says each thing in one line, does
// nothing where all is there, and tells a user who is not root what to type.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, root, say } from './run.mjs';

// Each package and a file that only it brings.
const buildPackages = {
  emscripten: '/usr/share/emscripten/emcc.py',
  'clang-19': '/usr/bin/clang++-19',
  'lld-19': '/usr/bin/wasm-ld-19',
  'llvm-19': '/usr/bin/llvm-ar-19',
  cmake: '/usr/bin/cmake',
  'ninja-build': '/usr/bin/ninja',
  ccache: '/usr/bin/ccache',
};
const testPackages = {
  'libclang-rt-19-dev': '/usr/lib/llvm-19/lib/clang/19/include/sanitizer/asan_interface.h',
  'clang-format-19': '/usr/bin/clang-format-19',
  'clang-tidy-19': '/usr/bin/clang-tidy-19',
  googletest: '/usr/src/googletest/CMakeLists.txt',
  'nlohmann-json3-dev': '/usr/include/nlohmann/json.hpp',
  chromium: '/usr/bin/chromium',
};
const browserPackages = {
  'firefox-esr': '/usr/bin/firefox-esr',
  'webkit2gtk-driver': '/usr/bin/WebKitWebDriver',
  xvfb: '/usr/bin/Xvfb',
  'dbus-daemon': '/usr/bin/dbus-run-session',
};

function checkNode() {
  if (typeof process.getBuiltinModule !== 'function')
    fail(`Node ${process.version} is too old: 20.16 or later is needed`);
}

function aptGet(args, quiet) {
  return (
    spawnSync('apt-get', args, {
      stdio: ['ignore', quiet ? 'ignore' : 'inherit', quiet ? 'ignore' : 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0
  );
}

function knowsPackages() {
  try {
    return readdirSync('/var/lib/apt/lists').some((name) => name.includes('_Packages'));
  } catch {
    return false;
  }
}

function installPackages(wanted) {
  const missing = Object.keys(wanted).filter((name) => !existsSync(wanted[name]));
  if (missing.length === 0) return;
  const install = ['install', '-y', '--no-install-recommends', ...missing];
  if (process.getuid?.() !== 0) {
    fail(`${missing.length} packages are missing. Type this, then try again:
  sudo apt-get update && sudo apt-get ${install.join(' ')}`);
  }
  say(`installing ${missing.join(' ')}`);
  if (!knowsPackages()) aptGet(['update'], true);
  if (aptGet(['-qq', ...install], true)) return;
  // The lists may be old: once more with fresh ones, and with its output.
  aptGet(['update'], true);
  if (!aptGet(install, false)) fail(`apt-get could not install ${missing.join(' ')}`);
}

/** Runs npm ci in a folder, unless that was done for the lock file that is there now. */
export function installModules(folder = '') {
  const path = join(root, folder);
  const lock = createHash('sha256')
    .update(readFileSync(join(path, 'package-lock.json')))
    .digest('hex');
  const stamp = join(path, 'node_modules/.omnigrad-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  const command = folder === '' ? 'npm ci' : `npm ci in ${folder}`;
  say(command);
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: path,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) fail(`${command} failed`);
  writeFileSync(stamp, lock);
}

/** What a build needs, with `tests` what the tests need besides, with `browsers` the browsers other than Chromium. */
export function setUp({ tests = false, browsers = false } = {}) {
  checkNode();
  installPackages({
    ...buildPackages,
    ...(tests && testPackages),
    ...(browsers && browserPackages),
  });
  installModules();
}

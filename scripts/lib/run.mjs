// Child processes for the scripts of this folder. No dependencies: node_modules may not be there yet.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
export const bin = (name) => join(root, 'node_modules/.bin', name);

export function say(text) {
  console.log(`omnigrad: ${text}`);
}

export function fail(text) {
  console.error(`omnigrad: ${text}`);
  process.exit(1);
}

/** Runs a command with the terminal as its own; a failure ends this process with the same status. */
export function runOrExit(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (error) fail(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs a command and keeps its output; resolves to { status, output }, also when it could not be started. */
export function capture(command, args, { seconds = 1800, ...options } = {}) {
  return new Promise((resolve) => {
    let output = '';
    let late = false;
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...options,
    });
    const timer = setTimeout(() => {
      late = true;
      process.kill(-child.pid, 'SIGKILL');
    }, seconds * 1000);
    const add = (text) => (output += text);
    child.stdout.setEncoding('utf8').on('data', add);
    child.stderr.setEncoding('utf8').on('data', add);
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ status: 1, output: `${command}: ${error.message}\n` });
    });
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      if (late) output += `\nstopped after ${seconds} s\n`;
      else if (signal) output += `\nended by ${signal}\n`;
      resolve({ status: status ?? 1, output });
    });
  });
}

/** Commands one after the other, up to the first that fails: { status, output } of all. */
export async function captureAll(commands, options) {
  let output = '';
  for (const [command, ...args] of commands) {
    const one = await capture(command, args, options);
    output += one.output;
    if (one.status !== 0) return { status: one.status, output };
  }
  return { status: 0, output };
}

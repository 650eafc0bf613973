// The demos as the tests run them: settings so small that a run takes a few seconds, what Node makes of them, and what
// a page shows when it is over. Functions for the page are complete in themselves: drivers send their text.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { demoNames } from '../../../web/demos/build.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** All demos, or those that OMNIGRAD_DEMOS names, with commas between. */
export const names = process.env.OMNIGRAD_DEMOS?.split(',') ?? demoNames();
export const steps = 50;
/** Losses that are compared one by one; the hash of the weights tells of all steps. */
export const compared = 20;

const small = {
  bend: { batch: 24 },
  mnist: { batch: 192 },
  gpt: { batch: 24, heads: 1 },
  gradients: { points: 4096 },
  lines: { batch: 24 },
  matching: { batch: 1, features: 8, width: 2 },
  sharper: { batch: 32 },
};

/** The settings of a test's run; `more` goes over them. */
export const settingsOf = (name, more = {}) => ({ seed: 1, steps, ...small[name], ...more });
export const queryOf = (name, more) => `?${new URLSearchParams(settingsOf(name, more)).toString()}`;

/** Runs a command of Node; gives { status, stdout, stderr }. */
export function node(...args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root });
    const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
      const parts = [];
      stream.setEncoding('utf8').on('data', (part) => parts.push(part));
      return parts;
    });
    child.on('close', (status) => resolve({ status, stdout: stdout.join(''), stderr: stderr.join('') }));
  });
}

/** The same run in Node: its first losses, and the hash of its weights. */
export async function inNode(name, ...flags) {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-'));
  try {
    const file = join(folder, 'losses.json');
    const given = Object.entries(settingsOf(name)).flatMap(([key, value]) => [`--${key}`, String(value)]);
    const args = ['web/demos/node/task.mjs', name, ...given, '--quiet', '--losses', file, ...flags];
    const { status, stdout, stderr } = await node(...args);
    if (status !== 0) throw new Error(`${name} in Node ended with status ${status}: ${stderr}`);
    const [, hash] = /^weights ([0-9a-f]{64})$/m.exec(stdout) ?? [];
    return { losses: JSON.parse(readFileSync(file, 'utf8')).slice(0, compared), hash };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** In the page: waits for the end of the run; what it shows then. */
export const shown = async () => {
  const late = performance.now() + 240_000;
  while (!['done', 'error'].includes(document.body.dataset.state)) {
    if (performance.now() > late)
      throw new Error(
        `in state ${document.body.dataset.state}: ${document.getElementById('summary').textContent}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const text = (id) => document.getElementById(id).textContent;
  const error = document.getElementById('error');
  return {
    error: error.hidden ? '' : error.textContent.replace(/\s+/g, ' '),
    variant: text('variant'),
    reason: document.getElementById('reason').dataset.code,
    losses: JSON.parse(text('losses') || '[]').slice(0, 20),
    hash: text('hash'),
  };
};

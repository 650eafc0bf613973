// Trains the first network in Node, with a progress bar: npm start.
// usage: npm start -- [--variant threads|single] [--threads N] [--seed N] [--steps N | --epochs N] [--lr X] [--batch N]
//                     [--losses FILE] [--target SHARE] [--checkpoint FILE] [--resume] [--quiet]
// Ends with status 1 if the test accuracy is below the target (0.97 for a full run, else 0), with 2 for bad flags.

import { trainTask } from './task.mjs';

const samples = 60000;
const fullRun = 1500;

const number = (allowed, good) => ({
  allowed,
  initial: undefined,
  read: (text) => (/^\d*\.?\d+$/.test(text) && good(Number(text)) ? Number(text) : undefined),
});

await trainTask('mnist', process.argv.slice(2), {
  rules: {
    epochs: number('a whole number from 1 to 100', (n) => Number.isInteger(n) && n >= 1 && n <= 100),
    target: number('a number from 0 to 1', (n) => n <= 1),
  },
  settings({ epochs, ...flags }) {
    if (epochs === undefined) return flags;
    if (flags.steps !== undefined) {
      process.stderr.write('mnist: --steps and --epochs exclude each other\n');
      process.exit(2);
    }
    return { ...flags, steps: epochs * Math.floor(samples / (flags.batch ?? 64)) };
  },
  enough: (accuracy, { target, steps = fullRun }) => accuracy >= (target ?? (steps >= fullRun ? 0.97 : 0)),
});

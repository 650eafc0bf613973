// Trains the digit network in Node, with a progress bar.
// usage: npm start -- [--variant threads|single] [--threads N] [--seed N] [--steps N | --epochs N] [--batch N]
//                     [--losses FILE] [--target SHARE] [--quiet]
// Ends with status 1 if the test accuracy is below the target (0.97 for a full run, else 0), with 2 for bad flags.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SingleBar } from 'cli-progress';
import { init, OmnigradError } from 'omnigrad';
import { mnist } from 'omnigrad/data';
import { buildNode } from '../build.mjs';

const { Training, defaults, nodeSettings, readSettings } = await import(await buildNode());
const flags = readFlags(process.argv.slice(2));

/** The flags. What is not allowed ends the script: one line that says what is, and status 2. */
function readFlags(args) {
  const type = (name) => ({ type: name === 'quiet' ? 'boolean' : 'string' });
  const options = Object.fromEntries(nodeSettings.map((name) => [name, type(name)]));
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true });
  const given = tokens.filter(({ kind }) => kind === 'option');
  const { values, problems } = readSettings(
    given.map(({ name, value }) => [name, value ?? (name === 'quiet' ? '' : undefined)]),
    nodeSettings,
    (name) => `--${name}`,
  );
  const stray = tokens.find(({ kind }) => kind !== 'option');
  if (stray) problems.push(`${JSON.stringify(stray.value ?? '--')} is no flag; flags start with --`);
  if (values.steps && values.epochs) problems.push('--steps and --epochs exclude each other');
  if (problems.length === 0) return { ...values, quiet: 'quiet' in values };
  process.stderr.write(`mnist: ${problems[0]}\n`);
  process.exit(2);
}

const say = (line) => process.stdout.write(`${line}\n`);

function progressBar() {
  return new SingleBar({
    format: '{bar} {value}/{total}  loss {loss}  {rate} images/s  {eta} s left',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    stream: process.stdout,
    noTTYOutput: true,
    notTTYSchedule: 5000,
  });
}

async function train(training, data, steps) {
  const losses = [];
  const bar = flags.quiet ? undefined : progressBar();
  bar?.start(steps, 0, { loss: '-', rate: '-' });
  let turned = performance.now();
  for await (const { step, loss, rate } of training.run(data)) {
    losses.push(loss);
    bar?.update(step, { loss: loss.toFixed(4), rate: Math.round(rate) });
    // The loop waits for promises only; the bar's timer needs a turn of the event loop.
    if (performance.now() - turned < 100) continue;
    await new Promise(setImmediate);
    turned = performance.now();
  }
  bar?.stop();
  return losses;
}

async function main() {
  const begun = performance.now();
  const { variant, threads, reason } = await init({
    ...(flags.variant && { variant: flags.variant }),
    ...(flags.threads && { threads: Number(flags.threads) }),
  });
  say(`omnigrad: build ${variant}, threads ${threads} (${reason.message})`);
  const [trainSet, testSet] = await Promise.all([mnist('train'), mnist('test')]);

  const seed = Number(flags.seed ?? defaults.seed);
  const batchSize = Number(flags.batch ?? defaults.batchSize);
  const epochs = flags.epochs && Number(flags.epochs) * Math.floor(trainSet.length / batchSize);
  const steps = Number(flags.steps ?? epochs ?? defaults.steps);
  const training = new Training({ seed, steps, batchSize });
  const losses = await train(training, trainSet, steps);

  // JSON keeps every bit of a double, so the files of two builds can be compared as text.
  if (flags.losses) writeFileSync(flags.losses, `${JSON.stringify(losses)}\n`);
  const { accuracy } = await training.test(testSet);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  say(`last loss ${losses.at(-1)}`);
  say(`test accuracy ${(100 * accuracy).toFixed(2)} % on ${testSet.length} images, after ${seconds} s`);

  const target = Number(flags.target ?? (steps >= defaults.steps ? 0.97 : 0));
  if (accuracy < target) {
    say(`that is below ${100 * target} %`);
    process.exitCode = 1;
  }
}

main().catch((error) => {
  process.stderr.write(`${OmnigradError.is(error) ? error.message : (error.stack ?? error)}\n`);
  process.exitCode = 1;
});

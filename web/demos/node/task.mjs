// Trains a demo's task in Node: the same bits as its page. Without a page: node web/demos/node/task.mjs NAME [flags]
//   --seed N --steps N --lr X, and the task's own settings
//   --variant auto|threads|single --threads N
//   --checkpoint FILE (build/runs/NAME.safetensors)   where Ctrl-C, and every half minute, keep the run
//   --resume            goes on from there, to the same bits
//   --losses FILE       writes every loss as JSON
//   --quiet             no bar
// Ends with status 1 if a full run misses its measure, 2 for bad flags, 130 after Ctrl-C.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { SingleBar } from 'cli-progress';
import { init, OmnigradError } from 'omnigrad';
import { buildData, buildNode, demoNames } from '../build.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
/** Milliseconds between two copies that are kept. */
const keepEvery = 30000;

const say = (line) => process.stdout.write(`${line}\n`);

/** A setting of Node's alone. */
const text = (allowed) => ({ allowed, initial: undefined, read: (given) => given || undefined });
const given = {
  allowed: 'given without a value',
  initial: false,
  read: (value) => value === '' || undefined,
};

const ownRules = { losses: text('a file to write'), checkpoint: text('a file'), resume: given, quiet: given };

/** Flags by the rules; what is not allowed ends the script: one line that says what is, and status 2. */
function readFlags(name, args, rules, readSettings) {
  const isSwitch = (flag) => Object.hasOwn(rules, flag) && rules[flag] === given;
  const options = Object.fromEntries(
    Object.keys(rules).map((flag) => [flag, { type: isSwitch(flag) ? 'boolean' : 'string' }]),
  );
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true });
  const { values, problems } = readSettings(
    tokens
      .filter(({ kind }) => kind === 'option')
      .map((token) => [token.name, token.value ?? (isSwitch(token.name) ? '' : undefined)]),
    rules,
    (flag) => `--${flag}`,
  );
  const stray = tokens.find(({ kind }) => kind !== 'option');
  const all = [
    ...problems,
    ...(stray ? [`${JSON.stringify(stray.value ?? '--')} is no flag; flags start with --`] : []),
  ];
  if (all.length === 0) return values;
  process.stderr.write(`${name}: ${all[0]}\n`);
  return process.exit(2);
}

/** The files of the built demos. */
function nodeData() {
  const folder = pathToFileURL(join(buildData(), '/')).href;
  const url = (path) => new URL(path, folder);
  const bytes = async (path) => {
    try {
      return new Uint8Array(await readFile(url(path)));
    } catch (cause) {
      throw new OmnigradError(`data: ${path} is not there`, { op: 'data', code: 'not-found', cause });
    }
  };
  return { url, bytes };
}

function progressBar(unit) {
  return new SingleBar({
    format: `{bar} {value}/{total}  loss {loss}  {rate} ${unit}/s  {eta} s left`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    stream: process.stdout,
    noTTYOutput: true,
    notTTYSchedule: 5000,
    // Ctrl-C is ours.
    gracefulExit: false,
  });
}

/** Raised by the first Ctrl-C; a second one ends the process at once. */
function interrupted() {
  const stop = new AbortController();
  process.once('SIGINT', () => {
    process.once('SIGINT', () => process.exit(130));
    stop.abort();
  });
  return stop.signal;
}

/** Writes beside the file first: what was there stays whole. */
async function keep(session, file) {
  const bytes = await session.keep();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, bytes);
  renameSync(`${file}.new`, file);
}

/** What `keep` wrote. @throws OmnigradError `not-found` */
function readKept(file) {
  try {
    return new Uint8Array(readFileSync(file));
  } catch (cause) {
    const why = `resume: no run is kept in ${relative(process.cwd(), file)}`;
    throw new OmnigradError(why, { op: 'resume', code: 'not-found', cause });
  }
}

/** Takes the steps that are left; false if `stop` was raised first. */
async function train(session, { unit, quiet, file, stop }) {
  const bar = quiet ? undefined : progressBar(unit);
  bar?.start(session.settings.steps, session.step, { loss: '-', rate: '-' });
  let [turned, kept, ms, items] = [performance.now(), performance.now(), 0, 0];
  try {
    while (!session.done && !stop.aborted) {
      const begun = performance.now();
      const step = await session.next();
      ms += performance.now() - begun;
      items += step.items;
      bar?.update(session.step, { loss: step.loss.toFixed(4), rate: Math.round((items * 1000) / ms) });
      // The loop waits for promises only; timers and signals need a turn of the event loop.
      if (performance.now() - turned < 50) continue;
      if (performance.now() - kept > keepEvery) {
        await keep(session, file);
        kept = performance.now();
      }
      await new Promise(setImmediate);
      turned = performance.now();
    }
  } finally {
    bar?.stop();
  }
  return session.done;
}

async function run(name, args, more) {
  const { task, Session, commonRules, complete, hashOf, historyIn, machineRules, readSettings } =
    await import(await buildNode(name));
  const settingRules = { ...commonRules(task.defaults), ...task.rules };
  const rules = { ...settingRules, ...machineRules, ...ownRules, ...more.rules };
  const flags = readFlags(name, args, rules, readSettings);
  const begun = performance.now();
  const { variant, threads, reason } = await init({
    ...(flags.variant && { variant: flags.variant }),
    ...(flags.threads && flags.threads !== 'auto' && { threads: flags.threads }),
  });
  say(`omnigrad: build ${variant}, threads ${threads} (${reason.message})`);

  const file = flags.checkpoint ?? join(root, `build/runs/${name}.safetensors`);
  const copy = flags.resume ? readKept(file) : undefined;
  const history = copy && (await historyIn(copy, name));
  if (copy && !history) {
    const why = `${file} holds no run of ${name}`;
    throw new OmnigradError(`resume: ${why}`, { op: 'resume', code: 'format' });
  }
  const picked = Object.entries(more.settings?.(flags) ?? flags);
  const asked = Object.fromEntries(picked.filter(([key]) => Object.hasOwn(settingRules, key)));
  // A run that goes on is what it was.
  const settings = history?.settings ?? complete(settingRules, asked);
  // Before anybody is told that it runs.
  const stop = interrupted();
  const session = await Session.begin(task, nodeData(), settings, copy);
  const size = session.training.net.parameters().reduce((sum, p) => sum + p.numel, 0);
  say(`started: ${size} parameters, seed ${settings.seed}, step ${session.step} of ${settings.steps}`);

  if (!(await train(session, { unit: task.unit, quiet: flags.quiet, file, stop }))) {
    await keep(session, file);
    say(`stopped at step ${session.step}; saved to ${relative(process.cwd(), file)}`);
    say(`go on with: npm run train -- ${name} --resume`);
    process.exitCode = 130;
    return;
  }
  // JSON keeps every bit of a double, so the files of two builds can be compared as text.
  const { losses } = session.history;
  if (flags.losses) writeFileSync(flags.losses, `${JSON.stringify(losses)}\n`);
  const { value, reached, text } = await session.measure();
  say(`last loss ${losses.at(-1)}`);
  say(`weights ${await hashOf(session.weights())}`);
  say(`${text} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  const enough = more.enough?.(value, flags) ?? (reached !== false || settings.steps < task.defaults.steps);
  if (!enough) {
    say('that is not enough');
    process.exitCode = 1;
  }
}

/**
 * Trains the task of a name as the flags say, and sets the exit status.
 *
 * @param more further flags by their rules, `settings(flags)` that makes settings of them, and `enough(value, flags)`
 *   instead of the task's own measure
 */
export async function trainTask(name, args, more = {}) {
  try {
    await run(name, args, more);
  } catch (error) {
    process.stderr.write(`${OmnigradError.is(error) ? error.message : (error.stack ?? error)}\n`);
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [name, ...args] = process.argv.slice(2);
  if (demoNames().includes(name)) await trainTask(name, args);
  else {
    process.stderr.write(`task: give a name first, one of ${demoNames().join(', ')}\n`);
    process.exitCode = 2;
  }
}

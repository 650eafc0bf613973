// Times one case: every library computes it in turn, round after round, so that what the machine does meanwhile hits
// all alike. Knows nothing of processes or pages: a library is an object { request(message): Promise<reply> }.
import { difference } from './inputs.mjs';

/** Largest relative difference of two libraries' results on float32, unless a spec says another. */
const tolerance = 1e-4;
// The time of one turn, and of one timed run at the least: below it a run repeats the work.
const turnMs = 25;
const runMs = 0.2;

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

async function ask(runner, message) {
  const reply = await runner.request(message);
  if (reply.error !== undefined) throw new Error(reply.error);
  return reply;
}

/** Opens an entry and finds how often its work fits into a turn. The first runs are slow: engines compile as they go. */
async function warmUp(one) {
  const time = async (runs, repeat) => (await ask(one.runner, { time: one.key, runs, repeat })).ms;
  let [ms] = await time(1, 1);
  const until = performance.now() + 300;
  for (let runs = 1; runs < 3 || performance.now() < until; runs++) {
    if (ms > 1000 && runs >= 2) break;
    ms = Math.min(ms, ...(await time(1, Math.max(1, Math.min(1000, Math.round(runMs / ms))))));
  }
  one.repeat = Math.max(1, Math.ceil(runMs / ms));
  one.runs = Math.max(1, Math.min(10, Math.floor(turnMs / (ms * one.repeat))));
  one.slow = ms > 300;
}

async function turn(one) {
  // The others have used the caches since: one run that does not count, unless it is long enough not to matter.
  if (!one.slow) await ask(one.runner, { time: one.key, runs: 1, repeat: one.repeat });
  const { ms } = await ask(one.runner, { time: one.key, runs: one.runs, repeat: one.repeat });
  one.rounds.push(ms);
}

/**
 * Runs one case. `find(name)` gives a library's runner, or throws why there is none. Gives { name, entries: [{ id, ms,
 * least, samples, rate, rounds } or { id, value } of an untimed case or { id, why } of one that cannot], differences:
 * [{ id, size, most, known }] }: those of the first entry's results from the others'.
 */
export async function measure(one, find, { rounds }) {
  const entries = [];
  for (const { id, runner: name, spec, other } of one.entries) {
    const entry = { id, key: `${one.name}/${id}`, spec, other, rounds: [] };
    entries.push(entry);
    try {
      entry.runner = await find(name);
      entry.results = (await ask(entry.runner, { open: entry.key, spec })).results;
      if (!one.untimed) await warmUp(entry);
    } catch (error) {
      entry.why = error.message;
    }
  }
  const running = entries.filter(({ why }) => why === undefined);
  if (!one.untimed)
    for (let round = 0; round < rounds; round++) for (const entry of running) await turn(entry);
  const differences = one.untimed ? [] : await compare(one, running);
  for (const entry of running) await ask(entry.runner, { close: entry.key });
  return { name: one.name, entries: entries.map((entry) => told(entry, one)), differences };
}

/** What is kept of an entry; times are of one call in milliseconds, rates in 1e9 operations a second. */
function told({ id, why, spec, rounds, results }, { untimed }) {
  if (why !== undefined) return { id, why };
  if (untimed) return { id, value: results[0].samples[0] };
  const calls = spec.calls ?? 1;
  const samples = rounds.flat();
  const ms = median(samples) / calls;
  return {
    id,
    ms,
    least: Math.min(...samples) / calls,
    samples: samples.length,
    ...(spec.operations && { rate: spec.operations / ms / 1e6 }),
    rounds: rounds.map((all) => median(all) / calls),
  };
}

/** The results against the first entry's; ours alone against its own in float64. */
async function compare(one, running) {
  const [subject, ...rest] = running.filter(({ other }) => !other);
  if (!subject) return [];
  const others = rest.map(({ id, results }) => ({ id, results }));
  if (rest.length === 0 && subject.spec.dtype === undefined) {
    const key = `${subject.key}/float64`;
    const spec = { ...subject.spec, dtype: 'float64' };
    others.push({ id: 'float64', results: (await ask(subject.runner, { open: key, spec })).results });
    await ask(subject.runner, { close: key });
  }
  return others.map(({ id, results }) => {
    const size = difference(subject.results, results);
    return { id, size, most: one.same ? 0 : (subject.spec.tolerance ?? tolerance), known: one.known?.[id] };
  });
}

// One run over the chosen cases: starts each library when a case first needs it, prints each case as it is done, keeps
// the machine's peak up to date. `starters` says how a library is started: in a process, or in a page's worker.
import { measure, median } from './measure.mjs';
import { disagrees, judge, lines, number, summary } from './report.mjs';

/** Cases whose name has one of the parts; libraries that are slow only if `peers` names them. */
export function choose(cases, { only, peers }) {
  const parts = only?.split(',').map((part) => part.trim().toLowerCase());
  const named = peers?.split(',');
  const wanted = ({ id, byName }, i) =>
    i === 0 || (named && byName !== undefined ? named.includes(id) : !byName);
  return cases
    .filter(({ name }) => !parts || parts.some((part) => name.toLowerCase().includes(part)))
    .map((one) => ({ ...one, entries: one.entries.filter(wanted) }));
}

/** starters: { runner name: async () => { runner, about } }, `probe` among them. Gives what was measured. */
export async function session(cases, starters, { rounds, threads, print }) {
  const started = new Map();
  const find = async (name) => {
    if (!starters[name]) throw new Error('not here');
    if (!started.has(name)) {
      const starting = starters[name]();
      started.set(name, starting);
      print(`# ${name}: ${(await starting).about}`);
    }
    return (await started.get(name)).runner;
  };
  const probe = await probing(await starters.probe());
  print(
    `# peak ${number(await probe.peak())} Gop/s of one thread (13 chains), copy ${number(await probe.copy())} GB/s`,
  );
  const done = [];
  for (const one of cases) {
    const judged = one.bars.some(({ versus }) => versus === 'peak');
    if (judged) await probe.peak();
    const measured = await measure(one, find, { rounds });
    if (judged) await probe.peak();
    // The table's bars are for one thread; what a case names itself holds as it is.
    const holds = threads === 1 || one.entries[0].runner !== 'omnigrad';
    const verdicts = holds ? judge(one, measured, await probe.best()) : [];
    done.push({ measured, verdicts });
    print(lines(measured, verdicts).join('\n'));
  }
  print('');
  print(`peak ${number(probe.best())} Gop/s`);
  print(summary(done).join('\n'));
  return { peak: probe.best(), cases: done, failed: done.some(({ measured }) => disagrees(measured)) };
}

/** The best rate seen so far of the multiply-add chains, and the copy's. */
async function probing({ runner, about }) {
  const { operations, bytes } = JSON.parse(about);
  for (const kind of ['multiplyAdd', 'copy'])
    await runner.request({ open: kind, spec: { kind, inputs: {} } });
  const times = async (kind, runs) => (await runner.request({ time: kind, runs, repeat: 1 })).ms;
  let best = 0;
  return {
    best: () => best,
    async peak() {
      best = Math.max(best, operations / Math.min(...(await times('multiplyAdd', 30))) / 1e6);
      return best;
    },
    async copy() {
      return bytes / median(await times('copy', 9)) / 1e6;
    },
  };
}

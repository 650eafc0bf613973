// Verdicts over measured cases, and the table as lines of text. The same in Node and in a page.
import { median } from './measure.mjs';

/** A bar is met when the median ratio is within 5 % of it. */
const slack = 0.05;

const atLeast = (value, least) => ({ value, bar: least, met: value >= least * (1 - slack) });
const atMost = (value, most) => ({ value, bar: most, most: true, met: value <= most * (1 + slack) });

/** How many times faster the first is: the median over the rounds, each of which ran both. */
const ratio = (mine, other) => median(mine.rounds.map((ms, round) => other.rounds[round] / ms));

/** What each bar says: [{ text, value, bar, met }]; `met` is undefined where something was not measured. */
export function judge({ bars }, { entries }, peak) {
  const [mine] = entries;
  return bars.map((bar) => {
    if (mine.why !== undefined) return { text: mine.id, why: mine.why };
    if (bar.error) return { text: 'of the largest element', ...atMost(mine.value, bar.error) };
    if (bar.below) return { text: 'us', ...atMost(mine.ms * 1000, bar.below) };
    if (bar.versus === 'peak')
      return { text: "of the probe's peak", ...atLeast(mine.rate / peak, bar.least) };
    const other = entries.find(({ id }) => id === bar.versus);
    if (!other || other.why !== undefined)
      return { text: bar.versus, why: other?.why ?? 'not run', bar: bar.least ?? bar.most };
    if (bar.most) return { text: `times ${other.id}`, ...atMost(1 / ratio(mine, other), bar.most) };
    return { text: `x ${other.id}`, ...atLeast(ratio(mine, other), bar.least) };
  });
}

export function number(value) {
  if (value >= 100) return value.toFixed(0);
  if (value >= 0.01) return value.toPrecision(3);
  return value === 0 ? '0' : value.toExponential(1);
}

const time = (ms) => (ms < 0.1 ? `${number(ms * 1000)} us` : `${number(ms)} ms`);

/** The lines of one case: each library's time, rate and ratio to ours; the bars; results that differ. */
export function lines({ entries, differences, name }, verdicts) {
  const [mine] = entries;
  const out = [name];
  for (const entry of entries) {
    const { id, ms, rate, why, value } = entry;
    if (why !== undefined) out.push(`  ${id.padEnd(16)} -  ${why}`);
    else if (value !== undefined) out.push(`  ${id.padEnd(16)} ${number(value)}`);
    else {
      const columns = [time(ms).padStart(10), rate ? `${number(rate)} Gop/s`.padStart(13) : ''.padStart(13)];
      if (entry !== mine && mine.ms) columns.push(`${number(ratio(mine, entry))} x`.padStart(9));
      out.push(`  ${id.padEnd(16)} ${columns.join(' ')}`.trimEnd());
    }
  }
  for (const { text, value, bar, most, met, why } of verdicts) {
    const limit = bar === undefined ? '' : `bar ${most ? 'at most ' : ''}${bar}`;
    if (why !== undefined) out.push(`  = ${text}: not measured, ${why}. ${limit}`.trimEnd());
    else out.push(`  = ${number(value)} ${text}, ${limit}: ${met ? 'met' : 'NOT MET'}`);
  }
  for (const { id, size, most, known } of differences) {
    if (size > most)
      out.push(`  ! results differ from ${id}'s by ${number(size)}${known ? `; known: ${known}` : ''}`);
  }
  return out;
}

/** True where the results of two libraries, or of two of our builds, are not the same and no reason is known. */
export const disagrees = ({ differences }) =>
  differences.some(({ size, most, known }) => size > most && known === undefined);

/** The closing lines over [{ measured, verdicts }]. */
export function summary(all) {
  const judged = all.flatMap(({ measured, verdicts }) =>
    verdicts.map((v) => ({ ...v, name: measured.name })),
  );
  const known = judged.filter(({ met }) => met !== undefined);
  const bad = known.filter(({ met }) => !met);
  const out = [`${known.length - bad.length} of ${known.length} bars met`];
  for (const { name, value, text, bar } of bad)
    out.push(`  not met: ${name}: ${number(value)} ${text}, bar ${bar}`);
  if (known.length < judged.length) out.push(`  not measured: ${judged.length - known.length}`);
  for (const { measured } of all.filter((one) => disagrees(one.measured)))
    out.push(`  results differ: ${measured.name}`);
  return out;
}

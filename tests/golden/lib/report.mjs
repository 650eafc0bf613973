// A line an op, a line for each failure, the totals.

const ratio = (x) => (x === Infinity ? 'inf' : x.toPrecision(2));

/** `results` as check() gives them; returns the number that failed. */
export function report(results, log = console.log) {
  const ops = new Map();
  for (const result of results) {
    if (!ops.has(result.op)) ops.set(result.op, []);
    ops.get(result.op).push(result);
  }
  for (const [op, list] of ops) {
    const bad = list.filter(({ ok }) => !ok);
    const worst = list.reduce((a, b) => (b.error > a.error ? b : a));
    const where = worst.worst ? ` (${worst.case} ${worst.dtype} ${worst.worst})` : '';
    const counts = `${list.length - bad.length} passed, ${bad.length} failed`;
    log(`${op.padEnd(34)} ${counts.padEnd(22)} error ${ratio(worst.error)} of tolerance${where}`);
    if (bad.length > 0) log(`    first: ${bad[0].case} ${bad[0].dtype}: ${bad[0].message}`);
  }
  const failed = results.filter(({ ok }) => !ok).length;
  log(`${results.length - failed} passed, ${failed} failed`);
  return failed;
}

// The tables of README.md, from what --json wrote: node tests/bench/markdown.mjs FILE...
// Several files are runs over parts of the list; a case that is in two is taken from the later one.
import { readFileSync } from 'node:fs';
import { number } from './report.mjs';

const groups = [
  ['One thread, against the peers', (name) => !/^(two threads|float64|single build)/.test(name)],
  ['Two threads against one', (name) => name.startsWith('two threads')],
  ['float64 against float32', (name) => name.startsWith('float64')],
  ['The single build against one thread of the threaded', (name) => name.startsWith('single build')],
];

const shown = ({ ms, value, why }) => {
  if (why !== undefined) return '-';
  if (value !== undefined) return number(value);
  return ms < 0.1 ? `${number(ms * 1000)} us` : number(ms);
};

function barOf({ text, value, bar, most, met, why }) {
  const limit = bar === undefined ? '' : ` (${most ? 'at most ' : ''}${bar})`;
  if (why !== undefined) return `not measured${limit}`;
  const said = `${number(value)} ${text}${limit}`;
  return met ? said : `**${said}**`;
}

function table(cases) {
  const ids = [...new Set(cases.flatMap(({ measured }) => measured.entries.map(({ id }) => id)))].filter(
    (id) =>
      cases.some(({ measured }) =>
        measured.entries.some((entry) => entry.id === id && entry.why === undefined),
      ),
  );
  const rows = cases.map(({ measured, verdicts }) => {
    const cell = (id) => {
      const entry = measured.entries.find((one) => one.id === id);
      return entry ? shown(entry) : '';
    };
    return [
      measured.name.replace(/^(two threads|float64|single build): /, ''),
      ...ids.map(cell),
      verdicts.map(barOf).join('; '),
    ];
  });
  const lines = [['work', ...ids, 'reached (bar)'], ['---', ...ids.map(() => '---:'), '---'], ...rows];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

const files = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));
const last = new Map(files.flatMap(({ cases }) => cases).map((one) => [one.measured.name, one]));
for (const [title, belongs] of groups) {
  const cases = [...last.values()].filter(({ measured }) => belongs(measured.name));
  if (cases.length > 0) console.log(`## ${title}\n\n${table(cases)}\n`);
}

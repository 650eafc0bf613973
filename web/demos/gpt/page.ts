// Tiny GPT: shows what the network writes by itself as it learns, and lets it write on demand.

import { find, show } from '../shared/dom.js';
import { type State, mountDemo } from '../shared/page.js';
import { type GptRules, facts } from './facts.js';
import type { GptAnswers, GptView, Passage } from './task.js';

/** Characters of a text on demand, and how many are asked for at a time: it shows as it comes, and can be stopped. */
const wanted = 400;
const atATime = 10;

const prompt = find<HTMLInputElement>('prompt');
const temperature = find<HTMLInputElement>('temperature');
const button = find<HTMLButtonElement>('write-button');
const written = find('written');
/** Ends what is being written. */
let stop: AbortController | undefined;

const demo = mountDemo<GptRules, GptView, GptAnswers>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [
    {
      title: 'nats a character',
      curves: { loss: 'training', heldOut: 'text it never trains on' },
      range: [1.4, 3.4],
    },
  ],
  draw({ passages }) {
    const list = find('stream');
    const newest = [...passages].reverse();
    while (list.children.length > newest.length) list.lastElementChild?.remove();
    newest.forEach((passage, i) => {
      const item = list.children[i] ?? list.appendChild(emptyItem());
      fill(item, passage);
    });
  },
  changed(state: State) {
    button.disabled = state === 'starting' || state === 'error';
  },
});

function emptyItem(): HTMLLIElement {
  const item = document.createElement('li');
  const [when, text] = [document.createElement('span'), document.createElement('p')];
  when.className = 'when';
  text.className = 'text';
  text.append(document.createElement('strong'), document.createTextNode(''));
  item.append(when, text);
  return item;
}

function fill(item: Element, { step, prompt: from, text }: Passage): void {
  const [when, paragraph] = item.children;
  if (!when || !paragraph) return;
  set(when, step === 0 ? 'untrained' : `after step ${step}`);
  const [start, rest] = paragraph.childNodes;
  if (start) set(start, from);
  if (rest) set(rest, text);
}

// Only what has changed: a selection stays where it is.
function set(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

const style = (): { prompt: string; temperature: number } => ({
  prompt: prompt.value,
  temperature: Number(temperature.value),
});

async function write(signal: AbortSignal): Promise<void> {
  button.textContent = 'Stop';
  written.hidden = false;
  show('write-state', '');
  const { prompt: from, temperature: heat } = style();
  const start = document.createElement('strong');
  start.textContent = from;
  const rest = document.createTextNode('');
  written.replaceChildren(start, rest);
  let text = '';
  let leftOut = '';
  while (!signal.aborted && text.length < wanted) {
    const answer = await demo.ask('write', { prompt: from + text, temperature: heat, count: atATime });
    if (!answer) break;
    leftOut = answer.unknown;
    text += answer.text;
    rest.data = text;
  }
  const missing = leftOut === '' ? '' : ` The book has no ${leftOut}: left out.`;
  show('write-state', `It wrote ${text.length} characters.${missing}`);
  stop = undefined;
  button.textContent = 'Write';
}

find('write').addEventListener('submit', (event) => {
  event.preventDefault();
  if (stop) stop.abort();
  else void write((stop = new AbortController()).signal);
});

temperature.addEventListener('input', () => {
  show('temperature-shown', Number(temperature.value).toFixed(1));
});
for (const field of [prompt, temperature])
  field.addEventListener('change', () => {
    if (!button.disabled) void demo.ask('style', style());
  });

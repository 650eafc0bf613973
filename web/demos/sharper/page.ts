// Sharper: shows what cubic interpolation and the network make of a picture, and doubles the visitor's own.

import { find, show } from '../shared/dom.js';
import { photoTitles } from '../shared/photo_names.js';
import { type State, mountDemo } from '../shared/page.js';
import { Comparison, type Compared, canvas, put } from './compare.js';
import { type SharperRules, facts } from './facts.js';
import { type Opened, doubleTiles, middleOf, opened } from './photograph.js';
import type { Judged, SharperAnswers, SharperView } from './task.js';

const decibels = (value: number): string => `${value.toFixed(2)} dB`;
const said = ({ network, cubic }: Judged): string =>
  `network ${decibels(network.psnr)}, SSIM ${network.ssim.toFixed(4)}; cubic ${decibels(cubic.psnr)}, SSIM ` +
  `${cubic.ssim.toFixed(4)}; the network is ${decibels(network.psnr - cubic.psnr)} ahead`;

const comparison = new Comparison();
const held: Compared = {
  cubic: canvas('The photograph held back, doubled by cubic interpolation'),
  network: canvas('The photograph held back, doubled by the network'),
  truth: canvas('The photograph held back, as it was'),
};
let own: Compared | undefined;
let photograph: Opened | undefined;
/** Of the photograph that is being doubled. */
let attempt = 0;
let heldText = '';
/** Whether the photograph was given to a run, and that run waits for the page to be ready. */
let waiting = false;

/** As the shell told last; it tells before there is a `demo`. */
let state: State = 'starting';

const which = find<HTMLSelectElement>('which');
const button = (id: string): HTMLButtonElement => find<HTMLButtonElement>(id);

const demo = mountDemo<SharperRules, SharperView, SharperAnswers>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [
    { title: 'loss (mean square)', curves: { loss: 'loss' } },
    { title: 'PSNR, held back (dB)', curves: { psnr: 'network', cubicPsnr: 'cubic' }, text: decibels },
    {
      title: 'SSIM, held back',
      curves: { ssim: 'network', cubicSsim: 'cubic' },
      text: (value) => value.toFixed(4),
    },
  ],
  draw,
  changed(next) {
    state = next;
    enable();
    if (state !== 'ready' || !waiting) return;
    waiting = false;
    button('primary').click();
  },
});

let drawn: SharperView['network']['data'] | undefined;

function draw(view: SharperView): void {
  const { network, cubic, truth, step } = view;
  heldText = `After ${step} steps, ${photoTitles[demo.settings.held]}: ${said(view.held)}.`;
  if (step === 0) heldText = `Nothing learnt yet, ${photoTitles[demo.settings.held]}: ${said(view.held)}.`;
  show('own-judged', view.own ? `The right third of yours, not trained on: ${said(view.own)}.` : '');
  button('untrain').hidden = !view.own;
  // Looks come more often than pictures change.
  if (drawn?.length !== network.data.length || network.data.some((value, i) => value !== drawn?.[i])) {
    put(held.network, network);
    if (!drawn || held.cubic.width !== cubic.width || step === 0) {
      put(held.cubic, cubic);
      if (held.truth) put(held.truth, truth);
    }
    drawn = network.data;
  }
  arrange();
}

function arrange(): void {
  const mine = which.value === 'own' ? own : undefined;
  comparison.show(mine ?? held);
  if (!mine) show('scores', heldText);
  else show('scores', 'Yours, doubled: there is no original of that size to hold it against.');
}
which.addEventListener('input', arrange);

function enable(): void {
  const ready = state !== 'starting' && state !== 'testing';
  for (const id of ['enlarge', 'train']) button(id).disabled = !photograph || !ready;
  button('untrain').disabled = !ready;
}

async function take(file: Blob): Promise<void> {
  attempt++;
  photograph = await opened(file);
  own = undefined;
  button('save').disabled = true;
  const { width, height, was } = photograph;
  const smaller =
    was === `${width} x ${height}`
      ? ''
      : `, made smaller (from ${was}) so that a browser can hold the result`;
  show('own-text', `Yours has ${width} x ${height} pixels${smaller}.`);
  enable();
  await enlarge();
}

async function enlarge(): Promise<void> {
  if (!photograph) return;
  const mine = ++attempt;
  const { width, height } = photograph;
  const made: Compared = {
    cubic: canvas('Your photograph, doubled by cubic interpolation', 2 * width, 2 * height),
    network: canvas('Your photograph, doubled by the network', 2 * width, 2 * height),
  };
  const bar = find<HTMLProgressElement>('tiles');
  bar.hidden = false;
  own = made;
  const option = which.querySelector<HTMLOptionElement>('option[value="own"]');
  if (option) option.disabled = false;
  which.value = 'own';
  arrange();
  const done = await doubleTiles(photograph, made, (tile) => demo.ask('enlarge', tile), (share) => {
    bar.value = share;
    return mine === attempt;
  }); // prettier-ignore
  if (mine !== attempt) return;
  bar.hidden = true;
  if (!done) return;
  button('save').disabled = false;
  const middle = middleOf(photograph, 512, 512);
  const text = `Doubled to ${2 * width} x ${2 * height} pixels.`;
  show('own-text', text);
  if (middle.width < 40 || middle.height < 40) return;
  const judged = await demo.ask('test', middle);
  if (!judged || mine !== attempt) return;
  show('own-text', `${text} Its middle, halved and doubled again: ${said(judged)}.`);
}

/** Begins a run that trains on the photograph too, or without it. */
async function trainOn(picture: Opened | undefined): Promise<void> {
  const given = await demo.ask('give', picture ? middleOf(picture, 768, 768) : null);
  if (!given) return;
  if (state === 'ready') button('primary').click();
  else {
    waiting = true;
    button('reset').click();
  }
}

async function save(): Promise<void> {
  const blob = await new Promise<Blob | null>((resolve) => {
    if (own) own.network.toBlob(resolve);
    else resolve(null);
  });
  if (!blob) throw new Error('the browser made no file of the picture; it may be too large');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = 'sharper.png';
  link.click();
  URL.revokeObjectURL(link.href);
}

const failed = (error: unknown): void => {
  demo.complain(error);
};
const on = (id: string, work: () => Promise<void>): void => {
  find(id).addEventListener('click', () => {
    work().catch(failed);
  });
};
on('enlarge', enlarge);
on('save', save);
on('train', () => trainOn(photograph));
on('untrain', () => trainOn(undefined));

const file = find<HTMLInputElement>('file');
const taken = (files: FileList | null | undefined): void => {
  const [chosen] = files ?? [];
  if (chosen) take(chosen).catch(failed);
};
file.addEventListener('change', () => {
  taken(file.files);
  file.value = '';
});
// Anywhere on the page: a photograph that misses the field would take the page away.
for (const type of ['dragover', 'drop', 'dragleave'] as const)
  addEventListener(type, (event) => {
    event.preventDefault();
    find('drop').classList.toggle('over', type === 'dragover');
    if (type === 'drop') taken(event.dataTransfer?.files);
  });

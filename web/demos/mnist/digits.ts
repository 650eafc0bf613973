// Digits as a row of tiles: the image, what the network reads, how sure it is, and what it is if that is asked for. In words too, not by colour alone.

import type { Answer } from './train.js';
import type { Sample } from './worker.js';

const side = 28;

function image({ pixels, label }: Sample): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = side;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `handwritten ${label}`);
  const ink = new ImageData(side, side);
  pixels.forEach((brightness, i) => (ink.data[4 * i + 3] = brightness));
  canvas.getContext('2d')?.putImageData(ink, 0, 0);
  return canvas;
}

function line(tag: 'strong' | 'small', text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function words(text: string): HTMLElement {
  const element = document.createElement('span');
  element.className = 'unseen';
  element.textContent = text;
  return element;
}

/** Under the image: what stands there before there is an answer, and after. */
function verdict(tile: Element, sample: Sample, answer: Answer | undefined, truth: boolean): void {
  const right = answer?.digit === sample.label;
  tile.className = answer ? (right ? 'right' : 'wrong') : '';
  const sure = answer ? `${Math.round(100 * answer.share)} %` : '';
  const text = answer ? `${right ? '✓' : '✗'} ${answer.digit}` : '?';
  const shown = [line('strong', text), line('small', sure || '\u00a0')];
  if (truth) shown.push(line('small', `is ${sample.label}`));
  for (const element of shown) element.setAttribute('aria-hidden', 'true');
  const said = answer ? `${right ? 'right' : 'wrong'}: reads ${answer.digit}, ${sure} sure` : 'no answer yet';
  tile.replaceChildren(...Array.from(tile.children).slice(0, 1), ...shown, words(said));
}

/** Fills `list`; the function it gives writes the answers, in order. */
export function digitRow(
  list: HTMLElement,
  samples: readonly Sample[],
  truth = false,
): (answers: readonly Answer[]) => void {
  const tiles = samples.map((sample) => {
    const tile = document.createElement('li');
    tile.append(image(sample));
    verdict(tile, sample, undefined, truth);
    return tile;
  });
  list.replaceChildren(...tiles);
  return (answers) => {
    samples.forEach((sample, i) => {
      const tile = tiles[i];
      if (tile) verdict(tile, sample, answers[i], truth);
    });
  };
}

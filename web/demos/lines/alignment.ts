// A strip, and under it what the network says of every place. Knows no network.

import { make } from '../shared/dom.js';
import { classes, frames, height, width } from './facts.js';
import type { Reading } from './reading.js';

const colour = (name: string): readonly number[] => {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const digits =
    hex.length === 4 ? Array.from(hex.slice(1), (c) => c + c) : (hex.slice(1).match(/../g) ?? []);
  return digits.map((pair) => parseInt(pair, 16));
};

export class StripView {
  readonly element = make('div', { className: 'strip' });
  readonly #ink: HTMLCanvasElement | undefined;
  readonly #map = make('canvas', { width: frames, height: classes });
  readonly #said = make('p');
  #shown: (Reading & { readonly pixels?: Uint8Array }) | undefined;

  /** @param withInk whether it shows the strip itself; the map alone goes below a pad */
  constructor(withInk = true) {
    if (withInk) {
      this.#ink = make('canvas', { width, height, className: 'ink' });
      this.element.append(this.#ink);
    }
    const names = make('div', { className: 'names' });
    names.setAttribute('aria-hidden', 'true');
    names.append(...Array.from('·0123456789', (name) => make('span', {}, name)));
    const map = make('div', { className: 'map' }, this.#map, names);
    for (const canvas of [this.#ink, this.#map]) canvas?.setAttribute('role', 'img');
    this.#map.setAttribute('aria-label', 'How sure the network is of each digit, from left to right');
    this.element.append(map);
    if (withInk) this.element.append(this.#said);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      if (this.#shown) this.#draw(this.#shown);
    });
  }

  show(read: Reading & { readonly pixels?: Uint8Array; readonly truth?: string }): void {
    this.#shown = read;
    this.#draw(read);
    const { truth, text } = read;
    if (truth === undefined) return;
    const right = text === truth;
    this.#ink?.setAttribute('aria-label', `A strip that says ${truth}`);
    this.#said.replaceChildren(
      'reads ',
      make('strong', { className: right ? 'right' : 'wrong' }, `${right ? '✓' : '✗'} ${text || 'nothing'}`),
      right ? '' : ` · says ${truth}`,
    );
  }

  #draw({ shares, pixels }: Reading & { readonly pixels?: Uint8Array }): void {
    const [ink, hot] = [colour('--text'), colour('--accent')];
    paint(this.#map, hot, (i) => shares[(i % frames) * classes + Math.floor(i / frames)] ?? 0);
    if (this.#ink && pixels) paint(this.#ink, ink, (i) => (pixels[i] ?? 0) / 255);
  }
}

// A colour, more or less of it.
function paint(canvas: HTMLCanvasElement, colour: readonly number[], share: (i: number) => number): void {
  const image = new ImageData(canvas.width, canvas.height);
  for (let i = 0; i < image.data.length / 4; i++) {
    image.data.set(colour, 4 * i);
    image.data[4 * i + 3] = Math.round(255 * share(i));
  }
  canvas.getContext('2d')?.putImageData(image, 0, 0);
}

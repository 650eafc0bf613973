// Two pictures of one size on top of each other, and an edge between them that a slider moves.

import { find, make, show } from '../shared/dom.js';
import type { Pixels } from './own.js';

/** Pictures to compare, as canvases of one size. */
export interface Compared {
  readonly cubic: HTMLCanvasElement;
  readonly network: HTMLCanvasElement;
  readonly truth?: HTMLCanvasElement;
}

/** A canvas with a name for who cannot see it. */
export function canvas(label: string, width = 1, height = 1): HTMLCanvasElement {
  const made = make('canvas', { width, height });
  made.setAttribute('role', 'img');
  made.setAttribute('aria-label', label);
  return made;
}

/** Draws pixels, all of them. */
export function put(target: HTMLCanvasElement, { width, height, data }: Pixels): void {
  if (target.width !== width || target.height !== height) Object.assign(target, { width, height });
  target.getContext('2d')?.putImageData(new ImageData(data.slice(), width, height), 0, 0);
}

export class Comparison {
  readonly #stage = find('stage');
  readonly #pair = find('pair');
  readonly #split = find<HTMLInputElement>('split');
  readonly #zoom = find<HTMLSelectElement>('zoom');
  readonly #original = find<HTMLInputElement>('original');
  readonly #edge = make('div', { className: 'edge' });
  #shown: Compared | undefined;
  #size = '';

  constructor() {
    this.#edge.setAttribute('aria-hidden', 'true');
    for (const element of [this.#split, this.#zoom, this.#original])
      element.addEventListener('input', () => {
        this.#arrange();
      });
    this.#stage.addEventListener('scroll', () => {
      this.#cut();
    });
    new ResizeObserver(() => {
      this.#cut();
    }).observe(this.#stage);
  }

  /** Shows these; call again when their size has changed. */
  show(pictures: Compared): void {
    const size = `${pictures.cubic.width} ${pictures.cubic.height}`;
    if (pictures === this.#shown && size === this.#size) return;
    this.#shown = pictures;
    this.#size = size;
    this.#original.disabled = !pictures.truth;
    this.#arrange(true);
  }

  #arrange(anew = false): void {
    if (!this.#shown) return;
    const { cubic, network, truth } = this.#shown;
    const original = this.#original.checked ? truth : undefined;
    const after = original ?? network;
    cubic.className = 'before';
    after.className = 'after';
    this.#pair.replaceChildren(cubic, after, this.#edge);
    const { style, classList } = this.#pair;
    const { value } = this.#zoom;
    const [x, y] = this.#middle();
    classList.toggle('fit', value === 'fit');
    style.setProperty('--width', String(cubic.width));
    style.setProperty('--height', String(cubic.height));
    style.setProperty('--zoom', value === 'fit' ? '1' : value);
    // What was in the middle stays there.
    const { clientWidth, clientHeight } = this.#stage;
    const [across, down] = anew ? [0.5, 0.5] : [x, y];
    this.#stage.scrollTo(
      across * this.#pair.clientWidth - clientWidth / 2,
      down * this.#pair.clientHeight - clientHeight / 2,
    );
    show('right-name', original ? 'original' : 'network');
    this.#cut();
  }

  // The place in the middle of the view, as a share of the pictures.
  #middle(): [number, number] {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.#stage;
    return [
      (scrollLeft + clientWidth / 2) / Math.max(1, this.#pair.clientWidth),
      (scrollTop + clientHeight / 2) / Math.max(1, this.#pair.clientHeight),
    ];
  }

  // The share is of the view, so that the edge stays in sight when the pictures are scrolled.
  #cut(): void {
    const seen = Math.min(this.#stage.clientWidth, this.#pair.clientWidth);
    const at = this.#stage.scrollLeft + (seen * Number(this.#split.value)) / 100;
    this.#pair.style.setProperty('--cut', `${at}px`);
  }
}

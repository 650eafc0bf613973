// Plays a solution over time, beside the exact one.

import { find } from '../shared/dom.js';
import type { EquationView } from './equation.js';
import { heat, paint } from './fields.js';

/** Milliseconds for time from 0 to 1. */
const duration = 5000;

export class Player {
  readonly #slider = find<HTMLInputElement>('time');
  readonly #button = find<HTMLButtonElement>('play');
  #view: EquationView | undefined;
  #frame = 0;
  #last = 0;

  constructor() {
    this.#slider.addEventListener('input', () => {
      this.stop();
      this.#draw();
    });
    this.#button.addEventListener('click', () => {
      if (this.#frame === 0) this.play();
      else this.stop();
    });
  }

  /** Shows a solution, at the time that was shown. */
  show(view: EquationView): void {
    const first = !this.#view;
    this.#view = view;
    this.#draw();
    if (first && !matchMedia('(prefers-reduced-motion: reduce)').matches) this.play();
  }

  play(): void {
    this.#button.textContent = 'Pause the film';
    this.#button.setAttribute('aria-pressed', 'true');
    this.#last = performance.now();
    const turn = (now: number): void => {
      const next = Number(this.#slider.value) + (now - this.#last) / duration;
      // As fine as the slider's steps.
      if (next - Number(this.#slider.value) >= 0.01) {
        this.#last = now;
        this.#slider.value = String(next > 1 ? 0 : next);
        this.#draw();
      }
      this.#frame = requestAnimationFrame(turn);
    };
    this.#frame = requestAnimationFrame(turn);
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#button.textContent = 'Play';
    this.#button.setAttribute('aria-pressed', 'false');
  }

  #draw(): void {
    const time = Number(this.#slider.value);
    find('time-text').textContent = time.toFixed(2);
    if (!this.#view) return;
    const { side, frames, network, exact } = this.#view;
    const size = side * side;
    const place = time * (frames - 1);
    const frame = Math.min(frames - 2, Math.floor(place));
    const share = place - frame;
    const scale = exact.subarray(0, size).reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
    for (const [name, field] of [
      ['network-field', network],
      ['exact-field', exact],
    ] as const) {
      // prettier-ignore
      const from = field.subarray(frame * size);
      const to = field.subarray((frame + 1) * size);
      const value = (i: number): number => (1 - share) * (from[i] ?? 0) + share * (to[i] ?? 0);
      paint(find(name), side, heat(value, scale));
    }
  }
}

// A surface to draw on, by mouse, pen, finger or keyboard. Knows nothing of networks: it has ink, cell by cell.

import { make } from './dom.js';

export interface PadSpec {
  readonly columns: number;
  readonly rows: number;
  /** Radius of the brush, in cells. */
  readonly brush: number;
  /** What it is for, to a screen reader: 'Your digit'. */
  readonly label: string;
  /** Called when ink changed, at most once a frame. */
  changed?(ink: Float32Array): void;
}

export interface Pad {
  /** 0 (none) to 1, row by row. */
  readonly ink: Float32Array;
  clear(): void;
  /** Replaces what is drawn; does not call `changed`. */
  set(ink: ArrayLike<number>): void;
}

const arrows: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const usage = 'Draw here; or by keyboard: arrows move, Space puts the pen down or lifts it, Delete clears.';

/** Puts a pad into an element. */
export function pad(place: HTMLElement, spec: PadSpec): Pad {
  const made = new Surface(spec);
  place.append(...made.elements);
  return made;
}

class Surface implements Pad {
  readonly ink: Float32Array;
  readonly elements: readonly HTMLElement[];
  readonly #spec: PadSpec;
  readonly #canvas: HTMLCanvasElement;
  readonly #told: HTMLElement;
  #cursor: { x: number; y: number };
  #down = false;
  #frame = 0;
  #fresh = false;

  constructor(spec: PadSpec) {
    const { columns, rows, label } = spec;
    this.#spec = spec;
    this.ink = new Float32Array(columns * rows);
    this.#cursor = { x: (columns - 1) / 2, y: (rows - 1) / 2 };
    this.#canvas = make('canvas', { width: columns, height: rows, className: 'pad', tabIndex: 0 });
    this.#canvas.style.aspectRatio = `${columns} / ${rows}`;
    this.#canvas.setAttribute('role', 'application');
    this.#canvas.setAttribute('aria-label', label);
    const hint = make('p', { id: `pad-hint-${count++}`, className: 'hint' }, usage);
    this.#canvas.setAttribute('aria-describedby', hint.id);
    this.#told = make('span', { className: 'unseen' });
    this.#told.setAttribute('role', 'status');
    this.elements = [this.#canvas, hint, this.#told];
    this.#listen();
    this.#soon(false);
  }

  clear(): void {
    this.ink.fill(0);
    this.#soon(true);
  }

  set(ink: ArrayLike<number>): void {
    this.ink.set(ink);
    this.#soon(false);
  }

  #listen(): void {
    const canvas = this.#canvas;
    let last: { x: number; y: number } | undefined;
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      last = this.#at(event);
      this.#stroke(last, last);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!last) return;
      // All the places since the last frame: a fast stroke stays round.
      const passed = event.getCoalescedEvents();
      for (const one of passed.length > 0 ? passed : [event]) {
        const next = this.#at(one);
        this.#stroke(last, next);
        last = next;
      }
    });
    for (const type of ['pointerup', 'pointercancel'] as const)
      canvas.addEventListener(type, () => (last = undefined));
    canvas.addEventListener('keydown', (event) => {
      if (this.#key(event)) event.preventDefault();
    });
    for (const type of ['focus', 'blur'] as const)
      canvas.addEventListener(type, () => {
        this.#down = false;
        this.#soon(false);
      });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#soon(false);
    });
  }

  #key({ key, ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
    if (ctrlKey || altKey || metaKey) return false;
    const move = arrows[key];
    if (move) {
      const { columns, rows } = this.#spec;
      const from = this.#cursor;
      const x = Math.max(0, Math.min(columns - 1, from.x + move[0]));
      const y = Math.max(0, Math.min(rows - 1, from.y + move[1]));
      this.#cursor = { x, y };
      if (this.#down) this.#stroke(from, this.#cursor);
      else this.#soon(false);
      return true;
    }
    if (key === ' ') {
      this.#down = !this.#down;
      this.#told.textContent = this.#down ? 'The pen is down.' : 'The pen is lifted.';
      if (this.#down) this.#stroke(this.#cursor, this.#cursor);
      return true;
    }
    if (key !== 'Delete' && key !== 'Backspace') return false;
    this.#told.textContent = 'Cleared.';
    this.clear();
    return true;
  }

  #at({ clientX, clientY }: MouseEvent): { x: number; y: number } {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    const { columns, rows } = this.#spec;
    return {
      x: ((clientX - left) / width) * columns - 0.5,
      y: ((clientY - top) / height) * rows - 0.5,
    };
  }

  #stroke(from: { x: number; y: number }, to: { x: number; y: number }): void {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const steps = Math.max(1, Math.ceil(2 * Math.sqrt(dx * dx + dy * dy)));
    for (let i = 0; i <= steps; i++) this.#stamp(from.x + (dx * i) / steps, from.y + (dy * i) / steps);
    this.#soon(true);
  }

  // A disc whose edge is a cell wide.
  #stamp(x: number, y: number): void {
    const { columns, rows, brush } = this.#spec;
    const reach = Math.ceil(brush + 1);
    for (let j = Math.max(0, Math.floor(y - reach)); j <= Math.min(rows - 1, y + reach); j++) {
      for (let i = Math.max(0, Math.floor(x - reach)); i <= Math.min(columns - 1, x + reach); i++) {
        const far = Math.sqrt((i - x) * (i - x) + (j - y) * (j - y));
        const ink = Math.max(0, Math.min(1, brush + 0.5 - far));
        const cell = j * columns + i;
        this.ink[cell] = Math.max(this.ink[cell] ?? 0, ink);
      }
    }
  }

  #soon(fresh: boolean): void {
    this.#fresh ||= fresh;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
      if (this.#fresh) this.#spec.changed?.(this.ink);
      this.#fresh = false;
    });
  }

  #draw(): void {
    const { columns, rows } = this.#spec;
    const context = this.#canvas.getContext('2d');
    if (!context) return;
    const light = matchMedia('(prefers-color-scheme: dark)').matches ? 235 : 20;
    const image = new ImageData(columns, rows);
    this.ink.forEach((ink, i) => {
      image.data.fill(light, 4 * i, 4 * i + 3);
      image.data[4 * i + 3] = Math.round(255 * ink);
    });
    context.putImageData(image, 0, 0);
    if (document.activeElement !== this.#canvas || !this.#canvas.matches(':focus-visible')) return;
    context.fillStyle = getComputedStyle(this.#canvas).getPropertyValue('--wrong');
    context.fillRect(Math.round(this.#cursor.x), Math.round(this.#cursor.y), 1, 1);
  }
}

let count = 0;

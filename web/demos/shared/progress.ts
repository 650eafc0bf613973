// What the page shows of any run: meters, curves and a summary in words. Drawing waits for a frame, and nothing waits for
// drawing.

import { type Chart, type ChartSpec, type RunSettings, chart } from './chart.js';
import { Curves, isNoisy } from './curves.js';
import { find, readable, show } from './dom.js';
import type { Report } from './protocol.js';

/** Milliseconds between two drawings of the curves, and over which the rate is a mean. */
const drawEvery = 150;
const rateOver = 3000;

export interface ProgressSpec<View> {
  readonly charts: readonly ChartSpec[];
  /** What is counted a second. */
  readonly unit: string;
  draw(view: View): void;
}

export class Progress<View> {
  curves = new Curves();
  #settings: RunSettings = { steps: 1 };
  readonly #spec: ProgressSpec<View>;
  readonly #charts: Chart[] = [];
  /** Of late: when in training time, and how many items by then. */
  #late: { ms: number; items: number }[] = [];
  #view: View | undefined;
  #drawn = -Infinity;
  #frame = 0;
  /** Tenths of the run that the summary has told of. */
  #told = 0;

  constructor(spec: ProgressSpec<View>) {
    this.#spec = spec;
    this.#makeCharts();
    show('rate-unit', `${spec.unit}/second`);
  }

  /** One in a task: together they would hold the page up. */
  #makeCharts(): void {
    const spec = this.#spec.charts[this.#charts.length];
    if (!spec) return;
    setTimeout(() => {
      const made = chart(find('charts'), spec);
      made.begin(this.#settings);
      made.draw(this.curves);
      this.#charts.push(made);
      this.#makeCharts();
    });
  }

  get steps(): number {
    return this.#settings.steps;
  }

  /** Empty, or with what a run has been through, for a run of these settings. */
  clear(settings: RunSettings, curves = new Curves()): void {
    cancelAnimationFrame(this.#frame);
    [this.curves, this.#settings, this.#late, this.#frame] = [curves, settings, [], 0];
    this.#told = Math.floor((10 * curves.step) / settings.steps);
    this.#view = undefined;
    for (const each of this.#charts) each.begin(settings);
    show('rate', '–');
    this.draw();
  }

  add(report: Report<View>): void {
    this.curves.add(report.step, report);
    const last = this.#late.at(-1) ?? { ms: 0, items: 0 };
    this.#late.push({ ms: last.ms + report.ms, items: last.items + report.items });
    if (report.view !== undefined) this.#view = report.view;
    if (this.#frame === 0) this.#frame = requestAnimationFrame(this.#onFrame);
  }

  /** A view that came by itself. */
  look(view: View): void {
    this.#view = view;
    this.draw();
  }

  readonly #onFrame = (now: number): void => {
    if (now - this.#drawn < drawEvery) {
      this.#frame = requestAnimationFrame(this.#onFrame);
      return;
    }
    this.draw();
    this.#drawn = now;
  };

  /** Draws what has arrived, now. */
  draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const { step, loss } = this.curves;
    for (const each of this.#charts) each.draw(this.curves);
    if (this.#view !== undefined) this.#spec.draw(this.#view);
    this.#view = undefined;
    show('step', `${step.toLocaleString('en')} / ${this.steps.toLocaleString('en')}`);
    show('loss', step === 0 ? '–' : readable(loss.smooth.at(-1) ?? 0));
    if (this.#late.length > 0) show('rate', this.#rate());
    find<HTMLProgressElement>('progress').value = step / this.steps;
  }

  #rate(): string {
    const late = this.#late;
    const end = late.at(-1) ?? { ms: 0, items: 0 };
    const from = late.findIndex(({ ms }) => end.ms - ms <= rateOver);
    const begin = late[from - 1] ?? { ms: 0, items: 0 };
    late.splice(0, Math.max(0, from - 1));
    return Math.round(((end.items - begin.items) * 1000) / (end.ms - begin.ms)).toLocaleString('en');
  }

  /** Read aloud, so not more often than each tenth of the run. */
  tell(): void {
    const tenth = Math.floor((10 * this.curves.step) / this.steps);
    if (tenth <= this.#told) return;
    this.#told = tenth;
    show('summary', `Step ${this.curves.step} of ${this.steps}: ${this.sofar()}.`);
  }

  /** "loss 0.213, down from 2.31 at the first step; PSNR (dB): network 31.01, cubic 29.49" */
  sofar(): string {
    return this.#spec.charts
      .flatMap(({ title, curves, text = readable }) => {
        const said = Object.entries(curves).flatMap(([name, label]) => {
          const curve = this.curves.of(name);
          const [first, last] = [curve.values[0], (isNoisy(curve) ? curve.smooth : curve.values).at(-1)];
          if (first === undefined || last === undefined) return [];
          if (name !== 'loss') return [`${label} ${text(last)}`];
          const way = last < first ? 'down' : 'up';
          return [`${label} ${text(last)}, ${way} from ${text(first)} at the first step`];
        });
        return said.length > 1 ? [`${title}: ${said.join(', ')}`] : said;
      })
      .join('; ');
  }
}

// Curves over training steps. Colours come from the style sheet, so they follow the theme. Knows nothing of training.

import uPlot from 'uplot';
import { type Curve, type Curves, isNoisy } from './curves.js';
import { readable } from './dom.js';

/** What a chart knows of the run that it shows. */
export type RunSettings = Readonly<Record<string, unknown>> & { readonly steps: number };

/** A chart: curves of one unit. */
export interface ChartSpec {
  /** Beside the axis: 'loss (cross-entropy)'. */
  readonly title: string;
  /** Names of the task's curves, 'loss' among them, and what the legend calls them. */
  readonly curves: Readonly<Record<string, string>>;
  /** The axis goes at least so far. */
  readonly range?: readonly [low: number, high: number];
  /** How a value is written; default: three digits. */
  readonly text?: (value: number) => string;
  /** Whether a run of these settings has such curves; default: every run. */
  readonly when?: (settings: RunSettings) => boolean;
}

export interface Chart {
  draw(curves: Curves): void;
  /** A run of other settings is to be shown. */
  begin(settings: RunSettings): void;
}

// Points drawn of a curve; a screen has no more columns for them.
const mostPoints = 1200;

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);
const height = (width: number): number => Math.round(Math.max(190, Math.min(280, width * 0.5)));

export function chart(place: HTMLElement, spec: ChartSpec): Chart {
  let steps = 1;
  const frame = document.createElement('div');
  frame.className = 'chart';
  frame.setAttribute('role', 'img');
  frame.setAttribute('aria-label', `${spec.title}, by training step; in words below`);
  place.append(frame);
  const { text = readable } = spec;
  const names = Object.keys(spec.curves);
  const axis = (label: string, size: NonNullable<uPlot.Axis['size']>): uPlot.Axis => ({
    label,
    size,
    labelSize: 24,
    labelFont: '14px system-ui, sans-serif',
    font: '13px system-ui, sans-serif',
    stroke: () => colour('--quiet'),
    values: (_plot, marks) => marks.map((mark) => mark.toLocaleString('en', { maximumSignificantDigits: 4 })),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { stroke: () => colour('--line'), width: 1 },
  });
  // The last step's, unless another is pointed at.
  const value = (plot: uPlot, at: number | null, series: number): string => {
    const number = at ?? (plot.data[series] as (number | null)[]).findLast((y) => y !== null);
    return number === undefined ? '–' : series === 0 ? number.toLocaleString('en') : text(number);
  };
  const series = names.flatMap((name, i): uPlot.Series[] => [
    {
      class: 'raw',
      label: '',
      value: () => '',
      stroke: () => colour(`--curve-${i + 1}-faint`),
      width: 1,
      points: { show: false },
    },
    {
      label: spec.curves[name] ?? name,
      class: `curve-${i + 1}`,
      stroke: () => colour(`--curve-${i + 1}`),
      width: 2.5,
      dash: i % 2 === 1 ? [8, 4] : [],
      points: { show: false },
      spanGaps: true,
      value,
    },
  ]);
  const width = (): number => Math.max(200, frame.clientWidth - 8);
  const [low, high] = spec.range ?? [];
  const plot = new uPlot(
    {
      width: width(),
      height: height(width()),
      scales: {
        x: { time: false, range: () => [0, steps] },
        y: {
          range: (_plot, least, most) => {
            const [from, to] = [Math.min(low ?? least, least), Math.max(high ?? most, most)];
            return from < to ? [from, to] : [from - 0.5 || 0, to + 0.5 || 1];
          },
        },
      },
      axes: [axis('training step', 32), axis(spec.title, widthOf)],
      // Dragging would zoom, and the next step would zoom back.
      cursor: { drag: { x: false, y: false } },
      series: [{ label: 'step', value }, ...series],
    },
    [[], ...series.map(() => [])],
    frame,
  );
  new ResizeObserver(() => {
    plot.setSize({ width: width(), height: height(width()) });
  }).observe(frame);
  // The strokes are asked for again; the legend's swatches are the style sheet's.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    plot.redraw(false, true);
  });
  return {
    draw(curves) {
      plot.setData(
        aligned(
          names.map((name) => curves.of(name)),
          curves.step,
        ),
      );
    },
    begin(settings) {
      steps = settings.steps;
      frame.hidden = spec.when?.(settings) === false;
    },
  };
}

/** Pixels that the marks beside an axis take. */
const widthOf = (_plot: uPlot, marks: readonly string[] | null): number =>
  Math.max(48, 18 + 8 * Math.max(0, ...(marks ?? []).map(({ length }) => length)));

/** Steps, and of each curve the values (where they are noisy) and the course; as many points as can be seen. */
function aligned(curves: readonly Curve[], step: number): uPlot.AlignedData {
  const every = Math.max(1, Math.ceil(step / mostPoints));
  const xs = Array.from({ length: Math.ceil(step / every) }, (_, i) => Math.min(step, (i + 1) * every));
  const columns = curves.flatMap((curve) => {
    const { steps, values, smooth } = curve;
    // Of noise, both it and its course are drawn.
    const noisy = isNoisy(curve);
    const course = noisy ? smooth : values;
    let next = 0;
    const raw: (number | null)[] = [];
    const line: (number | null)[] = [];
    for (const x of xs) {
      // The last of those up to here.
      let found = -1;
      while (next < steps.length && (steps[next] ?? 0) <= x) found = next++;
      line.push(course[found] ?? null);
      raw.push(noisy ? (values[found] ?? null) : null);
    }
    return [raw, line];
  });
  return [xs, ...columns];
}

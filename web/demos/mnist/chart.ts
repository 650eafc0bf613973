// The loss curve. Colours come from the style sheet, so it follows the theme. Knows nothing of training.

import uPlot from 'uplot';

export interface LossChart {
  /** Draws the losses, of steps 1, 2, ... */
  draw(losses: readonly number[], smooth: readonly number[]): void;
  /** Clears it for a run of so many steps. */
  clear(steps: number): void;
}

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);
const height = (width: number): number => Math.round(Math.max(220, Math.min(340, width * 0.55)));

export function lossChart(place: HTMLElement): LossChart {
  let steps = 1;
  const axis = (label: string, size: number): uPlot.Axis => ({
    label,
    size,
    labelSize: 26,
    labelFont: '15px system-ui, sans-serif',
    font: '14px system-ui, sans-serif',
    stroke: () => colour('--quiet'),
    values: (_plot, marks) => marks.map((mark) => mark.toLocaleString('en')),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { stroke: () => colour('--line'), width: 1 },
  });
  // The last step's, unless another is pointed at.
  const shown = (digits: number) => (plot: uPlot, value: number | null, series: number) => {
    const number = value ?? plot.data[series]?.at(-1);
    return number == null ? '–' : number.toFixed(digits);
  };
  const width = (): number => place.clientWidth - 8;
  const plot = new uPlot(
    {
      width: width(),
      height: height(width()),
      scales: {
        x: { time: false, range: () => [0, steps] },
        y: { range: (_plot, _low, high) => [0, Math.max(0.5, high || 2.5)] },
      },
      axes: [axis('training step', 34), axis('loss (cross-entropy)', 46)],
      // Dragging would zoom, and the next step would zoom back.
      cursor: { drag: { x: false, y: false } },
      series: [
        { label: 'step', value: shown(0) },
        {
          label: 'loss',
          stroke: () => colour('--faint'),
          width: 1,
          points: { show: false },
          value: shown(3),
        },
        {
          label: 'smoothed',
          stroke: () => colour('--accent'),
          width: 2.5,
          points: { show: false },
          value: shown(3),
        },
      ],
    },
    [[], [], []],
    place,
  );
  new ResizeObserver(() => {
    plot.setSize({ width: width(), height: height(width()) });
  }).observe(place);
  // The strokes are asked for again; the legend's swatches are the style sheet's.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    plot.redraw(false, true);
  });
  return {
    draw(losses, smooth) {
      plot.setData([losses.map((_, i) => i + 1), [...losses], [...smooth]]);
    },
    clear(count) {
      steps = count;
      plot.setData([[], [], []]);
    },
  };
}

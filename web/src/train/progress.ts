// Showing a run: a bar on Node's terminal, events on a page. Both are callbacks of `fit`.

import { nodeProcess } from '../loader/features.js';
import type { PlatformEventTarget } from '../platform.js';
import type { EpochEvent, Numbers, StepEvent, TrainingEvent } from './types.js';

/** Where a bar is written: Node's `process.stderr`, or anything like it. */
export interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

// Milliseconds between two drawings.
const every = 100;

/**
 * A bar of the epoch with the last values, the rate and the time that is left; a line of each epoch and each checkpoint.
 * Where the terminal is none (a file, a pipe) the lines alone. Nothing outside Node, unless a terminal is given.
 */
export function progressBar(
  terminal: Terminal | undefined = standardError(),
): (event: TrainingEvent) => void {
  if (!terminal) return () => undefined;
  const begun = performance.now();
  let drawn = -Infinity;
  let first: number | undefined;
  const line = (text: string): void => {
    terminal.write(`${terminal.isTTY ? '\r\u001b[K' : ''}${text}\n`);
  };
  return (event) => {
    if (event.kind === 'epoch') line(epochLine(event));
    else if (event.kind === 'save') line(`saved step ${event.step} to ${event.where}`);
    else {
      first ??= event.step - 1;
      const now = performance.now();
      if (!terminal.isTTY || now - drawn < every) return;
      drawn = now;
      const rate = ((event.step - first) / (now - begun)) * 1000;
      terminal.write(`\r\u001b[K${bar(event, rate, (terminal.columns ?? 80) - 1)}`);
    }
  };
}

/** Gives each event to a page: dispatches a CustomEvent `step`, `epoch` or `save` with it as `detail`. */
export function progressEvents(target: PlatformEventTarget): (event: TrainingEvent) => void {
  return (event) => {
    target.dispatchEvent(new CustomEvent(event.kind, { detail: event }));
  };
}

function standardError(): Terminal | undefined {
  return (nodeProcess() as { stderr?: Terminal } | undefined)?.stderr;
}

/** Four digits that matter. */
export function short(value: number): string {
  if (!Number.isFinite(value) || value === 0) return String(value);
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}

const listed = (values: Numbers): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${short(value)}`)
    .join(', ');

function epochLine({ epoch, step, values, validation, seconds }: EpochEvent): string {
  const shown = validation ? `; validation: ${listed(validation)}` : '';
  return `epoch ${epoch}, step ${step}: ${listed(values)}${shown} (${seconds.toFixed(1)} s)`;
}

function bar(event: StepEvent, rate: number, columns: number): string {
  const { inEpoch, stepsInEpoch, total, step, values, epoch } = event;
  const known = Number.isFinite(stepsInEpoch);
  const place = known ? `${inEpoch}/${stepsInEpoch}` : String(step);
  const left = Number.isFinite(total) ? `, ${duration((total - step) / rate)} left` : '';
  const text = ` ${place}  ${listed(values)}  ${short(rate)} steps/s${left}`;
  const head = `epoch ${epoch + 1} `;
  const width = Math.min(30, columns - head.length - text.length);
  if (!known || width < 5) return (head + text.trimStart()).slice(0, columns);
  const full = Math.round((width * inEpoch) / stepsInEpoch);
  return `${head}${'█'.repeat(full)}${'░'.repeat(width - full)}${text}`;
}

/** As m:ss or h:mm:ss. */
export function duration(seconds: number): string {
  const all = Math.max(0, Math.round(seconds));
  const two = (n: number): string => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

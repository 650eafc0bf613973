// A digit with arrows over it: where the deformable layer's kernel looks instead of where it lies.

import { make } from '../shared/dom.js';
import { places, side } from './facts.js';

/** Canvas pixels of a pixel of the image. */
const zoom = 5;
/** An arrow is so many times as long as the shift. */
const lengthen = 2;
/** Shifts shorter than this, in pixels of the image, are no arrow. */
const shortest = 0.5;

/** Pixels of the image from place to place. */
const apart = side / places;

const canvasSide = side * zoom;

/** Of the canvas that `drawDigit` draws on. */
export const canvasSize = { width: canvasSide, height: canvasSide };

interface Colours {
  readonly ink: string;
  readonly arrow: string;
}

/** The theme's. */
export function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  return { ink: style.getPropertyValue('--text'), arrow: style.getPropertyValue('--curve-2') };
}

/**
 * @param ink [28 * 28], 0 to 1
 * @param shifts [2 * 7 * 7], (y, x) in pixels
 */
export function drawDigit(
  canvas: HTMLCanvasElement,
  ink: Float32Array,
  shifts: Float32Array,
  { ink: inkColour, arrow }: Colours,
): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  context.clearRect(0, 0, canvasSide, canvasSide);
  drawInk(context, ink, inkColour);
  context.strokeStyle = arrow;
  context.lineWidth = 2;
  context.beginPath();
  for (let row = 0; row < places; row++)
    for (let column = 0; column < places; column++)
      if (inked(ink, row, column)) {
        const place = row * places + column;
        const y = shifts[place] ?? 0;
        const x = shifts[places * places + place] ?? 0;
        arrowFrom(
          context,
          (apart * column + 0.5) * zoom,
          (apart * row + 0.5) * zoom,
          x * zoom * lengthen,
          y * zoom * lengthen,
        );
      }
  context.stroke();
}

const small = make('canvas', { width: side, height: side });

/** In small first, then blown up: one call for all its pixels. */
function drawInk(context: CanvasRenderingContext2D, ink: Float32Array, colour: string): void {
  const source = small.getContext('2d');
  if (!source) return;
  const image = new ImageData(side, side);
  ink.forEach((value, i) => (image.data[4 * i + 3] = Math.round(140 * Math.min(1, value))));
  source.putImageData(image, 0, 0);
  // Only where there is ink, as strong as it is.
  source.globalCompositeOperation = 'source-in';
  source.fillStyle = colour;
  source.fillRect(0, 0, side, side);
  source.globalCompositeOperation = 'source-over';
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvasSide, canvasSide);
}

/** Whether there is ink under the middle of the kernel at a place. */
function inked(ink: Float32Array, row: number, column: number): boolean {
  for (let y = -1; y <= 1; y++)
    for (let x = -1; x <= 1; x++) {
      const [down, right] = [apart * row + y, apart * column + x];
      if (down >= 0 && right >= 0 && (ink[down * side + right] ?? 0) > 0.25) return true;
    }
  return false;
}

function arrowFrom(context: CanvasRenderingContext2D, x: number, y: number, dx: number, dy: number): void {
  const length = Math.sqrt(dx * dx + dy * dy);
  if (length < shortest * zoom * lengthen) return;
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(7, length / 2);
  const [endX, endY] = [x + dx, y + dy];
  context.moveTo(x, y);
  context.lineTo(endX, endY);
  context.lineTo(endX - head * (ux + 0.6 * uy), endY - head * (uy - 0.6 * ux));
  context.moveTo(endX, endY);
  context.lineTo(endX - head * (ux - 0.6 * uy), endY - head * (uy + 0.6 * ux));
}

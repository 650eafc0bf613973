// The pictures whose derivatives are learnt: 64 x 64 pixels of a photograph, each the mean of a block of it.

import { decodePng } from 'omnigrad/data';
import type { Data } from '../shared/task.js';
import { type PhotoName, side } from './facts.js';

/** Where in which photograph, and how many of its pixels make one. */
const crops = {
  astronaut: { x: 150, y: 10, block: 3 },
  cat: { file: 'chelsea', x: 90, y: 60, block: 3 },
  coffee: { x: 150, y: 40, block: 5 },
} as const satisfies Record<PhotoName, { file?: string; x: number; y: number; block: number }>;

/** Brightness from 0 to 1 of side * side pixels, row by row, by the luma of Rec. 601 in whole numbers. */
export async function photo(data: Data, name: PhotoName): Promise<Float64Array> {
  const { x, y, block, ...rest } = crops[name];
  const file = 'file' in rest ? rest.file : name;
  const picture = decodePng(await data.bytes(`photos/${file}.png`), { channels: 3 });
  const [, height = 0, width = 0] = picture.shape;
  const values = picture.toTypedArray();
  picture.dispose();
  const luma = (at: number): number =>
    [299, 587, 114].reduce((sum, weight, c) => sum + weight * Number(values[c * height * width + at]), 0);
  return Float64Array.from({ length: side * side }, (_, pixel) => {
    const [left, top] = [x + (pixel % side) * block, y + Math.floor(pixel / side) * block];
    let sum = 0;
    for (let i = 0; i < block * block; i++) {
      sum += luma((top + Math.floor(i / block)) * width + left + (i % block));
    }
    return sum / (255000 * block * block);
  });
}

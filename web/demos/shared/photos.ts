// The photographs, as tensors.

import { type Tensor, scope, tensor } from 'omnigrad';
import { decodePng } from 'omnigrad/data';
import type { Data } from './task.js';
import type { PhotoName } from './photo_names.js';

const kept = new Map<PhotoName, Promise<Tensor>>();

/** A photograph in colours, float32 [1, 3, H, W], from 0 to 1. It is kept for the next who asks: do not dispose it. */
export function photo(data: Data, name: PhotoName): Promise<Tensor> {
  let found = kept.get(name);
  if (!found) {
    found = read(data, `photos/${name}.png`);
    // One that did not arrive is asked for again.
    found.catch(() => kept.delete(name));
    kept.set(name, found);
  }
  return found;
}

async function read(data: Data, path: string): Promise<Tensor> {
  const bytes = await data.bytes(path);
  return scope(() => decodePng(bytes, { channels: 3, name: path }).at(null).cast('float32').div(255));
}

/** How bright [N, 3, H, W] is, [N, 1, H, W]: 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601). */
export function luma(colours: Tensor): Tensor {
  return scope(() => {
    const weights = tensor([0.299, 0.587, 0.114], { shape: [1, 3, 1, 1] });
    return colours.mul(weights).sum(1, { keepdim: true });
  });
}

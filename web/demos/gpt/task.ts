// A small transformer learns to write like Moby Dick, one character after another, from nothing but the book.

import { Generator, type Tensor, crossEntropy, noGrad, scope } from 'omnigrad';
import { CharTokenizer, DataLoader, type SequenceBatch, SequenceDataset } from 'omnigrad/data';
import { AdamW, Muon } from 'omnigrad/optim';
import type { Stateful } from 'omnigrad/train';
import { endless } from '../shared/batches.js';
import { rateAt } from '../shared/rate.js';
import type { Settings } from '../shared/session.js';
import type { Measure, Step, Task, Training } from '../shared/task.js';
import { type GptRules, facts, trigram } from './facts.js';
import { CharGpt } from './model.js';
import { Writer } from './writer.js';

/** A text that the network wrote, or writes. */
export interface Passage {
  /** Steps that it had learnt when it began. */
  readonly step: number;
  /** What it was to go on from. */
  readonly prompt: string;
  readonly text: string;
}

export interface GptView {
  /** Some of the texts that it wrote by itself, from the beginning on, the one under way last. */
  readonly passages: readonly Passage[];
}

/** What it is to write by itself as it learns. */
export interface Style {
  readonly prompt: string;
  /** From 0. */
  readonly temperature: number;
}

export type GptAnswers = {
  /** Changes how it writes by itself, in later runs as well; begins a new text. */
  style(style: Style): void;
  /** The next `count` characters of `prompt`, and those of it that the book does not have. */
  write(order: Style & { readonly count: number }): { readonly text: string; readonly unknown: string };
};

interface Book {
  readonly letters: CharTokenizer;
  readonly codes: Int32Array;
  /** Where the last tenth begins. */
  readonly cut: number;
}

/** The rate of what Muon is not for, beside Muon's. */
const gentler = 0.4;
/** Characters of a text that it writes by itself, how many of them at a time, and how many texts are shown. */
const passageLength = 160;
const atATime = 12;
const passagesShown = 7;
/** Steps between two looks at the held part, and windows looked at. */
const glanceEvery = 25;
const glance = 64;
let style: Style = { prompt: 'Call me ', temperature: 0.8 };

/** The stream of the characters that it draws. */
const writingSeed = 2_718_281;

export class Gpt implements Training<GptView, GptAnswers> {
  readonly net: CharGpt;
  readonly parts: Readonly<Record<string, Stateful>>;
  readonly answers: GptAnswers = {
    style: (wanted) => {
      style = wanted;
      this.#passages.push(this.#begun());
    },
    write: ({ prompt, temperature, count }) => ({
      text: [...this.#writer.goOn(prompt, count, temperature)].join(''),
      unknown: this.#writer.unknown(prompt),
    }),
  };
  readonly #settings: Settings<GptRules>;
  readonly #held: SequenceDataset;
  readonly #next: () => Promise<SequenceBatch>;
  readonly #adam: AdamW;
  readonly #muon: Muon;
  readonly #writer: Writer;
  readonly #passages: Passage[] = [];
  #step = 0;

  constructor({ letters, codes, cut }: Book, settings: Settings<GptRules>) {
    this.#settings = settings;
    const { batch: batchSize, context: length, layers, heads, seed, lr } = settings;
    this.net = new CharGpt({ letters: letters.size, context: length, layers, heads });
    const half = length >> 1;
    // Windows overlap by half: each character is met in two places.
    const windows = new SequenceDataset(codes.subarray(0, cut), { length, stride: half });
    const loader = new DataLoader(windows, { batchSize, shuffle: true, seed, dropLast: true });
    this.#next = endless(loader);
    this.#held = new SequenceDataset(codes.subarray(cut - half), { length, stride: half });
    const { hidden } = this.net;
    const others = [...this.net.parameters()].filter((parameter) => !hidden.includes(parameter));
    this.#muon = new Muon(hidden, { lr, adjustLrFn: 'matchRmsAdamw' });
    this.#adam = new AdamW(others, { lr, betas: [0.9, 0.99] });
    this.parts = { net: this.net, muon: this.#muon, adam: this.#adam, loader, written: this.#written() };
    this.#writer = new Writer(this.net, letters, new Generator(writingSeed));
  }

  async step(step: number): Promise<Step> {
    const { steps, lr, batch, context } = this.#settings;
    const [x, y] = await this.#next();
    this.#muon.lr = rateAt(step, steps, lr);
    this.#adam.lr = gentler * this.#muon.lr;
    const loss = scope(() => {
      const value = this.#loss(x, y, 0);
      value.backward();
      return value.item();
    });
    for (const optimizer of [this.#muon, this.#adam]) {
      optimizer.step();
      optimizer.zeroGrad();
    }
    this.#step = step;
    const look = step % glanceEvery === 0 || step === steps;
    return { loss, items: batch * context, ...(look && { curves: { heldOut: this.#glance() } }) };
  }

  /** What it wrote, as a part of the run: it is there again after a reload. */
  #written(): Stateful {
    return {
      stateDict: () => ({ step: this.#step, passages: this.#passages }),
      loadStateDict: (state: { step: number; passages: readonly Passage[] }) => {
        this.#step = state.step;
        this.#passages.splice(0, this.#passages.length, ...state.passages);
      },
    };
  }

  /** Nats a character, of those from place `from` of each window on. */
  #loss(x: Tensor, y: Tensor, from: number): Tensor {
    const part = (t: Tensor): Tensor => (from === 0 ? t : t.at(':', [from, this.#settings.context]));
    return crossEntropy(part(this.net.call(x)).reshape([-1, this.net.letters]), part(y).reshape([-1]));
  }

  /** Nats a character of some windows of the held part, each with half a window before it. */
  #read(windows: readonly number[]): number {
    return noGrad(() =>
      scope(() => {
        const [x, y] = this.#held.batch(windows);
        return this.#loss(x, y, this.#settings.context >> 1).item();
      }),
    );
  }

  /** The same few places of the held part each time, spread over it. */
  #glance(): number {
    const count = Math.min(glance, this.#held.length);
    return this.#read(Array.from({ length: count }, (_, i) => Math.floor((i * this.#held.length) / count)));
  }

  #begun(): Passage {
    return { step: this.#step, prompt: style.prompt, text: '' };
  }

  look(): GptView {
    const last = this.#passages.at(-1);
    if (!last || last.text.length >= passageLength) this.#passages.push(this.#begun());
    const passage = this.#passages.pop() ?? this.#begun();
    const prompt = passage.prompt + passage.text;
    const more = this.answers.write({ prompt, temperature: style.temperature, count: atATime });
    this.#passages.push({ ...passage, text: passage.text + more.text });
    if (this.#passages.length > passagesShown) this.#passages.splice(this.#dispensable(), 1);
    return { passages: [...this.#passages] };
  }

  /** The text in the middle whose neighbours are closest in steps: those that stay show the way from the beginning. */
  #dispensable(): number {
    const steps = this.#passages.map(({ step }) => step);
    let [best, least] = [1, Infinity];
    for (let i = 1; i < steps.length - 2; i++) {
      const gap = (steps[i + 1] ?? 0) - (steps[i - 1] ?? 0);
      if (gap < least) [best, least] = [i, gap];
    }
    return best;
  }

  async measure(): Promise<Measure> {
    // Every character of the held part once.
    const size = 64;
    let sum = 0;
    for (let first = 0; first < this.#held.length; first += size) {
      const count = Math.min(size, this.#held.length - first);
      sum += count * this.#read(Array.from({ length: count }, (_, i) => first + i));
    }
    const value = sum / this.#held.length;
    const bits = (nats: number): string => nats.toFixed(3);
    return Promise.resolve({
      value,
      reached: value < trigram,
      text:
        `On the last tenth of the book, which it never trained on, it loses ${bits(value)} nats a character; a model ` +
        `that counts which character follows two others loses ${trigram.toFixed(2)}, and that was to be beaten.`,
    });
  }

  dispose(): void {
    this.#muon.dispose();
    this.#adam.dispose();
    this.net.dispose();
  }
}

let book: Promise<Book> | undefined;

async function opened(bytes: Promise<Uint8Array>): Promise<Book> {
  const text = new TextDecoder().decode(await bytes);
  const letters = CharTokenizer.from(text);
  const codes = letters.encode(text);
  return { letters, codes, cut: Math.floor(0.9 * codes.length) };
}

export const task: Task<GptRules, GptView, GptAnswers> = {
  ...facts,
  async begin(data, settings) {
    book ??= opened(data.bytes('moby.txt')).catch((error: unknown) => {
      // Another attempt asks again.
      book = undefined;
      throw error;
    });
    return new Gpt(await book, settings);
  },
};

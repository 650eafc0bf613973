// How the network writes: one character after another, each drawn from what it thinks likely. Its random numbers are its
// own, so that training goes on as if nothing had been written.

import { type Generator as RandomNumbers, multinomial, noGrad, scope, softmax, tensor } from 'omnigrad';
import type { CharTokenizer } from 'omnigrad/data';
import type { Cache, CharGpt } from './model.js';

export class Writer {
  readonly #net: CharGpt;
  readonly #letters: CharTokenizer;
  readonly #generator: RandomNumbers;

  constructor(net: CharGpt, letters: CharTokenizer, generator: RandomNumbers) {
    this.#net = net;
    this.#letters = letters;
    this.#generator = generator;
  }

  /** Characters of the text that the network does not know, each once. */
  unknown(text: string): string {
    return [...new Set(text)].filter((char) => !this.#letters.chars.includes(char)).join('');
  }

  /**
   * The next `count` characters of a text; what the network does not know of it is left out. Keys and values of those
   * before are kept from one to the next; a full cache begins again with the last half.
   *
   * @param temperature divides the scores: below 1 likely characters become likelier, 0 takes the likeliest
   */
  *goOn(text: string, count: number, temperature: number): Generator<string> {
    const { context } = this.#net;
    const known = Array.from(text).filter((char) => this.#letters.chars.includes(char));
    // Of nothing it cannot go on.
    const written = [...this.#letters.encode(known.join('') || '\n')];
    let cache: Cache | undefined;
    try {
      let held = context;
      for (let i = 0; i < count; i++) {
        if (held === context) {
          cache?.dispose();
          cache = this.#net.body.newCache();
          held = 0;
        }
        const fresh = held === 0 ? written.slice(-Math.ceil(context / 2)) : written.slice(-1);
        held += fresh.length;
        const next = this.#draw(fresh, cache as Cache, temperature);
        written.push(next);
        yield this.#letters.chars[next] ?? '';
      }
    } finally {
      cache?.dispose();
    }
  }

  #draw(fresh: readonly number[], cache: Cache, temperature: number): number {
    return noGrad(() =>
      scope(() => {
        const input = tensor(Int32Array.from(fresh), { shape: [1, fresh.length] });
        const scores = this.#net.goOn(input, cache).at(0, -1);
        if (temperature === 0) return scores.argmax(0).item();
        const chances = softmax(scores.div(temperature), 0);
        return multinomial(chances, 1, { generator: this.#generator }).item();
      }),
    );
  }
}

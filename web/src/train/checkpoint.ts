// What a run needs to go on as if it had never stopped: the state of its parts, of the random numbers, and words of the
// run's own. How it becomes a file is io's.

import { failure, shown } from '../errors.js';
import { checkedOptions } from '../options.js';
import { type Source, type Target, type Tree, load, save } from '../io/index.js';
import { defaultGenerator } from '../random.js';
import { tensorsIn } from '../scope.js';
import type { Stateful } from './types.js';

const version = 1;

/** The parts of a run that a file keeps together. */
export class Checkpoint {
  readonly #parts: ReadonlyMap<string, Stateful>;

  /** @param parts whatever has `stateDict` and `loadStateDict`, by name: `{ model, optimizer, schedule, data: loader }` */
  constructor(parts: Readonly<Record<string, Stateful | undefined>>) {
    checkedOptions('Checkpoint', parts, Object.keys(Object(parts) as object)); // a record at all
    const given = Object.entries(parts).filter(([, part]) => part !== undefined) as [string, Stateful][];
    for (const [name, part] of given) {
      const { stateDict, loadStateDict } = part as Partial<Stateful>;
      if (typeof stateDict === 'function' && typeof loadStateDict === 'function') continue;
      throw failure(
        'Checkpoint',
        'argument',
        `${name} is ${shown(part)}; it has no stateDict and loadStateDict`,
      );
    }
    this.#parts = new Map(given);
  }

  /**
   * Saves every part, the default generator's state, and `words`. All is copied before this returns its promise, so
   * training may go on; a target that was there stays whole if writing fails.
   */
  save(target: Target, words: Tree = {}): Promise<void> {
    const parts = Object.fromEntries(
      Array.from(this.#parts, ([name, part]) => [name, part.stateDict() as Tree]),
    );
    return save(target, { version, parts, random: defaultGenerator().getState(), words });
  }

  /**
   * Puts everything back; gives the words.
   *
   * @throws OmnigradError `not-found` if nothing is there, `state-dict` if the parts are not those that were saved
   */
  async load<T = Tree>(source: Source): Promise<T> {
    const saved = await load<Saved>(source);
    try {
      this.#check(saved);
      for (const [name, part] of this.#parts) part.loadStateDict(saved.parts[name] as never);
      defaultGenerator().setState(saved.random);
      return saved.words as T;
    } finally {
      for (const tensor of tensorsIn(saved)) tensor.dispose();
    }
  }

  #check(saved: Partial<Saved>): void {
    const wrong = (text: string): Error => failure('Checkpoint.load', 'state-dict', text);
    if (saved.version !== version || typeof saved.parts !== 'object')
      throw wrong(`this is no checkpoint of version ${version}`);
    const there = Object.keys(saved.parts).sort().join(', ');
    const own = [...this.#parts.keys()].sort().join(', ');
    if (there !== own) throw wrong(`it holds ${there || 'nothing'}; the run has ${own || 'nothing'}`);
  }
}

interface Saved {
  readonly version: number;
  readonly parts: Readonly<Record<string, unknown>>;
  readonly random: { seed: number; offset: number };
  readonly words: unknown;
}

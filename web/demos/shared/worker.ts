// The worker of a demo's page. Holding a run, looking at it, asking it and keeping it change no bit of its losses:
// nothing but its steps draws random numbers or touches the network.

import { init } from 'omnigrad';
import { browserStore } from 'omnigrad/io';
import { type Served, serve } from 'omnigrad/worker';
import { siteData } from './data.js';
import { failure } from './failure.js';
import { Session, hashOf, historyIn } from './session.js';
import type { Handlers, Machine, Order } from './protocol.js';
import type { Rules } from './settings.js';
import type { Answering, Task } from './task.js';

/** Milliseconds between two looks, and between two copies that are kept. */
const lookEvery = 150;
const keepEvery = 5000;

/** Offers a task to the page that started this worker. */
export function serveTask<R extends Rules, View, Answers extends Answering>(
  task: Task<R, View, Answers>,
): Served<Handlers<R, View, Answers>> {
  const store = browserStore(`demo-${task.name}`);
  let session: Session<R, View, Answers> | undefined;
  /** Hands the present run's copy to the page. */
  let handOver: ((kept: Uint8Array) => void) | undefined;

  const current = (): Session<R, View, Answers> => {
    if (session) return session;
    throw failure(task.name, 'no-run', 'there is no network yet');
  };

  const begin = async ({ machine, settings, given, from }: Order<R>, kept?: Uint8Array): Promise<void> => {
    await init(buildOf(machine));
    const copy = kept ?? (from === 'stored' ? await store.read() : from);
    session?.dispose();
    session = undefined;
    session = await Session.begin(task, siteData(machine.data, given), settings, copy);
  };

  const keep = async (): Promise<void> => {
    const kept = await current().keep();
    handOver?.(kept);
    // Where the browser keeps nothing (private windows), or has no room, the page's copy is all there is.
    await store.write([kept as Uint8Array<ArrayBuffer>]).catch(() => undefined);
  };

  return serve<Handlers<R, View, Answers>>({
    /** Starts the build that the page asks for. */
    async start(machine) {
      const { variant, threads, reason } = await init(buildOf(machine));
      return { variant, threads, reason };
    },

    /** A network that has learnt nothing, or that was kept: to look at and to ask. */
    async prepare(order) {
      await begin(order);
      return current().training.look();
    },

    async *train(order, context) {
      await begin(order, context.restored);
      const run = current();
      handOver = (copy) => {
        context.checkpoint(copy);
      };
      const worker = performance.timeOrigin;
      let [looked, kept] = [-Infinity, performance.now()];
      try {
        for (let over = run.done; !over;) {
          const begun = performance.now();
          const step = await run.next();
          const now = performance.now();
          over = run.done;
          const look = over || now - looked > lookEvery;
          yield {
            ...step,
            ...{ step: run.step, ms: now - begun, worker },
            ...(look ? { view: run.training.look() } : {}),
          };
          if (look) looked = performance.now();
          // After the report: a run that goes on from here reports the next step first.
          if (!over && performance.now() - kept < keepEvery) continue;
          await keep();
          kept = performance.now();
        }
        const measure = await run.measure();
        return { measure, hash: await hashOf(run.weights()), view: run.training.look() };
      } finally {
        handOver = undefined;
      }
    },

    ask: async ({ name, argument }) => {
      const { answers } = current().training;
      return (await answers[name]?.(argument as never)) as never;
    },

    /** Keeps the run as it stands now. */
    async keep() {
      await keep();
      return current().training.look();
    },

    /** What the stored run has been through, if there is one of this task. */
    async stored(copy) {
      const file = copy ?? (await store.read().catch(() => undefined));
      return file && (await historyIn(file, task.name));
    },
    forget: () => store.remove().catch(() => undefined),

    // eslint-disable-next-line @typescript-eslint/require-await -- an error must become a rejection
    weights: async () => current().weights(),
    async upload(file) {
      const run = current();
      await run.take(file);
      return run.training.look();
    },
  });
}

const buildOf = ({ variant, threads }: Machine): Parameters<typeof init>[0] => ({
  variant,
  // All demos have them in common.
  assets: new URL('../assets/', import.meta.url),
  ...(threads === 'auto' ? {} : { threads }),
});

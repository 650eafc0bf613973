// Batches without end.

import { failure } from './failure.js';

/** One batch after the other, epoch after epoch. A loader that has loaded its state goes on there. */
export function endless<Batch>(loader: AsyncIterable<Batch>): () => Promise<Batch> {
  async function* all(): AsyncGenerator<Batch, never> {
    for (;;) {
      let some = false;
      for await (const batch of loader) {
        some = true;
        yield batch;
      }
      if (!some) throw failure('data', 'option', 'the data does not fill one batch; choose smaller batches');
    }
  }
  const batches = all();
  return async () => (await batches.next()).value;
}

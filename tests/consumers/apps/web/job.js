// The same in a worker.
import { serve } from 'omnigrad/worker';
import { train } from './train.js';

serve({
  async *train(options) {
    yield await train(options);
  },
});

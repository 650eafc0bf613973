// omnigrad/worker in this engine's worker threads.
import { Worker } from 'node:worker_threads';
import { connect } from 'omnigrad/worker';

const job = connect(() => new Worker(new URL('../web/job.js', import.meta.url)));
for await (const report of job.train({ threads: 2 })) console.log(JSON.stringify(report));

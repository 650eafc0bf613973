// Ends by itself, without close().
import { Worker } from 'node:worker_threads';
import { connect } from 'omnigrad/worker';

const job = connect(() => new Worker(new URL('./job.mjs', import.meta.url)));
let last;
for await (const i of job.count({ to: 40, ms: 5 })) last = i;
process.stdout.write(String(last));

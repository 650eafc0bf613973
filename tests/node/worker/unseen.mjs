// A call whose failure nobody asks for.
import { Worker } from 'node:worker_threads';
import { connect } from 'omnigrad/worker';

const job = connect(() => new Worker(new URL('./job.mjs', import.meta.url)));
process.on('unhandledRejection', (error) => process.stdout.write(error.message));
void job.fail({ kind: 'type' });

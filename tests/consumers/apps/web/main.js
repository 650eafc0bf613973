// Trains on the page, then in a worker; the tests read what is left on <body>. `?assets=URL` says where the builds are.
import { OmnigradError } from 'omnigrad';
import { connect } from 'omnigrad/worker';
import { train } from './train.js';

async function main() {
  const folder = new URLSearchParams(location.search).get('assets');
  const options = folder ? { assets: new URL(folder, location.href).href } : {};
  const page = await train(options);
  const job = connect(() => new Worker(new URL('./job.js', import.meta.url), { type: 'module' }));
  const reports = [];
  for await (const report of job.train(options)) reports.push(report);
  return { page, worker: reports[0] };
}

main().then(
  (result) => (document.body.dataset.result = JSON.stringify(result)),
  (error) =>
    (document.body.dataset.result = JSON.stringify({ error: String(error), known: OmnigradError.is(error) })),
);

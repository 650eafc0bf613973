'use client';
// Rendered on the server too, where importing the library must do nothing.
import { useEffect } from 'react';
import { ones } from 'omnigrad';
import { connect } from 'omnigrad/worker';
import { train } from './train';

async function main() {
  const page = await train();
  const job = connect(() => new Worker(new URL('./job.js', import.meta.url), { type: 'module' }));
  const reports = [];
  for await (const report of job.train({})) reports.push(report);
  return { page, worker: reports[0] };
}

export default function Page() {
  useEffect(() => {
    main().then(
      (result) => (document.body.dataset.result = JSON.stringify(result)),
      (error) => (document.body.dataset.result = JSON.stringify({ error: String(error) })),
    );
  }, []);
  return <p>trains {typeof ones}</p>;
}

// Trains away from the page, and reports.

import { init } from 'omnigrad';
import { mnist } from 'omnigrad/data';
import type { Message, Start } from './protocol.js';
import { type Report, Training } from './train.js';

const post = (message: Message): void => {
  self.postMessage(message);
};

async function run({ variant, threads, source, ...options }: Start): Promise<void> {
  const started = await init({ variant, ...(threads === undefined ? {} : { threads }) });
  post({ type: 'ready', variant: started.variant, threads: started.threads, ...started.reason });
  const [train, test] = await Promise.all([mnist('train', { source }), mnist('test', { source })]);
  const training = new Training(options);
  // A message a step would keep the page busy; none is dropped.
  let reports: Report[] = [];
  let sent = performance.now();
  for await (const report of training.run(train)) {
    reports.push(report);
    if (performance.now() - sent < 100 && report.step < options.steps) continue;
    post({ type: 'reports', reports });
    reports = [];
    sent = performance.now();
  }
  post({ type: 'done', accuracy: await training.accuracy(test) });
}

self.onmessage = ({ data }: MessageEvent<Start>) => {
  run(data).catch((error: unknown) => {
    post({ type: 'error', message: error instanceof Error ? error.message : String(error) });
  });
};

// What to do about an error, by its code. The message says what is wrong; this is for who reads it on the page.

const byCode: Record<string, string> = {
  setting: 'Correct the address; or press Start, which runs what the fields show.',
  'not-isolated':
    'The threaded build was asked for on a page that cannot have it. Take variant=threads out of the address, or ' +
    'follow the link at the foot of this page.',
  'no-simd': 'Update the browser, or open this page in another.',
  'no-exceptions': 'Update the browser, or open this page in another.',
  'not-found': 'The digits did not arrive. Is the server (npm run demo) still running? Then reload the page.',
  memory: 'Close other tabs, or ask for smaller batches with ?batch=32 in the address; then reload the page.',
  'start-failed': 'A file did not load. Is the server (npm run demo) still running? Then reload the page.',
  'worker-died':
    'The browser ended the worker, likely for want of memory. Close other tabs; then reload the page.',
};

export const adviceFor = (code: string): string =>
  byCode[code] ?? 'Reload the page. If it happens again, the console of the browser may say more.';

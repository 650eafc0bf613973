// What to do about an error, by its code. The message says what is wrong; this is for who reads it on the page.

const byCode: Record<string, string> = {
  setting: 'Correct the address; or press Start, which runs what the fields show.',
  'not-isolated':
    'The threaded build was asked for on a page that cannot have it. Choose another build among the settings, or take ' +
    'variant=threads out of the address.',
  'no-simd': 'Update the browser, or open this page in another.',
  'no-exceptions': 'Update the browser, or open this page in another.',
  'not-found': 'The data did not arrive. Is the server still running, and you online? Then press Try again.',
  memory: 'Close other tabs, or choose smaller settings; then press Try again.',
  'start-failed':
    'A file did not load. Is the server still running, and you online? Then press Try again, or reload the page.',
  'start-timeout': 'The page had to wait too long. Press Try again, or reload the page.',
  'worker-died':
    'The browser ended the worker, likely for want of memory. Close other tabs; then go on from where the run was kept ' +
    'last, or start anew.',
  numeric: 'The numbers ran away. Choose a smaller learning rate, then start anew.',
  'state-dict':
    'These are another network’s weights. Nothing was changed. Load a file that this page has saved.',
  format:
    'This is no safetensors file, or a damaged one. Nothing was changed. Load a file that this page has saved.',
  picture:
    'Nothing was changed. Choose a picture of a kind that this browser shows, such as PNG, JPEG or WebP.',
  'no-run': 'Press Start first.',
};

export const adviceFor = (code: string): string =>
  byCode[code] ?? 'Reload the page. If it happens again, the console of the browser may say more.';

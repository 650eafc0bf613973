// The list of demos; says which build this browser gets, by starting it.

import { type OmnigradError, init, terminate } from 'omnigrad';
import { adviceFor } from './shared/advice.js';
import { show } from './shared/dom.js';

try {
  const { variant, threads, reason } = await init({ assets: new URL('assets/', import.meta.url) });
  const count = threads === 1 ? 'one thread' : `${threads} threads`;
  show('build', `This browser gets the ${variant} build, on ${count}: ${reason.message}.`);
  document.body.dataset.variant = variant;
  terminate();
} catch (error) {
  const { code, message } = error as OmnigradError;
  show('build', `This browser gets no build: ${message}. ${adviceFor(code)}`);
  document.body.dataset.variant = 'none';
}

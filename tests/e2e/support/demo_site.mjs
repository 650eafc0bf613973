// The demos, served, and Chromium to open them in, for the tests of a file.
import { after, before } from 'node:test';
import { serve } from '../../../web/demos/serve.mjs';
import { launch } from './chromium.mjs';
import { open } from './demo_page.mjs';

/** Where they are and with what they are opened, from the first test to the last. */
export function demoSite() {
  const site = {
    base: '',
    browser: undefined,
    /** Opens the page of a path, as demo_page.mjs has it. */
    open: (path, options) => open(site.browser, `${site.base}${path}`, options),
  };
  let server;
  before(async () => {
    server = await serve(0);
    site.base = `http://localhost:${server.address().port}`;
    site.browser = await launch();
  });
  after(async () => {
    await site.browser?.close();
    server?.close();
  });
  return site;
}

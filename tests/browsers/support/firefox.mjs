// Debian's Firefox ESR through WebDriver BiDi.
import puppeteer from 'puppeteer-core';

export async function launchFirefox() {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: '/usr/bin/firefox-esr',
    headless: true,
    protocolTimeout: 300_000,
  });
  return {
    name: 'Firefox',
    async open(url) {
      const page = await browser.newPage();
      const complaints = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => complaints.push(message.text()));
      await page.goto(url);
      return {
        evaluate: (fn, argument) => page.evaluate(fn, argument),
        goto: (to) => page.goto(to),
        reload: () => page.reload(),
        screenshot: () => page.screenshot(),
        close: () => page.close(),
        complaints,
      };
    },
    close: () => browser.close(),
  };
}

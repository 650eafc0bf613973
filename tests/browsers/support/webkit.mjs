// WebKitGTK's MiniBrowser through WebKitWebDriver, on a display of its own (Xvfb). It has SharedArrayBuffer only when told.
// Tests the engine, not Safari's defaults.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { Session } from './webdriver.mjs';

const browser = ['4.1', '4.0']
  .map((version) => `/usr/lib/x86_64-linux-gnu/webkit2gtk-${version}/MiniBrowser`)
  .find((path) => existsSync(path));

/** Starts a display; gives its name when it takes clients. */
function startDisplay() {
  const args = ['-displayfd', '3', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'];
  const child = spawn('Xvfb', args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdio[3].setEncoding('utf8').on('data', (part) => {
      text += part;
      if (text.endsWith('\n')) resolve({ child, name: `:${text.trim()}` });
    });
    child.once('error', reject);
    child.once('exit', (status) => reject(new Error(`Xvfb ended with status ${status}`)));
  });
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function answers(origin, child) {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`WebKitWebDriver ended with status ${child.exitCode}`);
    const response = await fetch(`${origin}/status`).catch(() => undefined);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** @param sharedMemory whether the engine has SharedArrayBuffer */
export async function launchWebKit({ sharedMemory = true } = {}) {
  const display = await startDisplay();
  const port = await freePort();
  // A bus of its own: the machine's may not be there, and asking for it takes its time.
  const args = ['--', 'WebKitWebDriver', '--host=127.0.0.1', `--port=${port}`];
  const driver = spawn('dbus-run-session', args, {
    stdio: 'ignore',
    detached: true,
    env: {
      ...process.env,
      DISPLAY: display.name,
      GDK_BACKEND: 'x11',
      NO_AT_BRIDGE: '1',
      // Without one navigator.language is 'C', which Intl refuses.
      LANG: 'en_US.UTF-8',
      LC_ALL: '',
      JSC_useSharedArrayBuffer: sharedMemory ? '1' : '0',
      // No graphics hardware here, and none is tested.
      LIBGL_ALWAYS_SOFTWARE: '1',
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
    },
  });
  const close = () => {
    process.off('exit', close);
    process.kill(-driver.pid, 'SIGTERM');
    display.child.kill();
  };
  process.on('exit', close);
  try {
    const origin = `http://127.0.0.1:${port}`;
    await answers(origin, driver);
    return {
      name: sharedMemory ? 'WebKitGTK' : 'WebKitGTK without SharedArrayBuffer',
      async open(url) {
        const session = await Session.begin(origin, {
          browserName: 'MiniBrowser',
          'webkitgtk:browserOptions': { binary: browser, args: ['--automation'] },
        });
        await session.goto(url);
        return {
          evaluate: (fn, argument) => session.evaluate(fn, argument),
          goto: (to) => session.goto(to),
          reload: () => session.reload(),
          screenshot: () => session.screenshot(),
          close: () => session.end(),
          // WebDriver has no console: what the page itself notes of errors must do.
          complaints: [],
        };
      },
      close: () => Promise.resolve(close()),
    };
  } catch (error) {
    close();
    throw error;
  }
}

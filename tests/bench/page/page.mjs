// The list in a page: each library in a worker of its own, the same turns, the same table. `runBench` is what
// ../browser.mjs calls; a person uses the form.
import { cases } from '../cases.mjs';
import { choose, session } from '../session.mjs';

/** A library's worker: { runner, about }. */
async function start(name, options) {
  const worker = new Worker(`${name}.js`);
  const waiting = [];
  worker.onmessage = ({ data }) => waiting.shift().resolve(data);
  worker.onerror = ({ message }) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(message));
  };
  const runner = {
    request: (message) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        worker.postMessage(message);
      }),
  };
  const { about, error } = await runner.request({ start: options });
  if (error !== undefined) throw new Error(error);
  return { runner, about };
}

function startersOf(threads, { versions, probe }) {
  const files = (folder) => new URL(folder, location.href).href;
  const own = (variant, n) => () => start('omnigrad', { variant, threads: n, assets: files('assets/') });
  return {
    omnigrad: own('threads', threads),
    'omnigrad-1': own('threads', 1),
    'omnigrad-2': own('threads', 2),
    'omnigrad-single': own('single', 1),
    tfjs: () => start('tfjs', { threads: 1, files: files('tfjs/') }),
    'tfjs-threads': () => start('tfjs', { threads: 2, files: files('tfjs/') }),
    jax: () => start('jax', { threads, version: versions.jax }),
    ort: () => start('ort', { threads, files: files('ort/') }),
    probe: () => start('probe', { bytes: probe }),
  };
}

const table = document.querySelector('#table');

/** Runs cases and gives what was measured; prints to the page and to `print`. */
globalThis.runBench = async (chosen, { rounds, threads }, print = () => undefined) => {
  const facts = await (await fetch('facts.json')).json();
  return session(chosen, startersOf(threads, facts), {
    rounds,
    threads,
    print(text) {
      table.append(`${text}\n`);
      print(text);
    },
  });
};

const form = document.querySelector('#settings');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { only, threads, rounds } = Object.fromEntries(new FormData(form));
  form.querySelector('button').disabled = true;
  table.textContent = `${navigator.userAgent}\n`;
  const chosen = choose(cases, only ? { only } : {});
  await globalThis
    .runBench(chosen, { threads: Number(threads), rounds: Number(rounds) })
    .catch((error) => table.append(`${error.message}\n`));
  form.querySelector('button').disabled = false;
});

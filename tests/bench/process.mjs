// A library in a process of its own that answers requests, one JSON line each.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Starts a process; `request(message)` resolves to its answer, `end()` stops it. A process that dies fails what waits. */
export function startProcess(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  const waiting = [];
  let ended;
  let said = '';
  const fail = (why) => {
    ended ??= why;
    for (const { reject } of waiting.splice(0)) reject(new Error(ended));
  };
  child.stderr.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-2000)));
  child.stdin.on('error', () => undefined); // its end is told below
  child.on('error', (error) => fail(error.message));
  child.on('close', (status, signal) =>
    fail(`its process ended (${signal ?? status}): ${/^\w*Error.*$/m.exec(said)?.[0] ?? said.slice(-200)}`),
  );
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)));
  return {
    request(message) {
      return new Promise((resolve, reject) => {
        if (ended) reject(new Error(ended));
        else {
          waiting.push({ resolve, reject });
          child.stdin.write(`${JSON.stringify(message)}\n`);
        }
      });
    },
    end() {
      child.stdin.end();
      child.kill();
    },
  };
}

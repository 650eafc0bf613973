// What the machine gives, by probe.c: multiply-adds of one thread, and a copy. Answers the same requests as the libraries.
import { answer } from './answer.mjs';

const rounds = 1e6;
const operationsOfRound = 13 * 4 * 2;
const copied = 64 * 2 ** 20;

let exports;
const kinds = {
  multiplyAdd: () => ({ run: () => exports.multiplyAdd(rounds) < 0, results: () => [] }),
  copy: () => ({
    run() {
      exports.copy(2 * copied, copied, copied);
    },
    results: () => [],
  }),
};

answer({
  async start({ bytes }) {
    const { instance } = await WebAssembly.instantiate(Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)));
    exports = instance.exports;
    return JSON.stringify({ operations: rounds * operationsOfRound, bytes: 2 * copied });
  },
  kinds,
});

// The numbers that every library computes on: a hash of seed and place, so that each language makes the same bits.
// peers/native.py holds the same function. Also how two results are compared without being carried between processes.

/** murmur3's last mix: 32 bits of an unsigned whole number. */
function mix(x) {
  let h = Math.imul(x, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const bits = (seed, i) => mix(i + Math.imul(seed, 0x6c8e9cf5));

/** A value in [-1, 1) with 24 bits, exact in float32. */
const uniform = (seed, i) => (bits(seed, i) >>> 8) / 0x800000 - 1;

export const count = (shape) => shape.reduce((product, size) => product * size, 1);

/**
 * spec: { shape, seed } and either { scale, shift }, for float32 (shift + scale * uniform in [-1, 1)), or { below, from }
 * for int32 in [from, below).
 */
export function makeInput({ shape, seed, scale = 1, shift = 0, below, from = 0 }) {
  const n = count(shape);
  if (below !== undefined)
    return Int32Array.from({ length: n }, (_, i) => from + (bits(seed, i) % (below - from)));
  const values = new Float32Array(n);
  for (let i = 0; i < n; i++) values[i] = shift + scale * uniform(seed, i);
  return values;
}

export const makeInputs = (specs) =>
  Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, makeInput(spec)]));

const samples = 128;
const weightSeed = 99;

/** What is told of one result: some of its values, its 2-norm, and its product with fixed random weights. */
export function fingerprint(values) {
  const n = values.length;
  let squares = 0;
  let product = 0;
  for (let i = 0; i < n; i++) {
    squares += values[i] * values[i];
    product += values[i] * uniform(weightSeed, i);
  }
  return {
    n,
    norm: Math.sqrt(squares),
    product,
    samples: Array.from({ length: Math.min(n, samples) }, (_, k) => values[n <= samples ? k : mix(k) % n]),
  };
}

/** The largest difference of two lists of fingerprints, relative to the size of the values; Infinity if their lengths differ. */
export function difference(a, b) {
  if (a.length !== b.length) return Infinity;
  return Math.max(...a.map((one, i) => differenceOfOne(one, b[i])));
}

function differenceOfOne(a, b) {
  if (a.n !== b.n) return Infinity;
  const size = Math.max(a.norm, b.norm, 1e-30);
  const largest = Math.max(size / Math.sqrt(a.n), ...b.samples.map(Math.abs));
  const worst = Math.max(
    Math.abs(a.norm - b.norm) / size,
    Math.abs(a.product - b.product) / size,
    ...a.samples.map((value, k) => Math.abs(value - b.samples[k]) / largest),
  );
  return Number.isNaN(worst) ? Infinity : worst;
}

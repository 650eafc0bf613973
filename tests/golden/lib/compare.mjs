// Holds the tensors of one run against the golden ones. A value is right if |actual - expected| <= atol + rtol |expected|;
// NaN equals NaN and infinities equal themselves. Integers must be equal.

/** Largest error relative to tolerance, and a message if anything is wrong. */
export function compareTensors(name, actual, expected, { dtype, rtol, atol }) {
  if (!actual) return { ratio: Infinity, message: `${name}: missing` };
  const integer = expected.data instanceof BigInt64Array;
  const wanted = integer ? 'int64' : dtype;
  if (actual.dtype !== wanted) {
    return { ratio: Infinity, message: `${name}: dtype ${actual.dtype}, expected ${wanted}` };
  }
  if (actual.shape.join() !== expected.shape.join() || actual.data.length !== expected.data.length) {
    const message = `${name}: shape [${actual.shape.join(', ')}], expected [${expected.shape.join(', ')}]`;
    return { ratio: Infinity, message };
  }
  let worst = { ratio: 0, at: -1 };
  for (let i = 0; i < expected.data.length; i++) {
    const [is, should] = [actual.data[i], expected.data[i]];
    const ratio = integer ? (is === should ? 0 : Infinity) : errorRatio(is, should, rtol, atol);
    if (ratio > worst.ratio) worst = { ratio, at: i };
  }
  if (worst.ratio <= 1) return { ratio: worst.ratio };
  const { at } = worst;
  const place = `${name}[${unravel(at, expected.shape).join(', ')}]`;
  return { ratio: worst.ratio, message: `${place} is ${actual.data[at]}, expected ${expected.data[at]}` };
}

/** The error as a multiple of what is allowed; above 1 is wrong. */
export function errorRatio(actual, expected, rtol, atol) {
  if (Object.is(actual, expected) || actual === expected) return 0;
  if (!Number.isFinite(actual) || !Number.isFinite(expected)) return Infinity;
  return Math.abs(actual - expected) / (atol + rtol * Math.abs(expected));
}

function unravel(flat, shape) {
  const place = [];
  for (let axis = shape.length - 1, rest = flat; axis >= 0; axis--) {
    place.unshift(rest % shape[axis]);
    rest = Math.floor(rest / shape[axis]);
  }
  return place;
}

/** Whether two tensors have the same bits, NaNs comparing as NaN. */
export function sameBits(a, b) {
  return a.data.length === b.data.length && a.data.every((value, i) => Object.is(value, b.data[i]));
}

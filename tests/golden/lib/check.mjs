// Judges one run of one case: outputs, first order, second order, and that recording the backward pass changes no bit of
// the first order.
import { createHash } from 'node:crypto';
import { float64Tolerance } from '../conventions.mjs';
import { compareTensors, sameBits } from './compare.mjs';

function toleranceOf({ op, rtol, atol }, dtype) {
  if (dtype === 'float32') return { dtype, rtol, atol };
  const tolerance = float64Tolerance[op] ?? 1e-9;
  return { dtype, rtol: tolerance, atol: tolerance };
}

/** `run`: { tensors: { name: { dtype, shape, data } } } or { error }. */
export function check(golden, plan, dtype, run) {
  const result = { family: golden.family, case: golden.name, op: golden.op, dtype };
  if (run.error !== undefined) return { ...result, ok: false, error: Infinity, message: run.error };
  const tolerance = toleranceOf(golden, dtype);
  let error = 0;
  let worst;
  let message;
  for (const name of plan.expect) {
    const expected = golden.file.tensor(`${golden.name}/${name}`);
    const found = expected
      ? compareTensors(name, run.tensors[name], expected, tolerance)
      : { ratio: Infinity, message: `${name} is not in the file` };
    if (found.ratio > error) [error, worst] = [found.ratio, name];
    message ??= found.message;
  }
  message ??= changedByRecording(run.tensors);
  return { ...result, ok: message === undefined, error, worst, message, digest: digest(run.tensors) };
}

function changedByRecording(tensors) {
  for (const name of Object.keys(tensors)) {
    const recorded = tensors[`recorded.${name}`];
    if (recorded && !sameBits(tensors[name], recorded)) return `${name} has other bits under createGraph`;
  }
  return undefined;
}

// Equal on two builds if all bits are, but for those of NaNs.
function digest(tensors) {
  const hash = createHash('sha256');
  for (const name of Object.keys(tensors).sort()) {
    const data = tensors[name].data.map((value) => (Number.isNaN(value) ? NaN : value));
    hash.update(name).update(new Uint8Array(data.buffer));
  }
  return hash.digest('hex').slice(0, 16);
}

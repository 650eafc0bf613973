// PyTorch's weights load unchanged, and outputs, losses, gradients and ten optimizer steps are PyTorch's: for each network
// of tests/parity, which generate.py wrote.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as og from 'omnigrad';
import * as optim from 'omnigrad/optim';
import { readSafetensors } from '../golden/lib/data.mjs';
import { nets } from '../parity/nets.mjs';

await og.init({ variant: 'single' });
const folder = fileURLToPath(new URL('../parity/data/', import.meta.url));

/** A file's tensors below a prefix, by the rest of their names; floats cast to `dtype`. */
function readDict(file, prefix, dtype) {
  const names = file.names.filter((name) => name.startsWith(prefix));
  const read = (name) => {
    const { shape, data } = file.tensor(name);
    const x = og.tensor(data, { shape });
    return x.dtype === 'float32' ? x.cast(dtype) : x;
  };
  return Object.fromEntries(names.map((name) => [name.slice(prefix.length), read(name)]));
}

function agree(what, actual, expected, tolerance, floor = 1e-12) {
  assert.deepEqual([...actual.shape], [...expected.shape], what);
  if (expected.numel === 0) return;
  const [a, b] = [actual, expected].map((x) => x.cast('float64'));
  // Relative to the element, and to the tensor's largest; below the floor both are 0.
  const allowed = b
    .abs()
    .add(b.abs().amax())
    .mul(tolerance / 2);
  const worst = a.sub(b).abs().sub(allowed).amax().item();
  assert.ok(worst <= 0 || a.sub(b).abs().amax().item() < floor, `${what}: beyond its tolerance by ${worst}`);
}

function agreeAll(what, actual, expected, tolerance, floor) {
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), what);
  for (const [name, x] of Object.entries(expected))
    agree(`${what} ${name}`, actual[name], x, tolerance, floor);
}

test('every network has a file', () => {
  const files = readdirSync(folder).map((name) => name.replace('.safetensors', ''));
  assert.deepEqual(files.sort(), Object.keys(nets).sort());
  assert.ok(files.length >= 10);
});

test('a number that is off is noticed', () => {
  const x = og.tensor([1, -2, 1e-4], { dtype: 'float64' });
  const off = (values) => () => agree('x', og.tensor(values, { dtype: 'float64' }), x, 1e-5);
  off([1 + 4e-6, -2, 1e-4])();
  assert.throws(off([1 + 4e-5, -2, 1e-4]), /x: beyond its tolerance by/);
  assert.throws(off([1, -2, 3e-4]), /x: beyond/);
  assert.throws(off([NaN, -2, 1e-4]), /x: beyond/);
});

for (const [name, [make, lossOf]] of Object.entries(nets)) {
  describe(name, () => {
    const file = readSafetensors(`${folder}${name}.safetensors`);
    const dict = (prefix, dtype = 'float64') => readDict(file, prefix, dtype);
    const one = (what) => readDict({ ...file, names: [what] }, what, 'float64')[''];
    const given = (prefix, dtype) => Object.values(dict(prefix, dtype));
    const gradients = (net) =>
      Object.fromEntries(Array.from(net.namedParameters(), ([key, p]) => [key, p.grad]));

    test('output, loss, gradients and ten steps', () => {
      og.scope(() => {
        const net = make().to('float64');
        net.loadStateDict(dict('init/'));
        const { name: kind, options } = JSON.parse(file.metadata.optimizer);
        const optimizer = new optim[kind](net.parameters(), options);
        const [inputs, targets] = [given('input/'), given('target/')];
        const losses = [];
        for (let step = 0; step < 10; step++) {
          optimizer.zeroGrad();
          const output = net.call(...inputs);
          const loss = lossOf(output, ...targets);
          loss.backward();
          losses.push(loss.item());
          if (step === 0) {
            agree('output', output, one('output'), 1e-6);
            agree('loss', loss, one('loss'), 1e-6);
            agreeAll('gradient of', gradients(net), dict('grad/'), 1e-5);
          }
          optimizer.step();
        }
        agree('losses', og.tensor(Float64Array.from(losses)), one('losses'), 1e-5);
        agreeAll('after ten steps,', net.stateDict(), dict('final/'), 1e-5);
        og.noGrad(() => agree('output in eval', net.eval().call(...inputs), one('eval'), 1e-5));
        net.dispose();
      });
    });

    test("its optimizer's state loads, and five more steps end where PyTorch's do", () => {
      og.scope(() => {
        const net = make().to('float64');
        net.loadStateDict(dict('middle/'));
        const state = {};
        for (const [key, x] of Object.entries(dict('optimizer/'))) {
          const [index, what] = key.split('/');
          (state[index] ??= {})[what] = x;
        }
        const optimizer = new optim[JSON.parse(file.metadata.optimizer).name](net.parameters());
        optimizer.loadStateDict({ state, param_groups: JSON.parse(file.metadata.groups) });
        const [inputs, targets] = [given('input/'), given('target/')];
        for (let step = 5; step < 10; step++) {
          optimizer.zeroGrad();
          lossOf(net.call(...inputs), ...targets).backward();
          optimizer.step();
        }
        agreeAll('after five more steps,', net.stateDict(), dict('final/'), 1e-5, 1e-7);
        optimizer.dispose();
        net.dispose();
      });
    });

    test('in float32 too, output and gradients', () => {
      og.scope(() => {
        const net = make();
        net.loadStateDict(dict('init/', 'float32'));
        const output = net.call(...given('input/', 'float32'));
        lossOf(output, ...given('target/', 'float32')).backward();
        agree('output', output, one('output'), 2e-5);
        // Some gradients are 0 but for rounding: of a bias before a norm.
        agreeAll('gradient of', gradients(net), dict('grad/'), 2e-4, 1e-6);
        net.dispose();
      });
    });
  });
}

// What holds for every layer: the shape of its output, gradients that reach every parameter and input, a state dict that
// goes out and in, memory that stays flat, eval without randomness, inputs that are refused by name.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';
import { holders, inputsOf, layers, tensorOf } from './lib/layers.mjs';

before(async () => {
  await og.init({ variant: 'single' });
  og.manualSeed(1);
});

const steps = Number(process.env.OMNIGRAD_STEPS ?? 20);
const classes = Object.entries(nn).filter(
  ([, value]) => typeof value === 'function' && value.prototype instanceof nn.Module,
);

test('every layer is in the table', () => {
  const known = new Set([...layers.map(({ name }) => name), ...holders]);
  assert.deepEqual(
    classes.map(([name]) => name).filter((name) => !known.has(name)),
    [],
  );
  for (const { name } of layers) assert.equal(typeof nn[name], 'function', name);
});

// A loss that no gradient of a normalised output vanishes in.
const lossOf = (y) => og.scope(() => y.mul(og.randn(y.shape, { dtype: y.dtype })).sum());
const step = (layer, row) =>
  og.scope(() => {
    lossOf(tensorOf(layer.call(...inputsOf(row)))).backward();
  });

for (const row of layers) {
  describe(row.name, () => {
    test('shape and gradients', () => {
      og.scope(() => {
        const layer = row.make();
        const inputs = inputsOf(row);
        const y = tensorOf(layer.call(...inputs));
        assert.deepEqual([...y.shape], row.shape);
        lossOf(y).backward();
        const leaves = [...layer.namedParameters()];
        inputs.forEach((x, i) => {
          if (x instanceof og.Tensor && x.requiresGrad) leaves.push([`input ${i}`, x]);
        });
        assert.ok(leaves.length > 0 || !inputs.some((x) => x.requiresGrad));
        for (const [name, leaf] of leaves) {
          assert.ok(leaf.grad, `${name} has no gradient`);
          assert.deepEqual([...leaf.grad.shape], [...leaf.shape]);
          assert.ok(leaf.grad.abs().sum().item() > 0, `the gradient of ${name} is 0`);
        }
        layer.dispose();
      });
    });

    test('state dict and eval', () => {
      og.scope(() => {
        const [a, b] = [row.make(), row.make()];
        const inputs = inputsOf(row);
        a.call(...inputs); // running statistics
        b.loadStateDict(a.stateDict());
        const [ya, yb] = [a, b].map((layer) => tensorOf(layer.eval().call(...inputs)).tolist());
        assert.deepEqual(ya, yb);
        assert.deepEqual(tensorOf(a.call(...inputs)).tolist(), ya, 'eval is not random');
        for (const layer of [a, b]) layer.dispose();
      });
    });

    test('memory stays flat', () => {
      const layer = row.make();
      for (let i = 0; i < 3; i++) step(layer, row);
      const { tensors, liveBytes } = og.memory();
      for (let i = 0; i < steps; i++) step(layer, row);
      const after = og.memory();
      assert.deepEqual([after.tensors, after.liveBytes], [tensors, liveBytes]);
      layer.dispose();
    });

    test('made and disposed, it leaves nothing', () => {
      row.make().dispose(); // what the row gives its layers stays
      const { tensors } = og.memory();
      row.make().dispose();
      assert.equal(og.memory().tensors, tensors);
    });

    test('float64', () => {
      og.scope(() => {
        const layer = row.make().to('float64');
        for (const tensor of layer.parameters()) assert.equal(tensor.dtype, 'float64');
        const cast = (x) => {
          if (Array.isArray(x)) return x.map(cast);
          return x instanceof og.Tensor && x.dtype === 'float32' ? x.detach().cast('float64') : x;
        };
        const inputs = inputsOf(row).map(cast);
        const y = tensorOf(layer.call(...inputs));
        assert.equal(y.dtype, 'float64');
        layer.dispose();
      });
    });

    test('what is no tensor is refused', () => {
      og.scope(() => {
        const layer = row.make();
        const refuse = (error) => og.OmnigradError.is(error) && /must be/.test(error.message);
        if (!['Identity', 'Flatten', 'Unflatten'].includes(row.name))
          assert.throws(() => layer.call('x'), refuse);
        layer.dispose();
      });
    });
  });
}

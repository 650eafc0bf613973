// Functions and methods on shapes: values as PyTorch gives them, views where it has views, gradients, refusals.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

const counting = (shape) =>
  og
    .arange(
      0,
      shape.reduce((a, b) => a * b, 1),
    )
    .reshape(shape);

test('transpose and movedim', () => {
  const x = counting([2, 3, 4]);
  const t = og.transpose(x, 0, -1);
  assert.deepEqual(t.shape, [4, 3, 2]);
  assert.deepEqual(t.at(1, 2).tolist(), [9, 21]);
  assert.deepEqual(x.movedim(0, -1).shape, [3, 4, 2]);
  assert.deepEqual(og.movedim(x, [0, 1], [2, 0]).shape, [3, 4, 2]);
  assert.deepEqual(og.movedim(x, [0, 1], [2, 0]).at(2, 1).tolist(), [9, 21]);
  assert.deepEqual(og.movedim(x, 2, 0).tolist(), og.permute(x, [2, 0, 1]).tolist());
});

test('squeeze and unsqueeze', () => {
  const x = counting([1, 2, 1, 3]);
  assert.deepEqual(x.squeeze().shape, [2, 3]);
  assert.deepEqual(x.squeeze(0).shape, [2, 1, 3]);
  assert.deepEqual(og.squeeze(x, [0, -2]).shape, [2, 3]);
  assert.deepEqual(x.squeeze(1).shape, [1, 2, 1, 3]);
  assert.deepEqual(og.tensor(5).unsqueeze(0).shape, [1]);
  assert.deepEqual(counting([2, 3]).unsqueeze(-1).shape, [2, 3, 1]);
  assert.deepEqual(og.unsqueeze(counting([2, 3]), 1).shape, [2, 1, 3]);
});

test('flatten and unflatten', () => {
  const x = counting([2, 3, 4]);
  assert.deepEqual(x.flatten().shape, [24]);
  assert.deepEqual(x.flatten(1).shape, [2, 12]);
  assert.deepEqual(og.flatten(x, 0, 1).shape, [6, 4]);
  assert.deepEqual(og.flatten(og.tensor(3)).shape, [1]);
  assert.deepEqual(x.unflatten(-1, [2, -1]).shape, [2, 3, 2, 2]);
  assert.deepEqual(og.unflatten(og.zeros([0, 2]), 0, [0, 4]).shape, [0, 4, 2]);
});

test('select, narrow, chunk, unbind', () => {
  const x = counting([4, 3]);
  assert.deepEqual(x.select(1, -1).tolist(), [2, 5, 8, 11]);
  assert.deepEqual(og.narrow(x, 0, -2, 2).tolist(), [
    [6, 7, 8],
    [9, 10, 11],
  ]);
  assert.deepEqual(
    x.chunk(3).map((part) => part.shape),
    [
      [2, 3],
      [2, 3],
    ],
  );
  assert.deepEqual(
    og.chunk(counting([7]), 3).map((part) => part.tolist()),
    [[0, 1, 2], [3, 4, 5], [6]],
  );
  assert.deepEqual(
    og.unbind(x, 1).map((part) => part.tolist()),
    [
      [0, 3, 6, 9],
      [1, 4, 7, 10],
      [2, 5, 8, 11],
    ],
  );
});

test('split: a number is the size of each part, a list has them all', () => {
  const shapes = (parts) => parts.map((part) => part.shape);
  const x = counting([5, 3]);
  assert.deepEqual(shapes(x.split(2)), [[2, 3], [2, 3], [1, 3]]); // prettier-ignore
  assert.deepEqual(shapes(og.split(x, 1, { dim: -1 })), [[5, 1], [5, 1], [5, 1]]); // prettier-ignore
  assert.deepEqual(shapes(x.split(9)), [[5, 3]]);
  assert.deepEqual(shapes(og.zeros([0, 2]).split(3)), [[0, 2]]);
  assert.deepEqual(x.split([1, 4])[1].at(0).tolist(), [3, 4, 5]);
  assert.throws(() => x.split(0), /split: sizes is 0; it must be a whole number from 1/);
  assert.throws(() => x.split([2, 2]), /add up to 4, axis 0 has 5/);
});

test('they are views, through which writes go', () => {
  const x = og.zeros([2, 2, 1]);
  const one = og.ones([2]);
  x.transpose(0, 1).select(2, 0).select(0, 1).copy_(one);
  x.squeeze(-1)
    .narrow(1, 0, 1)
    .select(0, 0)
    .copy_(og.full([1], 7));
  assert.deepEqual(x.flatten().tolist(), [7, 1, 0, 1]);
});

test('gradients go back to where the elements came from, twice too', () => {
  const x = og.tensor([[1, 2, 3], [4, 5, 6]], { dtype: 'float64', requiresGrad: true }); // prettier-ignore
  const f = (t) => og.unbind(t.transpose(0, 1).unsqueeze(0).flatten(1).chunk(2, 1)[1].square().squeeze());
  const y = f(x).reduce(
    (sum, part, i) => sum.add(part.mul(part).mul(i + 1)),
    og.zeros([], { dtype: 'float64' }),
  );
  // Transposed and flat: 1 4 2 | 5 3 6, to the fourth power, times 1, 2, 3.
  const [g] = og.grad(y, [x], { createGraph: true });
  assert.deepEqual(g.tolist(), [[0, 0, 8 * 27], [0, 4 * 125, 12 * 216]]); // prettier-ignore
  const [h] = og.grad(g.sum(), [x]);
  assert.deepEqual(h.tolist(), [[0, 0, 24 * 9], [0, 12 * 25, 36 * 36]]); // prettier-ignore
});

test('what they refuse', () => {
  const x = og.zeros([2, 3]);
  const refuses = (run, pattern) =>
    assert.throws(run, (error) => og.OmnigradError.is(error) && pattern.test(error.message));
  refuses(
    () => og.transpose(x, 0, 2),
    /^transpose: dim is 2; it must be a whole number from -2 to 1; x \[2, 3\]$/,
  );
  refuses(() => x.movedim([0, 1], [1, 1]), /^movedim: .* as many dimensions, each once$/);
  refuses(() => x.squeeze(2), /^squeeze: dim is 2/);
  refuses(() => x.unsqueeze(3), /^unsqueeze: dim is 3; it must be a whole number from -3 to 2/);
  refuses(() => x.flatten(1, 0), /^flatten: startDim 1 is behind endDim 0$/);
  refuses(() => x.unflatten(1, [2, -1]), /^unflatten: sizes \[2, -1\] do not make up dimension 1 of size 3$/);
  refuses(() => x.select(0, 2), /^select: index 2 is out of range for dimension 0 of size 2$/);
  refuses(() => x.narrow(0, 1, 2), /^narrow: start 1, length 2 do not fit dimension 0 of size 2$/);
  refuses(() => x.chunk(0), /^chunk: chunks is 0; it must be a whole number from 1$/);
  refuses(() => og.unbind(og.tensor(1)), /^unbind: dim is 0; it must be none: there is no dimension/);
  refuses(() => x.transpose(0, 1, 2), /^transpose: takes at most 2 arguments; got 3/);
});

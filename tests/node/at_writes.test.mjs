// Writes through x.at(...): what indexing gives is a view, or a copy that writes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as og from 'omnigrad';

await og.init({ variant: 'single' });

const square = (options) =>
  og.tensor(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    options,
  );
const rows = [
  [
    'a mask',
    (x) => x.at(x.gt(4)).fill_(0),
    [
      [1, 2, 3],
      [4, 0, 0],
    ],
  ],
  [
    'a mask of no element',
    (x) => x.at(x.gt(9)).fill_(0),
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
  ],
  [
    'a mask, other values',
    (x) => x.at(x.gt(4)).copy_(og.tensor([7, 8])),
    [
      [1, 2, 3],
      [4, 7, 8],
    ],
  ],
  [
    'a mask of the first dimension',
    (x) => x.at(og.tensor([false, true])).fill_(0),
    [
      [1, 2, 3],
      [0, 0, 0],
    ],
  ],
  [
    'a mask after a slice',
    (x) => x.at([1], og.tensor([true, false, true])).fill_(0),
    [
      [1, 2, 3],
      [0, 5, 0],
    ],
  ],
  [
    'integers',
    (x) => x.at(og.tensor([1n])).copy_(og.tensor([7, 8, 9])),
    [
      [1, 2, 3],
      [7, 8, 9],
    ],
  ],
  [
    'integers of the last dimension',
    (x) => x.at(':', og.tensor([2n, 0n])).copy_(og.tensor([7, 8])),
    [
      [8, 2, 7],
      [8, 5, 7],
    ],
  ],
  [
    'integers twice: the last one',
    (x) => x.at(0, og.tensor([0n, 0n])).copy_(og.tensor([7, 8])),
    [
      [8, 2, 3],
      [4, 5, 6],
    ],
  ],
  [
    'integers in two dimensions',
    (x) => x.at(0, og.tensor([[0n], [2n]])).fill_(0),
    [
      [0, 2, 0],
      [4, 5, 6],
    ],
  ],
  [
    'one integer tensor without dimensions',
    (x) => x.at(og.tensor(1n)).fill_(0),
    [
      [1, 2, 3],
      [0, 0, 0],
    ],
  ],
  [
    'a number before integers',
    (x) => x.at(-1, og.tensor([2n])).fill_(0),
    [
      [1, 2, 3],
      [4, 5, 0],
    ],
  ],
  [
    'a new dimension',
    (x) => x.at(null, ':', og.tensor([2n])).fill_(0),
    [
      [1, 2, 0],
      [4, 5, 0],
    ],
  ],
  [
    'a permuted view',
    (x) =>
      x
        .permute([1, 0])
        .at(og.tensor([0n, 1n]))
        .fill_(0),
    [
      [0, 0, 3],
      [0, 0, 6],
    ],
  ],
  [
    'a view of a copy',
    (x) =>
      x
        .at(og.tensor([1n]))
        .at(0, 1)
        .fill_(0),
    [
      [1, 2, 3],
      [4, 0, 6],
    ],
  ],
  [
    'a copy of a copy',
    (x) =>
      x
        .at(og.tensor([1n]))
        .at(':', og.tensor([0n]))
        .fill_(0),
    [
      [1, 2, 3],
      [0, 5, 6],
    ],
  ],
  [
    'a slice',
    (x) => x.at(':', [1]).fill_(0),
    [
      [1, 0, 0],
      [4, 0, 0],
    ],
  ],
  [
    'the function',
    (x) => og.fill_(x.at(x.gt(4)), 0),
    [
      [1, 2, 3],
      [4, 0, 0],
    ],
  ],
];
for (const dtype of ['float32', 'float64', 'int32', 'int64', 'uint8']) {
  for (const [name, write, expected] of rows) {
    test(`${name}, ${dtype}`, () => {
      const x = square({ dtype });
      write(x);
      assert.deepEqual(x.tolist(), expected);
    });
  }
}

test('booleans', () => {
  const x = og.tensor([true, false, true]);
  x.at(og.tensor([0n, 1n])).copy_(og.tensor([false, true]));
  assert.deepEqual(x.tolist(), [false, true, true]);
});

test('nothing is left behind', () => {
  const x = square();
  og.scope(() => x.at(x.gt(1)).fill_(0));
  const before = og.memory().tensors;
  og.scope(() => {
    x.at(x.gt(1)).fill_(0);
  });
  assert.equal(og.memory().tensors, before);
});

test('a copy that outlives its scope still writes; without the whole it is a tensor like others', () => {
  const x = square();
  og.scope(() => x.at(':', x.at(0).gt(1))).fill_(0);
  assert.deepEqual(x.tolist(), [
    [1, 0, 0],
    [4, 0, 0],
  ]);
  const y = og.scope(() => square().at(og.tensor([0n])));
  assert.deepEqual(y.fill_(7).tolist(), [[7, 7, 7]]);
});

test('what cannot be written back is an error', () => {
  const x = square();
  const y = og.scope(() => x.at(og.tensor([0n])));
  assert.throws(() => y.fill_(0), {
    name: 'OmnigradError',
    op: 'fill_',
    message: /could not be written back.*disposed/,
  });
  const w = square({ requiresGrad: true });
  assert.throws(() => w.at(og.tensor([0n])).fill_(0), { op: 'fill_', message: /noGrad/ });
  og.noGrad(() => w.at(og.tensor([0n])).fill_(0));
  assert.deepEqual(w.tolist(), [
    [0, 0, 0],
    [4, 5, 6],
  ]);
});

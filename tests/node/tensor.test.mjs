// Tensors as JavaScript sees them: making, reading, printing, indexing, freeing.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

// The module keeps what was read last: always the same tensor when tensors are counted.
let probe;
const liveTensors = () => {
  probe ??= og.zeros([1]);
  probe.item();
  return og.memory().tensors;
};

const code = (fn) => {
  try {
    fn();
  } catch (error) {
    assert.ok(og.OmnigradError.is(error), String(error.stack));
    return error.code;
  }
  return 'none';
};

describe('making and reading', () => {
  const made = [
    [
      () =>
        og.tensor([
          [1, 2],
          [3, 4],
        ]),
      'float32',
      [2, 2],
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [() => og.tensor([true, false]), 'bool', [2], [true, false]],
    [() => og.tensor([1n, -2n]), 'int64', [2], [1, -2]],
    [
      () => og.tensor(new Uint8Array([1, 2, 3, 4]), { shape: [2, 2] }),
      'uint8',
      [2, 2],
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [() => og.tensor(3), 'float32', [], 3],
    [() => og.tensor([1, 2], { dtype: 'int32' }), 'int32', [2], [1, 2]],
    [() => og.tensor([NaN, 0, 2], { dtype: 'bool' }), 'bool', [3], [true, false, true]],
    [() => og.tensor(new Uint8ClampedArray([0, 255])), 'uint8', [2], [0, 255]],
    [() => og.tensor([-(2n ** 63n), 2n ** 63n - 1n]).at([0, 0]), 'int64', [0], []],
    [() => og.tensor([255], { dtype: 'uint8' }), 'uint8', [1], [255]],
    [() => og.linspace(0, 1, 3, { dtype: 'int64' }), 'int64', [3], [0, 0, 1]],
    [
      () => og.eye(2, { dtype: 'float64' }),
      'float64',
      [2, 2],
      [
        [1, 0],
        [0, 1],
      ],
    ],
    [() => og.eye(3, 1), 'float32', [3, 1], [[1], [0], [0]]],
    [() => og.eye(0), 'float32', [0, 0], []],
    [() => og.zeros([2, 0]), 'float32', [2, 0], [[], []]],
    [() => og.full([2], 7), 'float32', [2], [7, 7]],
    [() => og.arange(0, 10, 4), 'float32', [3], [0, 4, 8]],
    [() => og.arange(3, { dtype: 'int64' }), 'int64', [3], [0, 1, 2]],
    [() => og.linspace(0, 1, 5), 'float32', [5], [0, 0.25, 0.5, 0.75, 1]],
    [
      () => og.eye(2, 3),
      'float32',
      [2, 3],
      [
        [1, 0, 0],
        [0, 1, 0],
      ],
    ],
  ];
  for (const [make, dtype, shape, list] of made) {
    test(make.toString().slice(6), () => {
      const x = make();
      assert.deepEqual([x.dtype, [...x.shape], x.tolist()], [dtype, shape, list]);
      assert.equal(x.ndim, shape.length);
    });
  }

  test('ragged arrays, wrong shapes and grads of integers are refused', () => {
    assert.equal(
      code(() => og.tensor([[1], [2, 3]])),
      'shape',
    );
    assert.equal(
      code(() => og.tensor([1, 2, 3], { shape: [2, 2] })),
      'shape',
    );
    assert.equal(
      code(() => og.tensor([1n], { requiresGrad: true })),
      'dtype',
    );
    assert.equal(
      code(() => og.tensor(['a'])),
      'argument',
    );
  });

  test('creation refuses unknown options, dtypes and shapes', () => {
    const bad = { float: 'float64' };
    for (const make of [
      () => og.tensor([1], bad),
      () => og.zeros([1], bad),
      () => og.arange(3, bad),
      () => og.rand([1], bad),
      () => og.randint(0, 2, [1], bad),
      () => og.randperm(3, bad),
    ]) {
      assert.equal(code(make), 'option', make.toString());
    }
    assert.equal(
      code(() => og.randn([1], { dtype: 'int32' })),
      'dtype',
    );
    for (const make of [
      () => og.zeros([-1]),
      () => og.randn(3),
      () => og.rand([-1]),
      () => og.full([0.5], 1),
    ]) {
      assert.equal(code(make), 'shape', make.toString());
    }
  });

  test('item wants one element; int64 above 2^53 has no number', () => {
    assert.equal(og.tensor([[5]]).item(), 5);
    assert.equal(
      code(() => og.tensor([1, 2]).item()),
      'shape',
    );
    assert.equal(
      code(() => og.tensor([2n ** 60n]).item()),
      'range',
    );
    assert.deepEqual(og.tensor([2n ** 60n]).toTypedArray(), BigInt64Array.of(2n ** 60n));
  });

  test('random tensors come from the seed alone', () => {
    const draw = () => {
      const generator = new og.Generator(3);
      return [og.rand([5], { generator }), og.randn([5], { generator }), og.randperm(6, { generator })].map(
        (x) => x.tolist(),
      );
    };
    const [first, second] = [draw(), draw()];
    assert.deepEqual(first, second);
    assert.deepEqual([...first[2]].sort(), [0, 1, 2, 3, 4, 5]);
    assert.equal(og.randint(0, 3, [100]).dtype, 'int64');
  });
});

describe('printing', () => {
  const printed = [
    [
      () =>
        og.tensor(
          [
            [1, 2],
            [3, 4],
          ],
          { dtype: 'float64' },
        ),
      'tensor([[1, 2], [3, 4]], dtype=float64)',
    ],
    [() => og.tensor([0.1, 1e-9, -3]), 'tensor([0.1, 1e-9, -3])'],
    [() => og.tensor(true), 'tensor(true)'],
    [() => og.tensor([1n]), 'tensor([1], dtype=int64)'],
    [() => og.tensor([1], { requiresGrad: true }), 'tensor([1], requiresGrad=true)'],
    [() => og.zeros([0]), 'tensor([])'],
    [() => og.arange(2000), 'tensor([0, 1, 2, ..., 1997, 1998, 1999])'],
  ];
  for (const [make, text] of printed) {
    test(text, () => {
      assert.equal(String(make()), text);
      assert.equal(inspect(make()), text);
    });
  }
});

describe('at', () => {
  const x = () => og.arange(24).reshape([2, 3, 4]);
  const cases = [
    [(t) => t.at(1, 2, 3), 23],
    [
      (t) => t.at(':', [0, 2], -1),
      [
        [3, 7],
        [15, 19],
      ],
    ],
    [
      (t) => t.at('...', 0),
      [
        [0, 4, 8],
        [12, 16, 20],
      ],
    ],
    [(t) => t.at(0, [null, null, 2], 0), [0, 8]],
    [(t) => t.at(0, 0, null, [1, 3]), [[1, 2]]],
    [(t) => t.at(0, og.tensor([2, 0], { dtype: 'int32' }), 0), [8, 0]],
    [(t) => t.at(0, 0, t.at(0, 0).gt(1)), [2, 3]],
    [(t) => t.at(t.gt(21)), [22, 23]],
  ];
  for (const [pick, expected] of cases) {
    test(pick.toString().slice(5), () => assert.deepEqual(pick(x()).tolist(), expected));
  }

  test('a view can be written through', () => {
    const t = og.zeros([2, 2]);
    t.at(':', 1).copy_(og.tensor([5, 6]));
    assert.deepEqual(t.tolist(), [
      [0, 5],
      [0, 6],
    ]);
  });

  test('bad indices are refused', () => {
    for (const bad of [[2], [0, 0, 0, 0], [0.5], [[0, 1, 0]], ['x'], ['...', '...']]) {
      assert.equal(
        code(() => x().at(...bad)),
        'index',
        JSON.stringify(bad),
      );
    }
    assert.equal(
      code(() => x().at(og.tensor([0.5]))),
      'dtype',
    );
  });
});

describe('errors', () => {
  test('unknown options name the allowed ones', () => {
    assert.throws(
      () => og.crossEntropy(og.zeros([1, 2]), og.zeros([1], { dtype: 'int64' }), { reduce: 'sum' }),
      (error) => {
        assert.equal(error.code, 'option');
        assert.match(error.message, /^crossEntropy: unknown option 'reduce'; allowed: .*reduction/);
        return true;
      },
    );
  });

  test('shape errors name op, shapes and rule', () => {
    assert.throws(
      () => og.matmul(og.zeros([2, 3]), og.zeros([4, 5])),
      (error) => {
        assert.ok(og.OmnigradError.is(error) && error instanceof Error);
        assert.equal(error.op, 'matmul');
        assert.deepEqual(error.shapes, [
          [2, 3],
          [4, 5],
        ]);
        return true;
      },
    );
  });

  test('wrong kinds of values', () => {
    assert.equal(
      code(() => og.add(og.zeros([1]), 'x')),
      'argument',
    );
    assert.equal(
      code(() => og.relu([1])),
      'argument',
    );
    assert.equal(
      code(() => og.zeros([1]).sum([0], { keepdim: 1 })),
      'option',
    );
    assert.equal(
      code(() => og.zeros([1]).cast('float8')),
      'option',
    );
  });
});

describe('scopes', () => {
  test('a scope frees what it does not return', () => {
    const start = liveTensors();
    const kept = [];
    const { y, list } = og.scope(() => {
      const x = og.zeros([10]);
      kept.push(x, og.keep(og.ones([1])));
      return { y: x.add(1), list: new Map([['a', [x.add(2)]]]) };
    });
    assert.equal(
      code(() => kept[0].item()),
      'disposed',
    );
    assert.equal(kept[1].item(), 1);
    assert.equal(liveTensors(), start + 3);
    for (const t of [y, kept[1], list.get('a')[0]]) t.dispose();
    assert.equal(liveTensors(), start);
  });

  test('scopes nest; an error frees; a promise is an error', () => {
    const start = liveTensors();
    og.scope(() => og.scope(() => og.zeros([1])).add(1) && undefined);
    assert.throws(
      () =>
        og.scope(() => {
          og.zeros([1]);
          throw new RangeError('mine');
        }),
      RangeError,
    );
    assert.equal(
      code(() => og.scope(async () => og.zeros([1]))),
      'async',
    );
    assert.equal(liveTensors(), start);
  });

  test('openScope closes in stack order', async () => {
    const start = liveTensors();
    const outer = og.openScope();
    og.zeros([1]);
    const inner = og.openScope();
    await Promise.resolve();
    og.zeros([1]);
    assert.equal(
      code(() => outer.dispose()),
      'order',
    );
    inner.dispose();
    outer.dispose();
    outer.dispose();
    assert.equal(liveTensors(), start);
  });

  test('dispose twice is once', () => {
    const x = og.zeros([1]);
    x.dispose();
    x.dispose();
    assert.equal(String(x), 'tensor(disposed)');
    assert.equal(
      code(() => x.add(1)),
      'disposed',
    );
  });
});

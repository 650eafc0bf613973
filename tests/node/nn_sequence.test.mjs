// Recurrent layers, attention and transformers: what their options mean, and that decoding token by token with a cache
// gives what the whole sequence gives.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

await og.init({ variant: 'single' });
og.manualSeed(3);

const double = { dtype: 'float64' };
const randn = (...shape) => og.randn(shape, double);
function close(actual, expected, tolerance = 1e-12) {
  assert.deepEqual([...actual.shape], [...expected.shape]);
  const worst = actual.sub(expected).abs().amax().item();
  assert.ok(worst <= tolerance, `off by ${worst}`);
}
const bool = (rows) => og.tensor(rows, { dtype: 'bool' });

describe('recurrent layers', () => {
  const kinds = ['RNN', 'GRU', 'LSTM'];
  for (const name of kinds) {
    test(`${name} has PyTorch's names, and is its cell step by step`, () => {
      const layer = new nn[name](3, 4, double);
      const cell = new nn[`${name}Cell`](3, 4, double);
      assert.deepEqual(Object.keys(layer.stateDict()), [
        'weight_ih_l0',
        'weight_hh_l0',
        'bias_ih_l0',
        'bias_hh_l0',
      ]);
      assert.deepEqual(Object.keys(cell.stateDict()), ['weight_ih', 'weight_hh', 'bias_ih', 'bias_hh']);
      cell.loadStateDict(layer.stateDict(), { keyMap: [['_l0', '']] });
      const x = randn(5, 2, 3);
      const [y] = layer.call(x);
      let state = null;
      for (let t = 0; t < 5; t++) {
        state = cell.call(x.at(t), state);
        close(Array.isArray(state) ? state[0] : state, y.at(t));
      }
      const single = cell.call(x.at(0, 0));
      close(Array.isArray(single) ? single[0] : single, y.at(0, 0));
    });

    test(`${name}: dropout between layers changes nothing in eval, and its own path computes the same`, () => {
      const options = { numLayers: 3, bidirectional: true, batchFirst: true, ...double };
      const plain = new nn[name](3, 4, options);
      const dropping = new nn[name](3, 4, { ...options, dropout: 1e-12 });
      dropping.loadStateDict(plain.stateDict());
      const x = randn(2, 5, 3);
      const h = randn(6, 2, 4);
      const state = name === 'LSTM' ? [h, randn(6, 2, 4)] : h;
      const [y, last] = plain.call(x, state, { lengths: [5, 3] });
      const [y2, last2] = dropping.call(x, state, { lengths: og.tensor([5n, 3n]) });
      close(y2, y, 1e-9);
      [last].flat().forEach((s, i) => close([last2].flat()[i], s, 1e-9));
      assert.deepEqual(y.at(1, [3, 5]).abs().sum().item(), 0, 'beyond its length a sequence gives 0');
      close(
        plain
          .call(
            x.at([1, 2], [0, 3]),
            name === 'LSTM' ? state.map((s) => s.at(':', [1, 2])) : h.at(':', [1, 2]),
          )[0]
          .at(0),
        y.at(1, [0, 3]),
      );
      const strong = new nn[name](3, 4, { ...options, dropout: 0.5 });
      assert.notDeepEqual(strong.call(x)[0].tolist(), strong.call(x)[0].tolist());
      assert.deepEqual(strong.eval().call(x)[0].tolist(), strong.call(x)[0].tolist());
    });
  }

  test('what is wrong is named', () => {
    assert.throws(() => new nn.LSTM(3, 0), /LSTM: hiddenSize is 0; it must be a whole number from 1/);
    assert.throws(
      () => new nn.GRU(3, 4, { layers: 2 }),
      /GRU: unknown option 'layers'; allowed: .*numLayers/,
    );
    assert.throws(
      () => new nn.GRU(3, 4).call(og.ones([2, 2, 3]), null, { length: [1] }),
      /GRU: unknown option 'length'/,
    );
    assert.throws(() => new nn.GRU(3, 4).call(og.ones([2, 2, 5])), /gru: .*5/);
    assert.throws(
      () => new nn.LSTMCell(3, 4).call(og.ones([1, 2, 3])),
      /LSTMCell: the input is \[1, 2, 3\]; it must be \[batch/,
    );
  });
});

// The formula, head by head.
function attention(layer, q, k, v, heads, blocked) {
  const size = q.shape.at(-1);
  const { inProjWeight: w, inProjBias: b } = layer;
  const part = (x, i) =>
    og.linear(x, w.at([i * size, (i + 1) * size]), { bias: b.at([i * size, (i + 1) * size]) });
  const [pq, pk, pv] = [part(q, 0), part(k, 1), part(v, 2)];
  const each = size / heads;
  const results = Array.from({ length: heads }, (_, h) => {
    const of = (x) => x.at('...', [h * each, (h + 1) * each]);
    let scores = og.matmul(of(pq), of(pk).permute([0, 2, 1])).div(Math.sqrt(each));
    if (blocked) scores = scores.maskedFill(blocked, -Infinity);
    const weights = scores.softmax(-1);
    return [og.matmul(weights, of(pv)), weights];
  });
  return [
    layer.outProj.call(
      og.cat(
        results.map(([y]) => y),
        -1,
      ),
    ),
    og.stack(
      results.map(([, weights]) => weights),
      1,
    ),
  ];
}

describe('MultiheadAttention', () => {
  const layer = new nn.MultiheadAttention(6, 3, { batchFirst: true, ...double });
  og.noGrad(() => layer.inProjBias.copy_(randn(18)));
  const [q, k, v] = [randn(2, 4, 6), randn(2, 5, 6), randn(2, 5, 6)];

  test("has PyTorch's names", () => {
    const names = (options) => Object.keys(new nn.MultiheadAttention(6, 2, options).stateDict());
    assert.deepEqual(names({}), ['in_proj_weight', 'in_proj_bias', 'out_proj.weight', 'out_proj.bias']);
    assert.deepEqual(names({ kdim: 3, bias: false, addBiasKv: true }), [
      ...['q_proj_weight', 'k_proj_weight', 'v_proj_weight', 'bias_k', 'bias_v', 'out_proj.weight'],
    ]);
  });

  test('is the formula, with weights and without', () => {
    for (const [key, value] of [
      [q, q],
      [k, k],
      [k, v],
    ]) {
      const [expected, weights] = attention(layer, q, key, value, 3);
      const [y, none] = layer.call(q, key, value);
      assert.equal(none, null);
      close(y, expected);
      const [y2, all] = layer.call(q, key, value, { needWeights: true, averageAttnWeights: false });
      close(y2, expected);
      close(all, weights);
      close(layer.call(q, key, value, { needWeights: true })[1], weights.mean(1));
    }
    close(layer.call(q)[0], layer.call(q, q, q)[0]);
  });

  test('length first, and a single sequence', () => {
    const other = new nn.MultiheadAttention(6, 3, double);
    other.loadStateDict(layer.stateDict());
    const turned = (x) => x.permute([1, 0, 2]);
    const [expected, weights] = layer.call(q, k, v, { needWeights: true });
    const [y, w] = other.call(turned(q), turned(k), turned(v), { needWeights: true });
    close(y, turned(expected));
    close(w, weights);
    const [one, w1] = other.call(q.at(1), k.at(1), v.at(1), { needWeights: true });
    close(one, expected.at(1));
    close(w1, weights.at(1));
  });

  test('masks: bool is left out, floating is added, and they add up', () => {
    const padding = bool([
      [false, false, false, true, true],
      [false, false, false, false, true],
    ]);
    const mask = bool(Array.from({ length: 4 }, (_, i) => [0, 1, 2, 3, 4].map((j) => j === i + 2)));
    const blocked = og.logicalOr(padding.reshape([2, 1, 5]), mask);
    const [expected] = attention(layer, q, k, v, 3, blocked);
    const call = (options) => layer.call(q, k, v, options)[0];
    close(call({ attnMask: mask, keyPaddingMask: padding }), expected);
    close(layer.call(q, k, v, { attnMask: mask, keyPaddingMask: padding, needWeights: true })[0], expected);
    const added = (m) => og.zeros(m.shape, double).maskedFill(m, -Infinity);
    close(call({ attnMask: added(mask), keyPaddingMask: padding }), expected);
    close(call({ attnMask: mask, keyPaddingMask: added(padding) }), expected);
    close(call({ attnMask: added(mask), keyPaddingMask: added(padding) }), expected);
    const perHead = mask.expand([6, 4, 5]).reshape([6, 4, 5]);
    close(call({ attnMask: perHead, keyPaddingMask: padding }), expected);
  });

  test('causal is the triangular mask', () => {
    const later = bool(Array.from({ length: 4 }, (_, i) => [0, 1, 2, 3].map((j) => j > i)));
    const expected = layer.call(q, q, q, { attnMask: later })[0];
    close(layer.call(q, q, q, { isCausal: true })[0], expected);
    close(layer.call(q, q, q, { isCausal: true, needWeights: true })[0], expected);
    const across = layer.call(q, k, v, { isCausal: true })[0];
    close(layer.call(q, k, v, { isCausal: true, needWeights: true })[0], across);
    close(across.at(':', 0), layer.call(q, k.at(':', [0, 1]), v.at(':', [0, 1]))[0].at(':', 0));
    const padded = bool([
      [false, false, false, true],
      [false, false, true, true],
    ]);
    close(
      layer.call(q, q, q, { isCausal: true, keyPaddingMask: padded })[0],
      layer.call(q, q, q, { attnMask: later, keyPaddingMask: padded })[0],
    );
  });

  test('what is wrong is named', () => {
    assert.throws(
      () => new nn.MultiheadAttention(6, 4),
      /numHeads is 4; it must divide embedDim, which is 6/,
    );
    assert.throws(
      () => layer.call(q, k.at(':', ':', [0, 5])),
      /key is \[2, 5, 5\]; it must be \[batch, length, 6\]/,
    );
    assert.throws(() => layer.call(q, k, v.at(':', [0, 4])), /key and value one length/);
    assert.throws(
      () => layer.call(q, k, v, { attnMask: og.zeros([4, 4]) }),
      /attnMask is \[4, 4\]; it must be \[4, 5\] or \[6, 4, 5\]/,
    );
    assert.throws(
      () => layer.call(q, k, v, { keyPaddingMask: og.zeros([5]) }),
      /keyPaddingMask is \[5\]; it must be \[2, 5\]/,
    );
    assert.throws(() => layer.call(q, k, v, { mask: null }), /unknown option 'mask'; allowed: attnMask/);
    const fixed = new nn.KeyValueCache({ fixed: true });
    assert.throws(() => layer.call(q, k, k, { isCausal: true, cache: fixed }), /needs a cache that grows/);
    assert.throws(
      () => layer.call(q, q, q, { cache: new nn.KeyValueCache() }),
      /keeps no graph; call the module in noGrad/,
    );
  });
});

describe('decoding with a cache', () => {
  const options = { dimFeedforward: 8, batchFirst: true, dropout: 0, ...double };
  const norm = () => new nn.LayerNorm(6, double);
  const x = randn(2, 5, 6);
  const memory = randn(2, 4, 6);

  for (const normFirst of [false, true]) {
    test(`an encoder as a decoder-only model, normFirst ${normFirst}`, () => {
      const layer = () => new nn.TransformerEncoderLayer(6, 2, { ...options, normFirst });
      const net = new nn.TransformerEncoder(layer, 2, { norm: norm() });
      const expected = net.call(x, { isCausal: true });
      og.noGrad(() => {
        og.scope(() => close(expected, expected)); // reading holds on to what was read last
        const { tensors } = og.memory();
        const cache = net.newCache();
        og.scope(() => {
          const spans = [
            [0, 2],
            [2, 3],
            [3, 5],
          ];
          const parts = spans.map((span) => net.call(x.at(':', span), { isCausal: true, cache }));
          assert.equal(cache.layers[0].length, 5);
          close(og.cat(parts, 1), expected);
        });
        assert.equal(og.memory().tensors, tensors + 4, 'a key and a value a layer');
        cache.dispose();
        assert.equal(og.memory().tensors, tensors);
      });
    });

    test(`a decoder, its memory projected once, normFirst ${normFirst}`, () => {
      const layer = () => new nn.TransformerDecoderLayer(6, 2, { ...options, normFirst });
      const net = new nn.TransformerDecoder(layer, 2, { norm: norm() });
      const memoryKeyPaddingMask = bool([
        [false, false, true, true],
        [false, false, false, false],
      ]);
      const expected = net.call(x, memory, { tgtIsCausal: true, memoryKeyPaddingMask });
      og.noGrad(() => {
        const cache = net.newCache();
        const parts = [0, 1, 2, 3, 4].map((t) =>
          net.call(x.at(':', [t, t + 1]), memory, { tgtIsCausal: true, memoryKeyPaddingMask, cache }),
        );
        assert.equal(cache.layers[1].memory.length, 4);
        close(og.cat(parts, 1), expected);
        cache.dispose();
      });
    });
  }

  test('what is wrong is named', () => {
    const net = new nn.TransformerEncoder(() => new nn.TransformerEncoderLayer(6, 2, options), 2);
    const cache = new nn.StackCache([new nn.KeyValueCache()]);
    assert.throws(() => net.call(x, { cache }), /TransformerEncoder: the cache is of 1 layers; there are 2/);
    assert.throws(
      () => new nn.TransformerEncoder(net, 2),
      /make is an object.*a function that makes a layer/,
    );
    assert.throws(
      () => net.call(x, { mask: null }),
      /TransformerEncoder: unknown option 'mask'; allowed: srcMask/,
    );
    assert.throws(
      () => new nn.TransformerEncoderLayer(6, 2, { activation: 'tanh' }),
      /activation is 'tanh'; it must be 'relu'/,
    );
  });
});

test("a transformer's mask, and that no target sees later ones", () => {
  const net = new nn.Transformer({
    dModel: 6,
    nhead: 2,
    numEncoderLayers: 1,
    numDecoderLayers: 1,
    dropout: 0,
  }).to('float64');
  const [src, tgt] = [randn(4, 2, 6), randn(3, 2, 6)];
  const mask = nn.Transformer.generateSquareSubsequentMask(3);
  assert.deepEqual(mask.tolist(), [
    [0, -Infinity, -Infinity],
    [0, 0, -Infinity],
    [0, 0, 0],
  ]);
  close(net.call(src, tgt, { tgtMask: mask.cast('float64') }), net.call(src, tgt, { tgtIsCausal: true }));
  close(
    net.call(src, tgt.at([0, 2]), { tgtIsCausal: true }),
    net.call(src, tgt, { tgtIsCausal: true }).at([0, 2]),
  );
});

test('positions: the table, offsets, and turning by relative ones', () => {
  const layer = new nn.PositionalEncoding(4, { maxLength: 8, ...double });
  assert.deepEqual(Object.keys(layer.stateDict()), []);
  const table = layer.call(og.zeros([8, 4], double));
  const expected = (at, i) => Math[i % 2 === 0 ? 'sin' : 'cos'](at / 10000 ** ((i - (i % 2)) / 4));
  table
    .tolist()
    .forEach((line, at) => line.forEach((value, i) => assert.ok(Math.abs(value - expected(at, i)) < 1e-12)));
  close(layer.call(og.zeros([1, 2, 4], double), 5).at(0), table.at([5, 7]));
  assert.throws(
    () => layer.call(og.zeros([2, 4], double), 7),
    /from position 7; it must be \[\*, length, 4\], up to 8/,
  );
  const turn = new nn.RotaryEncoding({ interleaved: false });
  const [a, b] = [randn(1, 4), randn(1, 4)];
  const dot = (i, j) => turn.call(a, i).mul(turn.call(b, j)).sum();
  close(dot(2, 5), dot(7, 10), 1e-12);
});

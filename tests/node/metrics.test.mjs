// Metrics: values of scikit-learn's and torchmetrics' documentation, definitions written out, and the same to the bit
// however the samples are cut into batches.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import * as m from 'omnigrad/metrics';
import { dice } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const near = (actual, expected, tolerance = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
const value = (metric, ...inputs) => {
  metric.update(...inputs);
  return metric.compute();
};
const code = (run, expected) =>
  assert.throws(run, (error) => og.OmnigradError.is(error) && error.code === expected);

// scikit-learn: precision_score, recall_score, fbeta_score, f1_score share this example.
const truth = [0, 1, 2, 0, 1, 2];
const guess = [0, 2, 1, 0, 0, 1];

test('precision, recall and F: the example of scikit-learn', () => {
  const of = (Metric, average, more = {}) =>
    value(new Metric({ numClasses: 3, average, ...more }), guess, truth);
  near(of(m.Precision, 'macro'), 2 / 9);
  near(of(m.Precision, 'micro'), 1 / 3);
  near(of(m.Precision, 'weighted'), 2 / 9);
  assert.deepEqual(of(m.Precision, 'none'), [2 / 3, 0, 0]);
  near(of(m.Recall, 'macro'), 1 / 3);
  near(of(m.Recall, 'micro'), 1 / 3);
  assert.deepEqual(of(m.Recall, 'none'), [1, 0, 0]);
  near(of(m.F1Score, 'macro'), 0.8 / 3);
  near(of(m.F1Score, 'micro'), 1 / 3);
  near(of(m.F1Score, 'weighted'), 0.8 / 3);
  assert.deepEqual(of(m.F1Score, 'none'), [0.8, 0, 0]);
  near(of(m.FBetaScore, 'macro', { beta: 0.5 }), 0.7142857142857143 / 3);
  near(of(m.FBetaScore, 'micro', { beta: 0.5 }), 1 / 3);
  near(of(m.FBetaScore, 'none', { beta: 0.5 })[0], 0.7142857142857143);
});

test('two classes: the positive one, from labels or probabilities', () => {
  const [p, t] = [[0.9, 0.4, 0.6, 0.5], [1, 1, 0, 1]]; // prettier-ignore
  const probabilities = og.tensor(p);
  near(value(new m.Precision({ numClasses: 2 }), probabilities, t), 2 / 3);
  near(value(new m.Recall({ numClasses: 2 }), probabilities, t), 2 / 3);
  near(value(new m.Recall({ numClasses: 2, threshold: 0.4 }), probabilities, t), 1);
  near(value(new m.Accuracy({ numClasses: 2 }), [1, 0, 1, 1], og.tensor(t, { dtype: 'int32' })), 0.5);
  // Classes that were not met count for nothing in the mean.
  near(value(new m.Recall({ numClasses: 9, average: 'macro' }), guess, truth), 1 / 3);
});

test('the confusion matrix: the example of scikit-learn, counts and shares', () => {
  const matrix = (normalize) =>
    value(new m.ConfusionMatrix({ numClasses: 3, normalize }), [0, 0, 2, 2, 0, 2], [2, 0, 2, 2, 0, 1]);
  assert.deepEqual(matrix(null), [[2, 0, 0], [0, 0, 1], [1, 0, 2]]); // prettier-ignore
  assert.deepEqual(matrix('true'), [[1, 0, 0], [0, 0, 1], [1 / 3, 0, 2 / 3]]); // prettier-ignore
  assert.deepEqual(matrix('pred'), [[2 / 3, 0, 0], [0, 0, 1 / 3], [1 / 3, 0, 2 / 3]]); // prettier-ignore
  near(matrix('all')[2][2], 1 / 3);
});

test('accuracy and top-k: the example of scikit-learn; maps of classes; ignored targets', () => {
  const scores = og.tensor([[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]]); // prettier-ignore
  near(value(new m.Accuracy({ numClasses: 3, topK: 2 }), scores, [0, 1, 2, 2]), 0.75);
  near(value(new m.Accuracy({ numClasses: 3 }), scores, [0, 1, 2, 2]), 0.5);
  near(value(new m.Accuracy({ numClasses: 3, ignoreIndex: 2 }), scores, [0, 1, 2, 2]), 1);
  const maps = og.tensor([1, 5, 2, 4, 3, 3], { shape: [1, 3, 2] });
  near(value(new m.Accuracy({ numClasses: 3 }), maps, og.tensor([[2, 0]], { dtype: 'int64' })), 1);
  near(value(new m.Accuracy({ numClasses: 3, topK: 2 }), maps, og.tensor([[0, 1]], { dtype: 'int64' })), 0.5);
  near(value(new m.Accuracy({ numClasses: 3, topK: 2 }), og.tensor([[NaN, 1, 2]]), [0]), 0);
});

test('AUROC: the example of scikit-learn; ties; classes against the rest', () => {
  near(value(new m.AUROC(), [0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 0.75);
  near(value(new m.AUROC(), [1, 1, 1, 1], [0, 1, 0, 1]), 0.5);
  near(value(new m.AUROC(), og.tensor([3, 2, 1, 1]), [1, 0, 1, 0]), 0.625);
  assert.ok(Number.isNaN(value(new m.AUROC(), [1, 2], [1, 1])));
  const scores = og.tensor([[0.9, 0.1, 0], [0.2, 0.5, 0.3], [0.3, 0.6, 0.1], [0.1, 0.2, 0.7]]); // prettier-ignore
  const labels = [0, 1, 0, 1];
  assert.deepEqual(value(new m.AUROC({ numClasses: 3, average: 'none' }), scores, labels), [1, 0.5, NaN]);
  near(value(new m.AUROC({ numClasses: 3 }), scores, labels), 0.75);
  near(value(new m.AUROC({ numClasses: 3, average: 'weighted' }), scores, labels), 0.75);
});

test('perplexity: that of guessing is the number of classes; of probabilities the inverse geometric mean', () => {
  near(value(new m.Perplexity(), og.zeros([2, 3, 7]), og.zeros([2, 3], { dtype: 'int64' })), 7);
  const logits = og.tensor([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [1, 1, 1]]], { dtype: 'float64' }).log(); // prettier-ignore
  const metric = new m.Perplexity({ ignoreIndex: 2 });
  near(value(metric, logits, og.tensor([[0, 1, 2]], { dtype: 'int32' })), 1 / Math.sqrt(0.5 * 0.8));
});

test('error rates of texts: the examples of torchmetrics', () => {
  const given = ['this is the prediction', 'there is an other sample'];
  const wanted = ['this is the reference', 'there is another one'];
  near(value(new m.WordErrorRate(), given, wanted), 0.5);
  near(value(new m.CharErrorRate(), given, wanted), 14 / 41);
  near(value(new m.CharErrorRate(), 'kitten', 'sitting'), 3 / 7);
  near(value(new m.CharErrorRate(), '😀a', '😁a'), 0.5);
  assert.equal(m.editDistance('', 'abc'), 3);
  assert.ok(Number.isNaN(new m.WordErrorRate().compute()));
});

test('PSNR: the example of torchmetrics; equal pictures', () => {
  const metric = new m.PeakSignalNoiseRatio({ dataRange: 3 });
  near(value(metric, og.tensor([[0, 1], [2, 3]]), og.tensor([[3, 2], [1, 0]])), 2.552725051033061); // prettier-ignore
  assert.equal(value(new m.PeakSignalNoiseRatio(), [1, 2], [1, 2]), Infinity);
});

test('SSIM: equal and constant pictures, and the definition written out', () => {
  const SSIM = m.StructuralSimilarityIndexMeasure;
  const x = og.rand([2, 3, 16, 13], { generator: new og.Generator(1) });
  near(value(new SSIM(), x, x), 1);
  const flat = (v) => og.full([1, 1, 11, 11], v, { dtype: 'float64' });
  near(value(new SSIM(), flat(0.25), flat(0.5)), (2 * 0.125 + 1e-4) / (0.0625 + 0.25 + 1e-4), 1e-9);
  const y = x.add(og.randn([2, 3, 16, 13], { generator: new og.Generator(2) }).mul(0.1));
  near(value(new SSIM({ kernelSize: 5, sigma: 1 }), y, x), ssim(y.tolist(), x.tolist(), 5, 1), 1e-9);
});

function ssim(xs, ys, size, sigma) {
  const bell = Array.from({ length: size }, (_, i) =>
    Math.exp(-((i - (size - 1) / 2) ** 2) / (2 * sigma ** 2)),
  );
  const total = bell.reduce((a, b) => a + b);
  const all = [];
  xs.forEach((image, n) =>
    image.forEach((plane, c) => {
      for (let top = 0; top + size <= plane.length; top++)
        for (let left = 0; left + size <= plane[0].length; left++) {
          let [mx, my, xx, yy, xy] = [0, 0, 0, 0, 0];
          for (let i = 0; i < size; i++)
            for (let j = 0; j < size; j++) {
              const w = (bell[i] * bell[j]) / total ** 2;
              const [a, b] = [plane[top + i][left + j], ys[n][c][top + i][left + j]];
              mx += w * a;
              my += w * b;
              xx += w * a * a;
              yy += w * b * b;
              xy += w * a * b;
            }
          const [vx, vy, cov] = [xx - mx * mx, yy - my * my, xy - mx * my];
          all.push(
            ((2 * mx * my + 1e-4) * (2 * cov + 9e-4)) / ((mx * mx + my * my + 1e-4) * (vx + vy + 9e-4)),
          );
        }
    }),
  );
  return all.reduce((a, b) => a + b) / all.length;
}

test('errors of numbers: the examples of scikit-learn', () => {
  const [y, p] = [[3, -0.5, 2, 7], [2.5, 0, 2, 8]]; // prettier-ignore
  near(value(new m.MeanSquaredError(), p, y), 0.375);
  near(value(new m.MeanSquaredError({ squared: false }), p, y), 0.6123724356957945);
  near(value(new m.MeanAbsoluteError(), p, y), 0.5);
  near(value(new m.R2Score(), p, y), 0.9486081370449679);
  const [ys, ps] = [[[0.5, 1], [-1, 1], [7, -6]], [[0, 2], [-1, 2], [8, -5]]].map((v) => og.tensor(v, { dtype: 'float64' })); // prettier-ignore
  near(value(new m.MeanSquaredError(), ps, ys), 0.7083333333333334);
  near(value(new m.R2Score(), ps, ys), 0.9368005266622779);
  near(value(new m.R2Score(), p.map((v) => v + 1e9), y.map((v) => v + 1e9)), 0.9486081370449679, 1e-6); // prettier-ignore
  assert.ok(Number.isNaN(value(new m.R2Score(), [1], [2])));
  near(value(new m.MeanMetric(), 3, 2), 3);
});

// Each metric with data for n samples, and how to take some of them.
const roll = dice(9);
const numbers = (n, below) => Array.from({ length: n }, () => roll(below));
const rows = (x) => (from, to) => (Array.isArray(x) ? x.slice(from, to) : x.at([from, to]));
const n = 24;
const random = (shape, dtype = 'float32') =>
  og.randn(shape, { dtype, generator: new og.Generator(roll(1000)) });
const labels = (shape, below) => og.randint(0, below, shape, { generator: new og.Generator(roll(1000)) });
const cases = () => ({
  precision: [() => new m.Precision({ numClasses: 4 }), random([n, 4]), labels([n], 4)],
  recall: [() => new m.Recall({ numClasses: 4, average: 'weighted' }), random([n, 4, 2]), labels([n, 2], 4)],
  f1: [() => new m.F1Score({ numClasses: 4, average: 'none' }), numbers(n, 4), numbers(n, 4)],
  accuracy: [() => new m.Accuracy({ numClasses: 4 }), random([n, 4]), labels([n], 4)],
  topk: [() => new m.Accuracy({ numClasses: 4, topK: 2 }), random([n, 4]), labels([n], 4)],
  matrix: [() => new m.ConfusionMatrix({ numClasses: 4 }), numbers(n, 4), numbers(n, 4)],
  auroc: [() => new m.AUROC(), numbers(n, 7), numbers(n, 2)],
  aurocs: [() => new m.AUROC({ numClasses: 4 }), random([n, 4]), labels([n], 4)],
  perplexity: [() => new m.Perplexity({ ignoreIndex: 1 }), random([n, 5, 6]), labels([n, 5], 6)],
  cer: [() => new m.CharErrorRate(), numbers(n, 1e6).map(String), numbers(n, 1e6).map(String)],
  wer: [
    () => new m.WordErrorRate(),
    numbers(n, 4).map((i) => 'a b c d'.slice(i)),
    numbers(n, 4).map((i) => 'a b d d'.slice(i)),
  ],
  psnr: [() => new m.PeakSignalNoiseRatio(), random([n, 1, 3, 3]), random([n, 1, 3, 3])],
  ssim: [() => new m.StructuralSimilarityIndexMeasure(), random([n, 2, 12, 12]), random([n, 2, 12, 12])],
  mse: [() => new m.MeanSquaredError(), random([n, 3]), random([n, 3])],
  mae: [() => new m.MeanAbsoluteError(), random([n]), random([n], 'float32')],
  r2: [() => new m.R2Score(), random([n, 3]), random([n, 3])],
});

test('the same over batches as over the whole, to the bit; again after reset', () => {
  for (const [name, [make, a, b]] of Object.entries(cases())) {
    const whole = value(make(), a, b);
    assert.ok([whole].flat(2).every(Number.isFinite), `${name}: ${whole}`);
    for (let round = 0; round < 8; round++) {
      const metric = make();
      metric.update(rows(a)(0, 3), rows(b)(0, 3));
      metric.reset();
      for (let from = 0; from < n;) {
        const to = Math.min(n, from + 1 + roll(9));
        metric.update(rows(a)(from, to), rows(b)(from, to));
        metric.compute();
        from = to;
      }
      assert.deepEqual(metric.compute(), whole, name);
    }
  }
});

test('bad input is refused, and a batch that is refused counts for nothing', () => {
  code(() => new m.Precision({}), 'option');
  code(() => new m.Precision({ numClasses: 3, average: 'some' }), 'option');
  code(() => new m.Precision({ numClasses: 3, average: 'binary' }), 'option');
  code(() => new m.FBetaScore({ numClasses: 3 }), 'option');
  code(() => new m.Accuracy({ numClasses: 3, topK: 3 }), 'option');
  code(() => new m.AUROC({ nonsense: 1 }), 'option');
  code(() => new m.StructuralSimilarityIndexMeasure({ kernelSize: 4 }), 'option');
  code(() => value(new m.Accuracy({ numClasses: 3 }), [0, 1], [0]), 'shape');
  code(() => value(new m.Accuracy({ numClasses: 3 }), 'text', [0]), 'argument');
  code(() => value(new m.AUROC(), [NaN], [0]), 'argument');
  code(() => value(new m.AUROC(), [1], [2]), 'index');
  code(() => value(new m.Perplexity(), og.zeros([2, 3]), og.zeros([3])), 'shape');
  code(() => value(new m.WordErrorRate(), ['a'], []), 'shape');
  code(
    () => value(new m.StructuralSimilarityIndexMeasure(), og.zeros([1, 1, 9, 9]), og.zeros([1, 1, 9, 9])),
    'shape',
  );
  code(() => value(new m.R2Score(), og.zeros([1, 1, 9]), og.zeros([1, 1, 9])), 'shape');
  code(() => new m.MeanMetric().update('1'), 'argument');
  const metric = new m.ConfusionMatrix({ numClasses: 2 });
  code(() => metric.update([0, 1, 0], [0, 1, 2]), 'index');
  assert.deepEqual(metric.compute(), [[0, 0], [0, 0]]); // prettier-ignore
});

test('metrics hold no tensors', () => {
  // The module holds what was read last.
  const held = () => og.scope(() => (og.zeros([1]).item(), og.memory().tensors));
  const before = held();
  og.scope(() => {
    for (const [make, a, b] of Object.values(cases())) value(make(), a, b);
  });
  assert.equal(held(), before);
});

test('as many classes as words: counts grow with the classes, not with their square', () => {
  const numClasses = 50_000;
  const [found, labels] = [
    [7, 49_999, 0, 7],
    [7, 49_999, 1, 8],
  ];
  near(value(new m.Accuracy({ numClasses }), found, labels), 0.5);
  near(value(new m.Precision({ numClasses, average: 'micro' }), found, labels), 0.5);
  near(value(new m.Recall({ numClasses }), found, labels), 2 / 5); // of the five classes that were met
});

test('a count of classes, or a window, that no memory holds is refused', () => {
  for (const [make, pattern] of [
    [() => new m.Accuracy({ numClasses: 1e9 }), /Accuracy: numClasses is 1000000000; .* from 2 to 1000000/],
    [() => new m.F1Score({ numClasses: 1e9 }), /F1Score: numClasses .* from 2 to 1000000/],
    [() => new m.AUROC({ numClasses: 1e9 }), /AUROC: numClasses .* from 2 to 1000000/],
    [() => new m.ConfusionMatrix({ numClasses: 1e5 }), /ConfusionMatrix: numClasses .* from 2 to 10000/],
    [() => new m.StructuralSimilarityIndexMeasure({ kernelSize: 1e9 + 1 }), /an odd number from 1 to 999/],
  ])
    assert.throws(make, (error) => og.OmnigradError.is(error) && pattern.test(error.message));
});

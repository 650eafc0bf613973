// ReduceLROnPlateau. Rates as PyTorch's class gives them for the same measures.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import * as optim from 'omnigrad/optim';

before(() => og.init({ variant: 'single' }));

const sgd = (lr = 0.1) => new optim.SGD([og.zeros([1], { requiresGrad: true })], { lr });

/** The rate after each of the measures. */
function rates(options, measures, optimizer = sgd()) {
  const schedule = new optim.ReduceLROnPlateau(optimizer, options);
  return measures.map((measure) => {
    schedule.step(measure);
    return Number(schedule.getLastLr()[0].toPrecision(12));
  });
}

test('patience: that many steps may be no better, the next one lowers', () => {
  assert.deepEqual(rates({ patience: 2 }, [1, 1, 1, 1, 1, 1, 1]), [0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.001]);
  assert.deepEqual(rates({ patience: 1 }, [3, 4, 2, 3, 3]), [0.1, 0.1, 0.1, 0.1, 0.01]);
  assert.deepEqual(rates({ patience: 0, factor: 0.5 }, [NaN, NaN]), [0.05, 0.025]);
});

test('the threshold is a share or a difference, of less or of more', () => {
  const half = { patience: 0, factor: 0.5 };
  assert.deepEqual(rates({ ...half, threshold: 0.1 }, [10, 9.5, 8.9]), [0.1, 0.05, 0.05]);
  assert.deepEqual(
    rates({ ...half, threshold: 0.1, thresholdMode: 'abs' }, [10, 9.95, 9.85]),
    [0.1, 0.05, 0.05],
  );
  assert.deepEqual(rates({ ...half, mode: 'max', threshold: 0.1 }, [10, 10.5, 11.5]), [0.1, 0.05, 0.05]);
  assert.deepEqual(rates({ ...half, mode: 'max' }, [1, 0.5]), [0.1, 0.05]);
});

test('cooldown, the least rate, and lowerings too small to make', () => {
  const bad = [1, 1, 1, 1, 1, 1];
  assert.deepEqual(rates({ patience: 0, cooldown: 2 }, bad), [0.1, 0.01, 0.01, 0.01, 0.001, 0.001]);
  assert.deepEqual(rates({ patience: 0, minLr: 0.02 }, bad), [0.1, 0.02, 0.02, 0.02, 0.02, 0.02]);
  assert.deepEqual(rates({ patience: 0, eps: 0.05 }, bad), [0.1, 0.01, 0.01, 0.01, 0.01, 0.01]);
});

test('its state goes on where it stopped', () => {
  const measures = [5, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2, 2];
  const expected = rates({ patience: 1, cooldown: 1 }, measures);
  const first = new optim.ReduceLROnPlateau(sgd(), { patience: 1, cooldown: 1 });
  for (const measure of measures.slice(0, 6)) first.step(measure);
  const second = new optim.ReduceLROnPlateau(sgd(), { patience: 1, cooldown: 1 });
  second.loadStateDict(JSON.parse(JSON.stringify(first.stateDict())));
  for (const measure of measures.slice(6)) second.step(measure);
  assert.equal(Number(second.getLastLr()[0].toPrecision(12)), expected.at(-1));
  assert.equal(new optim.ReduceLROnPlateau(sgd()).stateDict().best, null);
  assert.throws(
    () => second.loadStateDict({ ...first.stateDict(), lrs: [] }),
    /0 rates; the optimizer has 1/,
  );
});

test('what it refuses', () => {
  const refuses = (options, pattern) =>
    assert.throws(() => new optim.ReduceLROnPlateau(sgd(), options), pattern);
  refuses({ factor: 1 }, /ReduceLROnPlateau: factor is 1; it must be below 1/);
  refuses({ minLr: [0, 0] }, /minLr has 2 rates; the optimizer has 1 groups/);
  refuses({ mode: 'less' }, /mode is 'less'; it must be one of 'min', 'max'/);
  refuses({ patients: 1 }, /unknown option 'patients'/);
  assert.throws(() => new optim.ReduceLROnPlateau({}), /must be an Optimizer/);
  assert.throws(() => new optim.ReduceLROnPlateau(sgd()).step('1'), /measure is '1'; it must be a number/);
});

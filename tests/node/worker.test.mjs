// omnigrad/worker in Node's worker threads. The same jobs run in Chromium: tests/e2e/worker.test.mjs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { OmnigradError } from 'omnigrad';
import { connect, serve } from 'omnigrad/worker';

const make = (name = 'job') => new Worker(new URL(`./worker/${name}.mjs`, import.meta.url));
const open = [];
function connection(options, name) {
  const job = connect(() => make(name), options);
  open.push(job);
  return job;
}
after(() => {
  for (const job of open) job.close();
});
const failureOf = (promise) =>
  promise.then(
    () => assert.fail('no error'),
    (error) => error,
  );
async function all(run) {
  const reports = [];
  for await (const report of run) reports.push(report);
  return reports;
}

test('a training loop reports every step, once and in order; its result is awaited', async () => {
  const job = connection();
  const run = job.train({ steps: 300 });
  const reports = await all(run);
  assert.deepEqual(
    reports.map(({ step }) => step),
    Array.from({ length: 300 }, (_, i) => i + 1),
  );
  assert.ok(reports.at(-1).loss < reports[0].loss / 10);
  assert.deepEqual(await run, { steps: 300 });
  const [a, b] = await job.predict([5, 0]);
  assert.ok(a > b);
});

test('reports made while nobody asked are all there', async () => {
  const job = connection();
  const run = job.count({ to: 20000 });
  assert.equal(await run, 'counted');
  assert.deepEqual(
    await all(run),
    Array.from({ length: 20000 }, (_, i) => i + 1),
  );
});

test('calls are answered between two steps', async () => {
  const job = connection();
  const run = job.count({ to: 100, ms: 5 });
  const seen = [];
  for await (const i of run) {
    if (i === 10) seen.push(await job.mark('called'));
  }
  const { log } = await job.state();
  const place = log.indexOf('called');
  assert.ok(place >= 10 && place < 60, `answered at ${place}`);
  assert.equal(log.length, 101);
  assert.deepEqual(seen, ['called']);
});

test('pause holds between two steps with all reports here, calls are answered meanwhile, resume goes on', async () => {
  const job = connection();
  const run = job.count({ to: 60, ms: 2 });
  const reports = [];
  const reading = (async () => {
    for await (const i of run) reports.push(i);
  })();
  await new Promise((resolve) => setTimeout(resolve, 30));
  await run.pause();
  const { log } = await job.state();
  assert.ok(log.length < 60);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal((await job.state()).log.length, log.length, 'it stands still');
  assert.deepEqual(reports, log, 'every report is here');
  assert.equal(await job.mark('held'), 'held');
  run.resume();
  await reading;
  assert.equal(reports.length, 60);
  await run.pause();
});

test('a run that waits for its turn can be held before it begins', async () => {
  const job = connection();
  const first = job.count({ to: 20, ms: 2 });
  const second = job.count({ to: 3 });
  await second.pause();
  await first;
  assert.equal(await Promise.race([second, new Promise((r) => setTimeout(r, 60, 'held'))]), 'held');
  second.resume();
  assert.deepEqual(await all(second), [1, 2, 3]);
});

test('runs take turns', async () => {
  const job = connection();
  const runs = [job.count({ to: 3, ms: 1 }), job.count({ to: 3, ms: 1 })];
  await Promise.all(runs);
  assert.deepEqual((await job.state()).log, [1, 2, 3, 1, 2, 3]);
});

test('break cancels, finally runs in the worker, and the next run starts', async () => {
  const job = connection();
  const run = job.train({ steps: 1e6 });
  for await (const { step } of run) if (step === 20) break;
  const error = await failureOf(run);
  assert.deepEqual([OmnigradError.is(error), error.code], [true, 'cancelled']);
  assert.equal((await job.state()).finals, 1);
  assert.equal((await all(job.train({ steps: 3 }))).length, 3);
});

test('cancel ends a run that waits, one that is held, and one that has not begun', async () => {
  const job = connection();
  const waits = job.waits();
  const held = job.count({ to: 5 });
  const later = job.count({ to: 5 });
  for await (const report of waits) {
    assert.equal(report, 'waiting');
    void held.pause();
    await later.cancel();
    await waits.cancel();
  }
  await held.cancel();
  assert.deepEqual((await job.state()).log, []);
  assert.equal((await failureOf(later)).code, 'cancelled');
  await later.cancel();
});

test('errors arrive with class, message, fields, cause and both stacks', async () => {
  const job = connection();
  const error = await failureOf(job.fail({ kind: 'type' }));
  assert.ok(error instanceof TypeError);
  assert.equal(error.message, 'outer');
  assert.deepEqual(error.field, [1, { a: 2 }]);
  assert.ok(error.cause instanceof RangeError);
  assert.match(error.stack, /job\.mjs[^]*in the worker, called from\n[^]*worker\.test\.mjs/);
  const own = await failureOf(job.fail({ kind: 'omnigrad' }));
  assert.ok(own instanceof OmnigradError && OmnigradError.is(own));
  assert.deepEqual([own.op, own.code, own.shapes], ['matmul', 'shape', [[3], [2, 2]]]);
  assert.deepEqual(await failureOf(job.fail({ kind: 'value' })), { reason: 'plain' });
});

test('an error of a generator comes after its reports', async () => {
  const job = connection();
  const reports = [];
  const error = await failureOf(
    (async () => {
      for await (const report of job.failing()) reports.push(report);
    })(),
  );
  assert.ok(error instanceof SyntaxError);
  assert.deepEqual(reports, [1, 2]);
});

test('what cannot be sent is refused by name, and nothing else is lost', async () => {
  const job = connection();
  const reports = [];
  for (const run of [job.tensors(), job.functions()]) {
    const error = await failureOf(
      (async () => {
        for await (const report of run) reports.push(report);
      })(),
    );
    assert.deepEqual([OmnigradError.is(error), error.code], [true, 'clone']);
  }
  assert.deepEqual(reports.slice(0, 2), [{ ok: 1 }, 1]);
  assert.match(
    (await failureOf(job.returnsTensor())).message,
    /what it returns holds a Tensor; send its item/,
  );
  const argument = await failureOf(job.echo(() => 1));
  assert.deepEqual([argument.code, /argument of echo/.test(argument.message)], ['clone', true]);
  assert.match(
    (await failureOf(job.nothing())).message,
    /it has no handler 'nothing'; it has train, predict/,
  );
  assert.equal(await job.echo('still there'), 'still there');
});

test('a worker that dies is noticed within a second; the next call starts another', async () => {
  const job = connection();
  await job.echo('it has started');
  const begun = performance.now();
  const [run, call] = [job.waits(), job.die()];
  for (const owed of [run, call]) {
    const error = await failureOf(owed);
    assert.deepEqual([OmnigradError.is(error), error.code], [true, 'worker-died']);
    assert.match(error.message, /it ended with code 7/);
  }
  assert.ok(performance.now() - begun < 1000);
  assert.equal(await job.echo(1), 1);
});

test('the error that killed a worker is told', async () => {
  const job = connection();
  await job.uncaught();
  const { code, message } = await failureOf(job.waits());
  assert.equal(code, 'worker-died');
  assert.match(message, /nobody caught this/);
});

test('a run goes on from its checkpoint in a new worker: each report once, the same losses', async () => {
  const job = connection({ restarts: 1 });
  const undisturbed = await all(job.train({ steps: 40 }));
  const run = job.train({ steps: 40, dieAt: 17 });
  const reports = await all(run);
  assert.deepEqual(reports, undisturbed);
  assert.deepEqual([run.checkpoint.step, await run], [40, { steps: 40 }]);
});

test('without restarts the checkpoint is left to the caller', async () => {
  const job = connection();
  const run = job.train({ steps: 40, dieAt: 17 });
  assert.equal((await failureOf(all(run))).code, 'worker-died');
  assert.equal(run.checkpoint.step, 15);
});

test('a script that is not there, one that throws, and one that never serves are told', async () => {
  for (const [name, options, code, message] of [
    ['nowhere', {}, 'start-failed', /did not start: .*nowhere\.mjs/s],
    ['throws', {}, 'start-failed', /did not start: .*thrown at the top/s],
    ['silent', { timeout: 300 }, 'start-timeout', /has not called serve\(\) in 300 ms/],
  ]) {
    const error = await failureOf(connection(options, name).echo(1));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
  }
  const unmade = connect(() => {
    throw new Error('no workers here');
  });
  assert.match((await failureOf(unmade.echo(1))).message, /cannot be made: no workers here/);
});

test('close rejects what is owed and what comes', async () => {
  const job = connection();
  const run = job.waits();
  job.close();
  assert.equal((await failureOf(run)).code, 'closed');
  assert.equal((await failureOf(job.echo(1))).code, 'closed');
});

test('bad arguments are refused', () => {
  assert.throws(() => connect('job.js'), { code: 'argument', op: 'connect' });
  assert.throws(() => connect(make, { restarts: -1 }), { code: 'option' });
  assert.throws(() => serve({ f() {} }), { code: 'worker' });
  for (const handlers of [null, {}, { a: 1 }, { then() {} }, { close() {} }])
    assert.throws(() => serve(handlers), { code: 'argument' });
});

// A program of its own: what it printed, and how it ended.
function program(name) {
  const file = fileURLToPath(new URL(`./worker/${name}.mjs`, import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [file], {
    encoding: 'utf8',
    timeout: 20000,
  });
  return [status, stdout, stderr];
}

test('Node ends by itself when the worker owes nothing, and waits while it does', () => {
  assert.deepEqual(program('ends'), [0, '40', '']);
});

test('an error that nobody asks for is an unhandled rejection, as with any promise', () => {
  assert.deepEqual(program('unseen'), [0, 'outer', '']);
});

// save and load: every place in Node, what can be saved, and a save that fails.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as og from 'omnigrad';
import { browserStore, decodeSafetensors, encodeNpz, encodeSafetensors, load, save } from 'omnigrad/io';
import { fixture, withFolder } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const dict = () => ({ a: og.tensor([[1, 2]]), b: og.tensor([3n]) });
const told = (x) => Object.fromEntries(Object.entries(x).map(([name, t]) => [name, t.tolist()]));
const expected = { a: [[1, 2]], b: [3] };

test('a flat record of tensors is a plain safetensors file', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'weights.safetensors');
    await save(path, dict(), { metadata: { format: 'pt' } });
    assert.deepEqual(told(decodeSafetensors(readFileSync(path))), expected);
    assert.deepEqual(told(await load(path)), expected);
    assert.deepEqual(told(await load(pathToFileURL(path))), expected);
    await save(pathToFileURL(path), { c: og.tensor(1) });
    assert.deepEqual(told(await load(path)), { c: 1 });
    assert.deepEqual(readdirSync(folder), ['weights.safetensors']);
  }));

test('a tree comes back as it was: records, lists, numbers of all kinds, texts, shared tensors', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'run.ckpt');
    const shared = og.tensor([1, 2]);
    const tree = {
      model: { 'net.0.weight': shared, 'a/b': og.tensor(1) },
      a: { b: og.tensor(2) },
      'a/b': og.tensor(3),
      twice: shared,
      list: [1, [shared], {}],
      numbers: [0.1, -0, NaN, Infinity, -Infinity, 2 ** 53, 5e-324, 2n ** 70n],
      words: { $tensor: 'x', $$: '', __proto__: null, 'größe\n': 'ä\u0000"' },
      none: null,
      yes: true,
      left: undefined,
    };
    await save(path, tree, { metadata: { note: 'mine' } });
    const back = await load(path);
    assert.deepEqual(back.numbers, tree.numbers);
    assert.deepEqual(back.words, { $tensor: 'x', $$: '', 'größe\n': 'ä\u0000"' });
    assert.deepEqual([back.none, back.yes, 'left' in back, back.list[2]], [null, true, false, {}]);
    assert.deepEqual([back.a.b.item(), back['a/b'].item(), back.model['a/b'].item()], [2, 3, 1]);
    assert.ok(back.twice === back.model['net.0.weight'] && back.twice === back.list[1][0]);
    assert.deepEqual(back.twice.tolist(), [1, 2]);
    for (const one of [og.tensor([5]), [og.tensor([5])], 5, 'five', null]) {
      await save(path, one);
      const again = await load(path);
      assert.deepEqual(String(again), String(one));
    }
  }));

test('all places to read from and write to', () =>
  withFolder(async (folder) => {
    const bytes = encodeSafetensors(dict());
    assert.deepEqual(told(await load(bytes)), expected);
    assert.deepEqual(told(await load(bytes.buffer)), expected);
    assert.deepEqual(told(await load(new Blob([bytes]))), expected);
    assert.deepEqual(told(await load(new Response(bytes))), expected);
    assert.deepEqual(told(await load(new Response(bytes).body)), expected);
    assert.deepEqual(told(await load(`data:;base64,${Buffer.from(bytes).toString('base64')}`)), expected);
    assert.deepEqual(told(await load(encodeNpz(dict()))), expected);

    const parts = [];
    await save(new WritableStream({ write: (part) => void parts.push(part) }), dict());
    assert.deepEqual(Buffer.concat(parts), Buffer.from(bytes));
    const file = fileHandle();
    await save(file, dict());
    assert.deepEqual(told(await load(file)), expected);
    const path = join(folder, 'x.npz');
    await save(path, encodeNpz(dict()));
    assert.deepEqual(told(await load(path)), expected);

    const server = createServer((request, response) => {
      if (request.url !== '/weights') response.statusCode = 404;
      response.end(bytes);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const base = `http://127.0.0.1:${server.address().port}`;
      assert.deepEqual(told(await load(`${base}/weights`)), expected);
      assert.deepEqual(told(await load(await fetch(`${base}/weights`))), expected);
      await assert.rejects(load(new URL(`${base}/other`)), /load: http.*\/other cannot be read: HTTP 404/);
    } finally {
      server.close();
    }
  }));

/** As browsers have them: what is written counts once the stream is closed. */
function fileHandle(failing = false) {
  let content = new Blob([]);
  return {
    name: 'picked.safetensors',
    getFile: async () => content,
    async createWritable() {
      const parts = [];
      return {
        write: async (part) => {
          if (failing && parts.length > 0) throw new Error('disk full');
          parts.push(Uint8Array.from(part));
        },
        close: async () => void (content = new Blob(parts)),
        abort: async () => void (this.aborted = true),
      };
    },
  };
}

test('what cannot be saved or read is told', async () => {
  const circle = [];
  circle.push(circle);
  for (const [value, pattern] of [
    [{ a: { b: () => 1 } }, /'a\/b' is a function; tensors, records/],
    [{ a: new Map() }, /'a' is an object of Map/],
    [circle, /nested deeper than 100/],
    [undefined, /what is saved is undefined/],
  ])
    await assert.rejects(
      save('never', value),
      (error) => error.code === 'argument' && pattern.test(error.message),
    );
  await assert.rejects(save('a.safetensors', {}, { nonsense: 1 }), /unknown option/);
  await assert.rejects(save('a.safetensors', {}, { maxShardBytes: 10 }), /\.index\.json/);
  await assert.rejects(save({}, dict()), /save: the target is an object of Object; it must be a path/);
  await assert.rejects(load(5), /load: the source is 5; it must be a path or URL/);
  await assert.rejects(
    load('/no/such/file'),
    (error) => error.code === 'not-found' && /\/no\/such\/file/.test(error.message),
  );
  await assert.rejects(save(browserStore('x'), dict()), /neither a private file system nor IndexedDB/);
  await assert.rejects(load('data:,abc'), /load: the data: URL, byte 0: the file ends/);
  const gone = og.ones([1]);
  gone.dispose();
  await assert.rejects(save('never', { gone }), (error) => error.code === 'disposed');
  const lying = { __metadata__: { omnigrad: '{"a":{"$tensor":"b"}}' } };
  await assert.rejects(load(encode(lying)), /leaf \$tensor 'b' that stands for nothing/);
  await assert.rejects(
    load(encode({ __metadata__: { omnigrad: '{' } })),
    /byte 8: the checkpoint's structure is no JSON/,
  );
});

function encode(header) {
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text]);
}

test('what is saved is what was there when save was called', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'a');
    const x = og.ones([1000]);
    const done = save(path, { x });
    og.noGrad(() => x.fill_(2));
    x.dispose();
    await done;
    assert.equal((await load(path)).x.sum().item(), 1000);
  }));

test('shards: files of a size, an index, and indexes that lie', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'model.safetensors.index.json');
    const tensors = { a: og.ones([4]), b: og.full([2], 2), c: og.full([10], 3), d: og.full([1], 4) };
    await save(path, tensors, { maxShardBytes: 24 });
    const names = () => readdirSync(folder).sort();
    const shape = /^model-[\da-f]{8}-0000[123]-of-00003\.safetensors$/;
    assert.deepEqual([names().length, names().filter((name) => shape.test(name)).length], [4, 3]);
    const index = JSON.parse(readFileSync(path));
    assert.equal(index.metadata.total_size, 68);
    assert.match(index.weight_map.d, /-00003-of-00003/);
    assert.deepEqual(told(await load(path)), told(tensors));
    // One that fails leaves the old one, whichever file it is that fails; the next one takes its place.
    const old = names();
    let failed = 0;
    for (let done = false; !done; failed++) {
      const other = { ...tensors, a: og.zeros([4]) };
      await withFullDisk(failed, async () => {
        const error = await save(path, other, { maxShardBytes: 24 }).catch((e) => e);
        done = error === undefined;
        assert.ok(done || error.code === 'write', String(error));
      });
      assert.deepEqual(told(await load(path)), told(done ? other : tensors));
      if (!done) assert.deepEqual(names(), old);
    }
    assert.ok(failed > 40, String(failed));
    await save(pathToFileURL(path), { deep: [tensors.a, 5] }, { maxShardBytes: 24 });
    assert.equal((await load(path)).deep[1], 5);
    assert.equal(names().length, 2);
    await save(path, tensors, { maxShardBytes: 24 });
    const bad = async (text, pattern) => {
      writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
      await assert.rejects(load(path), (error) => error.code === 'format' && pattern.test(error.message));
    };
    const other = names().find((name) => name.includes('00001'));
    await bad('{"weight_map": ', /byte 0: the index is no JSON/);
    await bad({ weight_map: [] }, /weight_map is \[\]/);
    await bad({ a: 1, weight_map: { a: '../secret' } }, /byte 7: tensor 'a' is said to be in '\.\.\/secret'/);
    await bad({ weight_map: { a: '..' } }, /beside the index/);
    await bad({ weight_map: { a: 5 } }, /beside the index/);
    await bad({ weight_map: { nothing: other } }, /tensor 'nothing' is not in/);
    await bad('{"weight_map": {"a": "x", "a": "y"}}', /'a' is there twice/);
    writeFileSync(path, JSON.stringify({ weight_map: { a: 'none.safetensors' } }));
    await assert.rejects(load(path), (error) => error.code === 'not-found');
    await assert.rejects(load(readFileSync(path)), /has a path or URL; the bytes has none/);
  }));

/** Makes the n-th write of any file fail, as a full disk does. */
async function withFullDisk(after, use) {
  const { open } = fs.promises;
  let left = after;
  fs.promises.open = async (...args) => {
    const file = await open(...args);
    const write = file.write.bind(file);
    file.write = async (data, offset, length) => {
      if (left-- > 0) return write(data, offset, Math.ceil(length / 2));
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    };
    return file;
  };
  try {
    await use();
  } finally {
    fs.promises.open = open;
  }
}

test('a save that fails midway leaves the old file whole, and nothing beside it', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'run.safetensors');
    await save(path, dict());
    const old = readFileSync(path);
    for (const after of [0, 1, 2, 5]) {
      await withFullDisk(after, () =>
        assert.rejects(save(path, { a: og.ones([1000]), b: og.ones([1000]) }), (error) => {
          assert.deepEqual([error.code, error.cause.code], ['write', 'ENOSPC']);
          assert.ok(error.message.startsWith(`save: ${path} could not be written: ENOSPC`), error.message);
          return true;
        }),
      );
      assert.deepEqual(readFileSync(path), old);
      assert.deepEqual(readdirSync(folder), ['run.safetensors']);
    }
    // Short writes are no failure.
    await withFullDisk(1000, () => save(path, { a: og.ones([1000]) }));
    assert.equal((await load(path)).a.sum().item(), 1000);

    mkdirSync(join(folder, 'sub'));
    await assert.rejects(save(join(folder, 'sub'), dict()), (error) => error.code === 'write');
    await assert.rejects(save(join(folder, 'no/where'), dict()), /could not be written: ENOENT/);
    assert.deepEqual(readdirSync(folder).sort(), ['run.safetensors', 'sub']);

    const handle = fileHandle(true);
    await assert.rejects(save(handle, dict()), /picked\.safetensors could not be written: disk full/);
    assert.equal((await handle.getFile()).size, 0);
    let aborted;
    const stream = new WritableStream({
      write: (_, control) => control.error(new Error('gone')),
      abort: (reason) => void (aborted = reason),
    });
    await assert.rejects(save(stream, dict()), (error) => error.code === 'write');
    assert.equal(aborted, undefined);
  }));

test('a link is followed', () =>
  withFolder(async (folder) => {
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    writeFileSync(join(folder, 'real'), 'old');
    await save(join(folder, 'link'), dict());
    assert.deepEqual(told(await load(join(folder, 'real'))), expected);
  }));

// Ends a process at any moment of its saving: what is there is one of the checkpoints it wrote, whole.
test('a process that is killed while it saves leaves a whole file', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'run.safetensors');
    const script = join(folder, 'saver.mjs');
    const entry = (name) => import.meta.resolve(name);
    writeFileSync(
      script,
      `import * as og from ${JSON.stringify(entry('omnigrad'))};
       import { save } from ${JSON.stringify(entry('omnigrad/io'))};
       await og.init({ variant: 'single' });
       for (let i = 1; ; i++) {
         await save(process.argv[2], { a: og.full([200000], i), b: og.full([200000], i) });
         if (i === 2) process.send('saving');
       }`,
    );
    for (let round = 0; round < 3; round++) {
      const child = spawn(process.execPath, [script, path], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      await once(child, 'message');
      await new Promise((resolve) => setTimeout(resolve, 7 * round));
      child.kill('SIGKILL');
      await once(child, 'exit');
      const { a, b } = await load(path);
      assert.deepEqual([a.numel, a.amin().item()], [200000, a.amax().item()]);
      assert.equal(a.at(0).item(), b.at(199999).item());
    }
  }));

test('a file that PyTorch wrote is loaded by its content', async () => {
  assert.deepEqual((await load(fixture('views.pt'))).slice.tolist(), [5, 6, 7, 8]);
});

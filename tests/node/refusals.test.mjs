// Bad input to what is not an op of the schema (bad_input.test.mjs has those): every refusal is an OmnigradError that
// names the function or class and what is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as og from 'omnigrad';
import { DataLoader, MnistDataset, mnist } from 'omnigrad/data';
import * as nn from 'omnigrad/nn';
import { refused } from './lib/refused.mjs';

await og.init({ variant: 'single' });

const leaf = og.tensor([1, 2], { requiresGrad: true });
const loss = () => leaf.square().sum();

describe('gradients', () => {
  refused([
    [() => loss().backward({ retainGraph: true }), 'backward', /backward\(null, \{ retainGraph/],
    [() => loss().backward(null, { retain_graph: true }), 'backward', /'retain_graph'.*retainGraph/],
    [() => loss().backward(null, { retainGraph: 1 }), 'backward', /retainGraph is 1.*true or false/],
    [() => loss().backward(3), 'backward', /gradient must be a Tensor; got/],
    [() => og.backward(3), 'backward', /y must be a Tensor/],
    [() => og.grad(loss(), [leaf], { create_graph: true }), 'grad', /'create_graph'.*createGraph/],
    [() => og.grad(loss(), [leaf], { gradOutputs: og.ones([]) }), 'grad', /gradOutputs is a list/],
    [() => og.grad(loss(), [leaf], { gradOutputs: [1] }), 'grad', /gradOutputs\[0\] must be a Tensor/],
    [() => og.grad(loss(), [3]), 'grad', /inputs\[0\] must be a Tensor/],
    [() => og.grad(loss(), 3), 'grad', /inputs must be a Tensor or a list/],
    [() => og.grad(3, [leaf]), 'grad', /outputs must be a Tensor or a list/],
    [() => og.valueAndGrad(() => 3, leaf), 'valueAndGrad', /must return a Tensor; it returned 3/],
    [() => og.valueAndGrad(loss, 3), 'valueAndGrad', /x is 3; it must be a Tensor/],
    [() => og.valueAndGrad(3, leaf), 'valueAndGrad', /fn is 3; it must be a function/],
    [() => og.hessian(() => undefined, leaf), 'hessian', /must return a Tensor; it returned undefined/],
    [() => og.jacobian((x) => [x], leaf), 'jacobian', /must return a Tensor; it returned/],
    [() => og.jvp(() => 1, leaf, leaf), 'jvp', /must return a Tensor/],
    [() => og.vjp(() => 1, leaf), 'vjp', /must return a Tensor/],
    [() => og.hvp(() => 1, leaf, leaf), 'hvp', /must return a Tensor/],
    [() => og.noGrad(3), 'noGrad', /fn is 3; it must be a function/],
    [() => og.scope(3), 'scope', /must be a function/],
    [() => og.checkpoint(3, leaf), 'checkpoint', /fn is 3/],
    [() => og.checkpoint((x) => x, 3), 'checkpoint', /input 0 is 3; it must be a Tensor/],
    [() => og.customGrad((x) => x), 'customGrad', /backward is undefined; it must be a function/],
    [
      () =>
        og.customGrad(
          (x) => x.exp(),
          (g) => [g],
        )(3),
      'customGrad',
      /input 0 is 3/,
    ],
    [
      () =>
        og
          .customGrad(
            (x) => x.exp(),
            () => undefined,
          )(leaf)
          .sum()
          .backward(),
      'customGrad',
      /must return a list.*it returned undefined/,
    ],
    [
      () =>
        og
          .customGrad(
            (x) => x.exp(),
            () => [3],
          )(leaf)
          .sum()
          .backward(),
      'customGrad',
      /gradient 0 must be a Tensor/,
    ],
    [() => og.math('foo', 1), 'math', /'foo'.*exp, log/],
    [() => og.math('pow', '1', 2), 'math', /takes numbers/],
  ]);

  test('grad takes one input too', () => {
    assert.deepEqual(
      og.grad(loss(), leaf).map((g) => g.tolist()),
      [[2, 4]],
    );
  });
});

describe('layers', () => {
  const conv = (options, kernel = 3) => new nn.Conv2d(4, 4, kernel, options);
  const net = new nn.Linear(2, 1, { bias: false });
  refused([
    [
      () => new nn.Conv2d(3, 4),
      'Conv2d',
      /kernelSize is undefined; it must be a whole number from 1, or a list of 2/,
    ],
    [() => conv({}, [3, 3, 3]), 'Conv2d', /kernelSize is \[3, 3, 3\]; .*a list of 2/],
    [() => conv({}, 0), 'Conv2d', /kernelSize is 0/],
    [() => conv({ paddng: 1 }), 'Conv2d', /'paddng'; allowed: bias, .*padding/],
    [() => conv({ biass: false }), 'Conv2d', /'biass'/],
    [() => conv({ bias: 0 }), 'Conv2d', /bias is 0; it must be true or false/],
    [() => conv(1), 'Conv2d', /options must be an object/],
    [() => conv({ stride: [1, 1, 1] }), 'Conv2d', /stride is \[1, 1, 1\]/],
    [() => conv({ stride: 0 }), 'Conv2d', /stride is 0/],
    [() => conv({ padding: [[1, 1]] }), 'Conv2d', /padding is \[\[1, 1\]\]/],
    [() => conv({ groups: 3 }), 'Conv2d', /groups is 3; it must divide inChannels, which is 4/],
    [() => conv({ dtype: 'int32' }), 'Conv2d', /dtype is 'int32'; it must be float32 or float64/],
    [() => conv({ generator: 3 }), 'Conv2d', /generator is 3; it must be a Generator/],
    [() => new nn.Conv1d('4', 4, 3), 'Conv1d', /inChannels is '4'/],
    [() => new nn.Conv3d(4, 4, [3, 3]), 'Conv3d', /a list of 3/],
    [() => new nn.ConvTranspose2d(4, 4, 3, { output_padding: 1 }), 'ConvTranspose2d', /outputPadding/],
    [
      () =>
        new nn.DeformConv2d(4, 4, 3, {
          padding: [
            [1, 1],
            [1, 1],
          ],
        }),
      'DeformConv2d',
      /padding/,
    ],
    [() => new nn.DeformConv2dPack(4, 4, 3, { offset_groups: 1 }), 'DeformConv2dPack', /offsetGroups/],
    [() => new nn.Linear(4), 'Linear', /outFeatures is undefined; it must be a whole number from 1/],
    [() => new nn.Linear(4, 4, false), 'Linear', /options must be an object/],
    [() => new nn.MaxPool2d([2, 2, 2]), 'MaxPool2d', /kernelSize/],
    [() => new nn.MaxPool2d(2, { strid: 1 }), 'MaxPool2d', /'strid'/],
    [() => new nn.AvgPool2d(2, { ceilMode: 1 }), 'AvgPool2d', /ceilMode/],
    [() => new nn.Interpolate({ scale: 2 }), 'Interpolate', /'scale'; allowed: size, scaleFactor/],
    [() => new nn.Interpolate({ size: 2, mode: 'area' }), 'Interpolate', /mode is 'area'; .*'nearest'/],
    [() => new nn.Flatten(1, 4).call(og.ones([2, 2])), 'Flatten', /dimensions 1 to 4 .*\[2, 2\]/],
    [() => new nn.Dropout(1.5), 'Dropout', /p is 1.5; it must be a number from 0 to 1/],
    [() => new nn.Dropout(0.5, { seed: 1 }), 'Dropout', /'seed'; allowed: generator/],
    [() => new nn.Sequential(net, (x) => x), 'Sequential', /module 1 is a function; it must be a Module/],
    [() => nn.parameter([1]), 'parameter', /tensor is \[1\]; it must be a Tensor/],
    [() => net.loadStateDict(null), 'loadStateDict', /got null|is null/],
    [() => net.loadStateDict(new Float32Array(2)), 'loadStateDict', /record of tensors/],
    [
      () => net.loadStateDict({ weight: new Float32Array(2) }),
      'loadStateDict',
      /'weight' is .*must be a Tensor/,
    ],
    [() => net.loadStateDict({}, { Strict: false }), 'loadStateDict', /'Strict'; allowed: strict/],
  ]);

  test('all dropped is zeros', () => {
    assert.deepEqual(new nn.Dropout(1).call(og.ones([3])).tolist(), [0, 0, 0]);
  });
});

describe('initial values', () => {
  const w = og.ones([2, 2]);
  refused([
    [() => nn.init.uniform_([1]), 'uniform_', /tensor is \[1\]; it must be a Tensor/],
    [() => nn.init.normal_(w, 0, 1, { generator: 3 }), 'normal_', /generator is 3/],
    [() => nn.init.xavierUniform_(w, { gian: 1 }), 'xavierUniform_', /'gian'; allowed: generator, gain/],
    [() => nn.init.orthogonal_(w, 2), 'orthogonal_', /options must be an object/],
    [() => nn.init.kaimingUniform_(w, { mode: 'fan_in' }), 'kaimingUniform_', /mode is 'fan_in'; .*'fanIn'/],
    [() => nn.init.kaimingNormal_(w, { nonlinearity: 'gelu' }), 'kaimingNormal_', /'leakyRelu'/],
    [() => nn.init.calculateGain('Relu'), 'calculateGain', /'relu'/],
    [() => nn.init.constant_(3, 1), 'constant_', /must be a Tensor/],
    [() => nn.init.eye_(3), 'eye_', /must be a Tensor/],
  ]);
});

describe('streams', () => {
  const x = og.ones([2]);
  refused([
    [() => og.dropout(x, 0.5, { generator: 42 }), 'dropout', /generator is 42; it must be a Generator/],
    [() => og.dropout(x, 0.5, { train: true }), 'dropout', /'train'/],
    [() => og.dropout(x, 0.5, null), 'dropout', /options must be an object/],
    [() => og.bernoulli(x, { generator: {} }), 'bernoulli', /must be a Generator/],
    [() => new og.Generator(1).setState({ seed: 1 }), 'setState', /offset is undefined/],
    [() => new og.Generator(1).setState(null), 'setState', /options must be an object/],
    [() => new og.Generator('1'), 'manualSeed', /seed is '1'/],
  ]);
});

describe('data', () => {
  const numbers = { length: 2, batch: (indices) => og.tensor([...indices]) };
  const images = { shape: [2, 1, 1], values: new Uint8Array(2) };
  const set = new MnistDataset(images, { shape: [2], values: new Uint8Array(2) });
  refused([
    [
      () => new DataLoader(),
      'DataLoader',
      /data set is undefined; it must have length and get\(index\) or batch/,
    ],
    [() => new DataLoader(12), 'DataLoader', /data set is 12; it must have length/],
    [
      () => new DataLoader(numbers, { prefetch: 1e9 }),
      'DataLoader',
      /prefetch is 1000000000; .* from 0 to 1000/,
    ],
    [() => new DataLoader(numbers, { batch_size: 2 }), 'DataLoader', /'batch_size'; allowed: batchSize/],
    [
      () => new DataLoader(numbers, { batchSize: 0 }),
      'DataLoader',
      /batchSize is 0; it must be a whole number from 1/,
    ],
    [() => new DataLoader(numbers, { shuffle: 'yes' }), 'DataLoader', /shuffle is 'yes'/],
    [() => new DataLoader(numbers, 64), 'DataLoader', /options must be an object/],
    [() => mnist('trian'), 'mnist', /split is 'trian'; it must be one of 'train', 'test'/],
    [() => mnist('train', { path: '/' }), 'mnist', /'path'; allowed: source/],
    [() => mnist('train', { source: 3 }), 'mnist', /source is 3/],
    [() => set.batch([2]), 'MnistDataset', /no sample 2; they are 0 to 1/],
    [() => set.batch([-1]), 'MnistDataset', /no sample -1/],
    [() => set.batch(0), 'MnistDataset', /list of numbers/],
  ]);
});

describe('making tensors', () => {
  refused([
    [() => og.tensor([1.5], { dtype: 'int64' }), 'tensor', /1.5 is no whole number; .*int64/],
    [() => og.tensor([1.5], { dtype: 'int32' }), 'tensor', /1.5 is no whole number/],
    [() => og.tensor([2n ** 70n]), 'tensor', /1180591620717411303424n does not fit int64/],
    [() => og.tensor([3e9], { dtype: 'int32' }), 'tensor', /3000000000 does not fit int32, .* 2147483647/],
    [() => og.tensor([NaN], { dtype: 'int32' }), 'tensor', /NaN is no whole number/],
    [() => og.tensor([256], { dtype: 'uint8' }), 'tensor', /256 does not fit uint8, which is 0 to 255/],
    [() => og.tensor(new Float32Array([1e20]), { dtype: 'int64' }), 'tensor', /does not fit int64/],
    [() => og.tensor(new Int8Array(2)), 'tensor', /no dtype/],
    [() => og.tensor(new DataView(new ArrayBuffer(2))), 'tensor', /DataView/],
    [() => og.tensor([1], { dtype: 'float128' }), 'tensor', /dtype is 'float128'; it must be one of float32/],
    [() => og.tensor([1], { shape: 1 }), 'tensor', /shape is 1; it must be a list/],
    [() => og.tensor([1], { requiresGrad: 1 }), 'tensor', /requiresGrad is 1/],
    [() => og.tensor([1], { require_grad: true }), 'tensor', /'require_grad'/],
    [() => og.tensor(['1']), 'tensor', /got '1'/],
    [() => og.tensor([og.ones([])]), 'tensor', /got an object of Tensor/],
    [() => og.tensor(), 'tensor', /got undefined/],
    [() => og.zeros([2n]), 'zeros', /shape is \[2n\]/],
    [() => og.zeros(2, 3), 'zeros', /shape is 2; .*e.g. \[2, 3\]/],
    [() => og.ones([2, -1]), 'ones', /shape is \[2, -1\]/],
    [() => og.ones([2], 'float64'), 'ones', /options must be an object/],
    [() => og.zerosLike([2]), 'zerosLike', /x is \[2\]; it must be a Tensor/],
    [() => og.full([2]), 'full', /value is undefined; it must be a number/],
    [() => og.full([2], 300, { dtype: 'uint8' }), 'full', /300 does not fit uint8/],
    [() => og.arange(), 'arange', /stop is undefined/],
    [() => og.arange(0, '3'), 'arange', /options must be an object/],
    [() => og.arange(0, 1e15), 'arange', /memory/],
    [() => og.linspace(0, 1, 2 ** 32), 'linspace', /memory/],
    [() => og.linspace(0, NaN, 2), 'linspace', /stop is NaN/],
    [() => og.linspace(0, 1), 'linspace', /steps is undefined/],
    [() => og.eye(1e8), 'full', /memory/],
    [() => og.eye(-1), 'eye', /n is -1/],
    [() => og.eye(2, '3'), 'eye', /m is '3'/],
  ]);
});

describe('arguments one by one', () => {
  const x = og.ones([2, 3]);
  refused([
    [() => x.permute(1, 0), 'permute', /permute\(\[1, 0\]\)/],
    [() => x.reshape(3, 2), 'reshape', /reshape\(\[3, 2\]\)/],
    [() => og.permute(x, 1, 0), 'permute', /permute\(x, \[1, 0\]\)/],
    [() => og.reshape(x, 3, 2), 'reshape', /reshape\(x, \[3, 2\]\)/],
    [() => og.tile(x, 2, 2), 'tile', /takes at most 2 arguments; got 3/],
    [() => x.sum(0, 1), 'sum', /options must be an object.*a list such as/],
    [() => x.relu(x), 'relu', /takes at most 0 arguments; got 1/],
    [() => x.at(1n), 'at', /1n is no index/],
    [() => x.reshape([2n, 3n]), 'reshape', /\[2n, 3n\]/],
  ]);
});

describe('init', () => {
  refused([
    [() => og.init(null), 'init', /options must be an object.*got null/],
    [() => og.init('single'), 'init', /options must be an object/],
  ]);
});

describe('random tensors', () => {
  refused([
    [() => og.randn([2], { generator: 42 }), 'normal', /generator is 42; it must be a Generator/],
    [() => og.randint(0, 2, [2], { generator: {} }), 'randint', /must be a Generator/],
    [() => og.randperm(4, { generator: 42 }), 'randperm', /must be a Generator/],
    [() => og.randperm(1.5), 'randperm', /n is 1.5; it must be a whole number/],
    [() => og.randn(2, 3), 'normal', /shape is 2; it must be a list.*\[2, 3\]/],
    [() => og.rand([2n]), 'uniform', /shape is \[2n\]/],
    [() => og.randint(0, 2, [2], { dtype: 'float16' }), 'randint', /float16.*int64/],
    [() => og.randint(0, 2, [2], { dtype: 'bool' }), 'randint', /bool.*int64/],
    [() => og.randn([2], { dtype: 'bfloat16' }), 'normal', /bfloat16.*float32 or float64/],
    [() => og.rand([2], { dtype: 'int64' }), 'uniform', /int64.*float32 or float64/],
  ]);
});

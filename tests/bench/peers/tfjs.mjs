// tfjs on its wasm backend, in its own layout (channels last). Kernels that it lacks throw, and are reported so.
import * as tf from '@tensorflow/tfjs-core';
import { getThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { answer, permuted } from '../answer.mjs';

const last = [0, 2, 3, 1];
const first = [0, 3, 1, 2];

/** An image or a cotangent of one, channels last. */
function nhwc(values, shape) {
  return tf.tensor(
    permuted(values, shape, last),
    last.map((axis) => shape[axis]),
  );
}

const plain = (y) => [y.dataSync()];
const image = (y) => [permuted(y.dataSync(), y.shape, first)];

/** A job of a function whose tensors are freed at once; `held` lives as long as the job. */
function work(fn, held, read) {
  return {
    run: () => {
      tf.tidy(() => {
        fn();
      });
    },
    results: () => tf.tidy(() => read(fn())),
    close: () => tf.dispose(held),
  };
}

/** A kernel of the backend that has no public function of its own. */
const kernel = (name, inputs, attributes) => tf.engine().runKernel(name, inputs, attributes);

function onlyPasses(spec, ...known) {
  if (!known.includes(spec.pass)) throw new Error(`has no ${spec.pass} of ${spec.kind}`);
}

const kinds = {
  matmul({ inputs: { a, b } }, values) {
    const [x, y] = [tf.tensor(values.a, a.shape), tf.tensor(values.b, b.shape)];
    return work(() => tf.matMul(x, y), [x, y], plain);
  },
  conv(spec, values) {
    onlyPasses(spec, 'forward', 'inputGrad');
    const { stride, dilation, groups, pass } = spec;
    const { x, weight, g } = spec.inputs;
    if (x.shape.length !== 4) throw new Error('not used for this rank');
    const [out, inside, kh, kw] = weight.shape;
    const order = [2, 3, 1, 0];
    const filter = tf.tensor(permuted(values.weight, weight.shape, order), [kh, kw, inside, out]);
    if (groups === out && inside === 1) {
      onlyPasses(spec, 'forward');
      const images = nhwc(values.x, x.shape);
      const depth = tf.reshape(filter, [kh, kw, out, 1]);
      return work(
        () => tf.depthwiseConv2d(images, depth, stride, 'same', 'NHWC', dilation),
        [images, filter, depth],
        image,
      );
    }
    if (pass === 'forward') {
      const images = nhwc(values.x, x.shape);
      // tfjs's 'same' puts the odd row of padding at the end where it strides; ours is the same on both sides.
      const padding = stride === 1 ? 'same' : spec.padding;
      return work(
        () => tf.conv2d(images, filter, stride, padding, 'NHWC', dilation),
        [images, filter],
        image,
      );
    }
    const dy = nhwc(values.g, g.shape);
    const attributes = { strides: [1, 1], pad: 'same', dataFormat: 'NHWC', dimRoundingMode: null };
    const inputShape = last.map((axis) => x.shape[axis]);
    return work(
      () => kernel('Conv2DBackpropInput', { dy, filter }, { ...attributes, inputShape }),
      [dy, filter],
      image,
    );
  },
  maxPool: (spec, values) => pooling(spec, values, tf.maxPool, 'MaxPoolGrad'),
  avgPool: (spec, values) => pooling(spec, values, tf.avgPool, 'AvgPoolGrad'),
  interpolate(spec, values) {
    onlyPasses(spec, 'forward');
    if (spec.mode !== 'bilinear') throw new Error(`has no ${spec.mode}`);
    const { x, g } = spec.inputs;
    const images = nhwc(values.x, x.shape);
    return work(() => tf.image.resizeBilinear(images, g.shape.slice(2), false, true), [images], image);
  },
  softmax(spec, values) {
    onlyPasses(spec, 'forward');
    const x = tf.tensor(values.x, spec.inputs.x.shape);
    return work(() => tf.softmax(x), [x], plain);
  },
  /** tfjs composes it. */
  layerNorm(spec, values) {
    onlyPasses(spec, 'forward');
    const [x, weight, bias] = ['x', 'weight', 'bias'].map((name) =>
      tf.tensor(values[name], spec.inputs[name].shape),
    );
    const composed = () => {
      const { mean, variance } = tf.moments(x, -1, true);
      return tf.add(tf.mul(tf.div(tf.sub(x, mean), tf.sqrt(tf.add(variance, 1e-5))), weight), bias);
    };
    return work(composed, [x, weight, bias], plain);
  },
};

function pooling(spec, values, forward, gradient) {
  onlyPasses(spec, 'forward', 'gradient');
  const { x, g } = spec.inputs;
  const images = nhwc(values.x, x.shape);
  if (spec.pass === 'forward') return work(() => forward(images, 2, 2, 'valid'), [images], image);
  const dy = nhwc(values.g, g.shape);
  const output = forward(images, 2, 2, 'valid');
  const attributes = { filterSize: [2, 2], strides: [2, 2], pad: 'valid', dimRoundingMode: null };
  const inputs = gradient === 'MaxPoolGrad' ? { dy, input: images, output } : { dy, input: images };
  return work(() => kernel(gradient, inputs, attributes), [images, dy, output], image);
}

answer({
  async start({ threads, files }) {
    setWasmPaths(files);
    // In a page it takes half of the cores and ignores setThreadsCount; in Node it never has threads.
    if (typeof Worker === 'function')
      Object.defineProperty(navigator, 'hardwareConcurrency', { value: 2 * threads, configurable: true });
    await tf.setBackend('wasm');
    const have = Math.max(1, getThreadsCount());
    if (have !== threads) throw new Error(`takes ${have} thread here, not ${threads}`);
    return `${tf.version_core}, wasm, ${have} thread${have > 1 ? 's' : ''}`;
  },
  kinds,
});

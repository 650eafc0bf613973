// onnxruntime-web on its wasm provider: inference only, so forward work, and the input gradient of a convolution as the
// transposed convolution that it is. Each work is a model of one node, written here in ONNX's protobuf.
import * as ort from 'onnxruntime-web';
import { answer } from '../answer.mjs';

// Protobuf: a varint, then fields by number: 0 is a varint, 2 a length and bytes.
function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ;) {
    const low = Number(rest & 127n);
    rest >>= 7n;
    if (rest === 0n) return [...bytes, low];
    bytes.push(low | 128);
  }
}
const number = (field, value) => [...varint(field << 3), ...varint(value)];
const bytes = (field, content) => [...varint((field << 3) | 2), ...varint(content.length), ...content];
const text = (field, value) => bytes(field, [...new TextEncoder().encode(value)]);

// onnx.proto: ValueInfoProto of float32, AttributeProto of ints (type 7) and int (2), NodeProto, GraphProto, ModelProto.
const dimension = (size) => bytes(1, number(1, size));
const valueInfo = (name, shape) => [
  ...text(1, name),
  ...bytes(2, bytes(1, [...number(1, 1), ...bytes(2, shape.flatMap(dimension))])),
];
const ints = (name, values) =>
  bytes(5, [...text(1, name), ...values.flatMap((value) => number(8, value)), ...number(20, 7)]);
const int = (name, value) => bytes(5, [...text(1, name), ...number(3, value), ...number(20, 2)]);

function model(op, inputs, outputShape, attributes) {
  const names = Object.keys(inputs);
  const node = [...names.flatMap((name) => text(1, name)), ...text(2, 'y'), ...text(4, op), ...attributes];
  const graph = [
    ...bytes(1, node),
    ...text(2, 'g'),
    ...names.flatMap((name) => bytes(11, valueInfo(name, inputs[name]))),
    ...bytes(12, valueInfo('y', outputShape)),
  ];
  const opset = [...text(1, ''), ...number(2, 17)];
  return Uint8Array.from([...number(1, 8), ...bytes(7, graph), ...bytes(8, opset)]);
}

async function node(op, spec, values, names, outputShape, attributes = []) {
  const shapes = Object.fromEntries(names.map((name) => [name, spec.inputs[name].shape]));
  const session = await ort.InferenceSession.create(model(op, shapes, outputShape, attributes), {
    executionProviders: ['wasm'],
  });
  const feeds = Object.fromEntries(
    names.map((name) => [name, new ort.Tensor('float32', values[name], shapes[name])]),
  );
  return {
    run: () => session.run(feeds),
    results: async () => [(await session.run(feeds)).y.data],
    close: () => session.release(),
  };
}

function onlyForward(spec) {
  if (spec.pass !== 'forward') throw new Error(`has no ${spec.pass}`);
}

const kinds = {
  matmul: (spec, values) => node('MatMul', spec, values, ['a', 'b'], spec.inputs.a.shape),
  conv(spec, values) {
    const { stride, dilation, groups, padding, pass, inputs } = spec;
    const rank = inputs.x.shape.length - 2;
    const attributes = [
      ...ints('pads', Array(2 * rank).fill(padding)),
      ...ints('strides', Array(rank).fill(stride)),
      ...ints('dilations', Array(rank).fill(dilation)),
      ...int('group', groups),
    ];
    if (pass === 'inputGrad')
      return node('ConvTranspose', spec, values, ['g', 'weight'], inputs.x.shape, attributes);
    onlyForward(spec);
    return node('Conv', spec, values, ['x', 'weight'], inputs.g.shape, attributes);
  },
  maxPool(spec, values) {
    onlyForward(spec);
    const attributes = [...ints('kernel_shape', [2, 2]), ...ints('strides', [2, 2])];
    return node('MaxPool', spec, values, ['x'], spec.inputs.g.shape, attributes);
  },
  softmax(spec, values) {
    onlyForward(spec);
    return node('Softmax', spec, values, ['x'], spec.inputs.x.shape);
  },
};

answer({
  async start({ threads, files }) {
    ort.env.wasm.numThreads = threads;
    if (files) ort.env.wasm.wasmPaths = files;
    ort.env.logLevel = 'error';
    return `${ort.env.versions.web}, wasm, ${threads} thread${threads > 1 ? 's' : ''}`;
  },
  kinds,
});

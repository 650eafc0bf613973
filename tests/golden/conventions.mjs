// Where omnigrad's names or conventions are not those of the golden data, whose ops, inputs and options are PyTorch's in
// snake_case. Everything else is told by the schema (lib/plan.mjs). A new op comes here only if it deviates.

/** [1, 2, 3, 4], PyTorch's pairs from the last axis backwards, as [[3, 4], [1, 2]]. */
function pairsFromLast(flat) {
  const pairs = [];
  for (let i = flat.length - 2; i >= 0; i -= 2) pairs.push([flat[i], flat[i + 1]]);
  return pairs;
}

/**
 * By golden op:
 * - `op`: the function's name;
 * - `inputs`: golden input -> input of the op, where neither the name nor the order tells;
 * - `prepare`: golden input -> { op, options }, applied to it before the call;
 * - `args`: golden option -> undefined (leave out), { option, convert } or { input } (a number in an input's place).
 */
export const deviations = {
  ctc_loss: {
    inputs: { logits: 'logProbs' },
    prepare: { logits: { op: 'logSoftmax', options: { dim: -1 } } },
    args: { from_logits: undefined },
  },
  pad: { args: { padding: { option: 'padding', convert: pairsFromLast } } },
  rnn_tanh: { op: 'rnn' },
  pow: { args: { exponent: { input: 'y' } } },
};

/**
 * By optimizer, the core's fused step: what the native program calls, since the classes are JavaScript. `states` are
 * inputs that start as zeros, as the options need them.
 */
export const fusedSteps = {
  SGD: { op: 'sgdStep', states: ({ momentum = 0 }) => (momentum === 0 ? [] : ['velocities']) },
  Adam: { op: 'adamStep', states: adamStates },
  AdamW: { op: 'adamStep', states: adamStates, options: { decoupled: true, weightDecay: 0.01 } },
  Adagrad: adaptive('adagrad', ['first'], { eps: 1e-10 }),
  Adadelta: adaptive('adadelta', ['first', 'second'], { beta1: 0.9, eps: 1e-6 }),
  Adamax: adaptive('adamax', ['first', 'second']),
  NAdam: adaptive('nadam', ['first', 'second']),
  RAdam: adaptive('radam', ['first', 'second']),
  RMSprop: {
    op: 'adaptiveStep',
    states: ({ centered = false, momentum = 0 }) => [
      'first',
      ...(centered ? ['second'] : []),
      ...(momentum === 0 ? [] : ['third']),
    ],
    options: { rule: 'rmsprop', beta1: 0.99 },
  },
  Muon: { op: 'muonStep', states: () => ['velocities'] },
};

function adaptive(rule, states, options = {}) {
  return { op: 'adaptiveStep', states: () => states, options: { rule, ...options } };
}

function adamStates({ amsgrad = false }) {
  return ['means', 'squares', ...(amsgrad ? ['maxSquares'] : [])];
}

/**
 * Where the reference itself is not good to 1e-9 in float64: PyTorch computes Muon's update in bfloat16, and the gradient
 * of hardsigmoid with 1/6 rounded to float32.
 */
export const float64Tolerance = { 'optim.Muon': 0.02, hardsigmoid: 1e-7 };

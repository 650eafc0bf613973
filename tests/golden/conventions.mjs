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

/** The ops of the first part of the work: `run.mjs --part1` runs these only. */
export const part1 = new Set(
  `abs neg exp log sqrt square reciprocal sin cos tanh sigmoid relu
   add sub mul div maximum minimum pow where
   sum mean amax amin softmax log_softmax
   gather scatter_add index_select index_add cat stack pad slice flip permute
   matmul linear bilinear einsum inverse det solve cholesky
   conv conv_transpose deform_conv
   interpolate avg_pool max_pool adaptive_avg_pool adaptive_max_pool
   ctc_loss rnn_tanh lstm gru
   layer_norm rms_norm group_norm instance_norm batch_norm local_response_norm scaled_dot_product_attention
   cross_entropy mse_loss optim.SGD optim.Adam optim.AdamW
   grid_sample lp_pool optim.Adagrad optim.Adadelta optim.Adamax optim.NAdam optim.RAdam optim.RMSprop optim.Muon
   lr.StepLR lr.MultiStepLR lr.ExponentialLR lr.CosineAnnealingLR lr.CosineAnnealingWarmRestarts lr.LinearLR
   lr.OneCycleLR lr.CyclicLR lr.PolynomialLR`.split(/\s+/),
);

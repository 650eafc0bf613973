// Nonlinearities that learn, draw, or look along an axis.

import { full } from '../create.js';
import { failure } from '../errors.js';
import { glu, logSoftmax, prelu, silu, softmax, softmin } from '../ops.generated.js';
import { checkOptions, checkValue, finite, integer, whole } from '../options.js';
import type { Generator } from '../random.js';
import { rrelu } from '../stochastic.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, floatRules, generatorRules, layerRules, shapeOf } from './checks.js';
import type { LayerOptions } from './init.js';
import { Layer } from './layer.js';
import { Linear } from './linear.js';
import { Module, parameter } from './module.js';

/** x above 0, weight x below, with one weight or one for each channel; starts at `init`, 0.25 by default. */
export class PReLU extends Module {
  /** [numParameters] */
  readonly weight: Tensor;
  constructor(
    numParameters = 1,
    options: { readonly init?: number; readonly dtype?: 'float32' | 'float64' } = {},
  ) {
    super();
    checkSizes('PReLU', { numParameters }, whole(1));
    checkOptions('PReLU', options, { init: finite, ...floatRules });
    const { init = 0.25, dtype = 'float32' } = options;
    this.weight = parameter(full([numParameters], init, { dtype }));
  }
  /** [N, C, *S] or any shape to the same shape */
  forward(x: Tensor): Tensor {
    return prelu(x, this.weight);
  }
}

/** x above 0, a x below: in training a is drawn for each element between lower (1/8) and upper (1/3), else their mean. */
export class RReLU extends Module {
  readonly #options: {
    readonly lower: number;
    readonly upper: number;
    readonly generator: Generator | undefined;
  };
  constructor(
    options: { readonly lower?: number; readonly upper?: number; readonly generator?: Generator } = {},
  ) {
    super();
    checkOptions('RReLU', options, { lower: finite, upper: finite, ...generatorRules });
    const { lower = 1 / 8, upper = 1 / 3, generator } = options;
    checkValue('RReLU', 'lower', lower, { text: `at most upper, ${upper}`, test: () => lower <= upper });
    this.#options = { lower, upper, generator };
  }
  forward(x: Tensor): Tensor {
    return rrelu(x, { ...this.#options, training: this.training });
  }
}

abstract class AlongAxis extends Module {
  protected readonly dim: number;
  protected constructor(name: string, dim: number) {
    super();
    checkSizes(name, { dim }, integer);
    this.dim = dim;
  }
}

/** exp(x) / sum(exp(x)) along an axis, the last by default. */
export class Softmax extends AlongAxis {
  constructor(dim = -1) {
    super('Softmax', dim);
  }
  forward(x: Tensor): Tensor {
    return softmax(x, this.dim);
  }
}

/** Softmax of -x along an axis, the last by default. */
export class Softmin extends AlongAxis {
  constructor(dim = -1) {
    super('Softmin', dim);
  }
  forward(x: Tensor): Tensor {
    return softmin(x, this.dim);
  }
}

/** log(softmax(x)) along an axis, the last by default. */
export class LogSoftmax extends AlongAxis {
  constructor(dim = -1) {
    super('LogSoftmax', dim);
  }
  forward(x: Tensor): Tensor {
    return logSoftmax(x, this.dim);
  }
}

/** Softmax over the channels of [N, C, H, W] or [C, H, W]. */
export class Softmax2d extends Module {
  forward(x: Tensor): Tensor {
    checkInput('Softmax2d', x);
    if (x.ndim !== 3 && x.ndim !== 4)
      throw failure('Softmax2d', 'shape', `the input is ${shapeOf(x)}; it must be [N, C, H, W] or [C, H, W]`);
    return softmax(x, -3);
  }
}

/** The first half of an axis, the last by default, times the sigmoid of the second. */
export class GLU extends AlongAxis {
  constructor(dim = -1) {
    super('GLU', dim);
  }
  forward(x: Tensor): Tensor {
    return glu(x, this.dim);
  }
}

/** silu(W x) * (V x) (Shazeer 2020); without biases by default. */
export class SwiGLU extends Layer {
  readonly linearInner: Linear;
  readonly linearOuter: Linear;
  constructor(inFeatures: number, outFeatures: number, options: LayerOptions = {}) {
    super();
    checkSizes('SwiGLU', { inFeatures, outFeatures }, whole(1));
    checkOptions('SwiGLU', options, layerRules);
    const { bias = false, ...rest } = options;
    this.linearInner = new Linear(inFeatures, outFeatures, { bias, ...rest });
    this.linearOuter = new Linear(inFeatures, outFeatures, { bias, ...rest });
  }
  /** [*, inFeatures] to [*, outFeatures] */
  forward(x: Tensor): Tensor {
    return silu(this.linearInner.call(x)).mul(this.linearOuter.call(x));
  }
}

// Elementwise nonlinearities as layers; x of any shape gives the same shape.

import {
  celu,
  elu,
  gelu,
  hardshrink,
  hardsigmoid,
  hardswish,
  hardtanh,
  leakyRelu,
  logSigmoid,
  mish,
  relu,
  relu6,
  selu,
  sigmoid,
  silu,
  softplus,
  softshrink,
  softsign,
  tanh,
  tanhshrink,
  threshold,
} from '../ops.generated.js';
import type {
  CeluOptions,
  EluOptions,
  GeluOptions,
  HardshrinkOptions,
  HardtanhOptions,
  LeakyReluOptions,
  SoftplusOptions,
  SoftshrinkOptions,
} from '../ops.generated.js';
import { checkOptions, finite, notNegative, oneOf, positive } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkSizes } from './checks.js';
import { Module } from './module.js';

/** max(x, 0) */
export class ReLU extends Module {
  forward(x: Tensor): Tensor {
    return relu(x);
  }
}

/** min(max(x, 0), 6) */
export class ReLU6 extends Module {
  forward(x: Tensor): Tensor {
    return relu6(x);
  }
}

/** x above 0, negativeSlope (default 0.01) x below. */
export class LeakyReLU extends Module {
  readonly #options: LeakyReluOptions;
  constructor(options: LeakyReluOptions = {}) {
    super();
    checkOptions('LeakyReLU', options, { negativeSlope: finite });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return leakyRelu(x, this.#options);
  }
}

/** x above 0, alpha (exp(x) - 1) below; alpha is 1 by default. */
export class ELU extends Module {
  readonly #options: EluOptions;
  constructor(options: EluOptions = {}) {
    super();
    checkOptions('ELU', options, { alpha: finite });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return elu(x, this.#options);
  }
}

/** x above 0, alpha (exp(x / alpha) - 1) below; alpha is 1 by default. */
export class CELU extends Module {
  readonly #options: CeluOptions;
  constructor(options: CeluOptions = {}) {
    super();
    checkOptions('CELU', options, { alpha: finite });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return celu(x, this.#options);
  }
}

/** A scaled ELU that keeps mean 0 and variance 1 (Klambauer et al. 2017). */
export class SELU extends Module {
  forward(x: Tensor): Tensor {
    return selu(x);
  }
}

/** x times the normal distribution's share below x; `approximate: 'tanh'` for the approximation. */
export class GELU extends Module {
  readonly #options: GeluOptions;
  constructor(options: GeluOptions = {}) {
    super();
    checkOptions('GELU', options, { approximate: oneOf('none', 'tanh') });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return gelu(x, this.#options);
  }
}

/** x sigmoid(x) */
export class SiLU extends Module {
  forward(x: Tensor): Tensor {
    return silu(x);
  }
}

/** x tanh(softplus(x)) */
export class Mish extends Module {
  forward(x: Tensor): Tensor {
    return mish(x);
  }
}

/** log(1 + exp(beta x)) / beta; beta is 1 by default. */
export class Softplus extends Module {
  readonly #options: SoftplusOptions;
  constructor(options: SoftplusOptions = {}) {
    super();
    checkOptions('Softplus', options, { beta: positive });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return softplus(x, this.#options);
  }
}

/** x / (1 + |x|) */
export class Softsign extends Module {
  forward(x: Tensor): Tensor {
    return softsign(x);
  }
}

/** 1 / (1 + exp(-x)) */
export class Sigmoid extends Module {
  forward(x: Tensor): Tensor {
    return sigmoid(x);
  }
}

/** log(sigmoid(x)), without overflow. */
export class LogSigmoid extends Module {
  forward(x: Tensor): Tensor {
    return logSigmoid(x);
  }
}

/** Hyperbolic tangent. */
export class Tanh extends Module {
  forward(x: Tensor): Tensor {
    return tanh(x);
  }
}

/** x - tanh(x) */
export class Tanhshrink extends Module {
  forward(x: Tensor): Tensor {
    return tanhshrink(x);
  }
}

/** min(max(x + 3, 0), 6) / 6 */
export class Hardsigmoid extends Module {
  forward(x: Tensor): Tensor {
    return hardsigmoid(x);
  }
}

/** x hardsigmoid(x) */
export class Hardswish extends Module {
  forward(x: Tensor): Tensor {
    return hardswish(x);
  }
}

/** x held between min (default -1) and max (default 1). */
export class Hardtanh extends Module {
  readonly #options: HardtanhOptions;
  constructor(options: HardtanhOptions = {}) {
    super();
    checkOptions('Hardtanh', options, { min: finite, max: finite });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return hardtanh(x, this.#options);
  }
}

/** x where |x| > lambda (default 0.5), else 0. */
export class Hardshrink extends Module {
  readonly #options: HardshrinkOptions;
  constructor(options: HardshrinkOptions = {}) {
    super();
    checkOptions('Hardshrink', options, { lambda: notNegative });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return hardshrink(x, this.#options);
  }
}

/** x drawn towards 0 by lambda (default 0.5), 0 where |x| <= lambda. */
export class Softshrink extends Module {
  readonly #options: SoftshrinkOptions;
  constructor(options: SoftshrinkOptions = {}) {
    super();
    checkOptions('Softshrink', options, { lambda: notNegative });
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return softshrink(x, this.#options);
  }
}

/** x where it is above a bound, else `value`. */
export class Threshold extends Module {
  readonly #bound: number;
  readonly #value: number;
  constructor(bound: number, value: number) {
    super();
    checkSizes('Threshold', { threshold: bound, value }, finite);
    this.#bound = bound;
    this.#value = value;
  }
  forward(x: Tensor): Tensor {
    return threshold(x, this.#bound, this.#value);
  }
}

// All of the main entry but `init`, which tells which builds come along. Layers, optimizers and data are entries of
// their own.

export type { Assets, AssetUrls, Variant } from './assets.js';
export {
  type BackwardOptions,
  type GradOptions,
  backward,
  enableGrad,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  noGrad,
  valueAndGrad,
  vjp,
} from './autograd.js';
export { checkpoint, detectAnomaly } from './checkpoint.js';
export {
  allclose,
  baddbmm,
  bincount,
  type CloseOptions,
  countNonzero,
  diag,
  diagEmbed,
  diff,
  gumbelSoftmax,
  indexFill,
  isclose,
  kron,
  logaddexp,
  logdet,
  nanToNum,
  quantile,
  repeatInterleave,
  searchsorted,
  take,
  trace,
  unique,
} from './composite.js';
export {
  type CreateOptions,
  type TensorData,
  arange,
  eye,
  full,
  linspace,
  ones,
  onesLike,
  tensor,
  zeros,
  zerosLike,
} from './create.js';
export { type CustomGradContext, customGrad } from './custom_grad.js';
export type { ComputeDType, DType, TypedArray } from './dtype.js';
export { type ErrorDetails, OmnigradError } from './errors.js';
export type { Index } from './indexing.js';
export { type InitOptions, type InitResult, terminate } from './loader/instance.js';
export type { Reason, ReasonCode } from './loader/select.js';
export * from './ops.generated.js';
export {
  Generator,
  type RandomOptions,
  defaultGenerator,
  manualSeed,
  normal,
  rand,
  randint,
  randn,
  randperm,
  uniform,
} from './random.js';
export { math, schema } from './runtime.js';
export type { InputSchema, OpSchema, OptionSchema, OutputSchema, Schema } from './schema.js';
export { type MemoryInfo, type OpenScope, keep, memory, openScope, scope } from './scope.js';
export {
  type Stream,
  alphaDropout,
  bernoulli,
  dropout,
  exponential,
  featureAlphaDropout,
  featureDropout,
  gaussianNoise,
  multinomial,
  rrelu,
  scaledDotProductAttention,
  truncNormal,
} from './stochastic.js';
export { type Nested, Tensor } from './tensor.js';
export {
  chunk,
  flatten,
  movedim,
  narrow,
  select,
  split,
  squeeze,
  transpose,
  unbind,
  unflatten,
  unsqueeze,
} from './views.js';

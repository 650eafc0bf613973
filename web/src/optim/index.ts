// omnigrad/optim

export { Adam, AdamW, type AdamOptions } from './adam.js';
export {
  Adadelta,
  type AdadeltaOptions,
  Adagrad,
  type AdagradOptions,
  Adamax,
  type AdamaxOptions,
  Adan,
  type AdanOptions,
  Lion,
  type LionOptions,
  NAdam,
  type NAdamOptions,
  RAdam,
  type RAdamOptions,
  RMSprop,
  type RMSpropOptions,
} from './adaptive.js';
export { ASGD, type AsgdOptions } from './asgd.js';
export { clipGradNorm, clipGradValue } from './clip.js';
export { CyclicLR, type CyclicOptions, OneCycleLR, type OneCycleOptions } from './cycles.js';
export { EMA, type EmaOptions, type EmaState } from './ema.js';
export { type NameRule, groupsByName } from './groups.js';
export { LBFGS, type LbfgsOptions } from './lbfgs.js';
export type { LossResult, Minimized, MinimizeOptions } from './loss.js';
export { Muon, type MuonOptions } from './muon.js';
export { type GroupOptions, Optimizer, type ParamGroup, type Params } from './optimizer.js';
export { Rprop, type RpropOptions } from './rprop.js';
export type { OptimizerState, TorchOptimizerState } from './state.js';
export { type PlateauOptions, type PlateauState, ReduceLROnPlateau } from './plateau.js';
export { type AnyOptimizer, Schedule, type ScheduleState } from './schedule.js';
export {
  ChainedScheduler,
  ConstantLR,
  CosineAnnealingLR,
  CosineAnnealingWarmRestarts,
  ExponentialLR,
  LambdaLR,
  type LambdaOptions,
  LinearLR,
  MultiplicativeLR,
  MultiStepLR,
  NoamLR,
  PolynomialLR,
  SequentialLR,
  StepLR,
} from './schedules.js';
export { SGD, type SgdOptions } from './sgd.js';

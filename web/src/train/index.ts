// omnigrad/train

export { Checkpoint } from './checkpoint.js';
export { EarlyStopping, type EarlyStoppingOptions, type EarlyStoppingState } from './early_stop.js';
export { evaluate } from './evaluate.js';
export { type Callback, type FitOptions, fit, training } from './fit.js';
export { type OpCost, type Profile, type Profiling, profile, startProfile } from './profile.js';
export { type Terminal, progressBar, progressEvents } from './progress.js';
export type {
  Batches,
  CheckpointOptions,
  Ending,
  EpochEvent,
  Minimizer,
  Numbers,
  Place,
  SaveEvent,
  Stateful,
  StepEvent,
  Trainable,
  TrainingEvent,
  TrainingOptions,
  TrainingResult,
  Validation,
  Values,
} from './types.js';

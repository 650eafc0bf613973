// omnigrad/optim

export { Adam, AdamW, type AdamOptions } from './adam.js';
export { type Minimized, type MinimizeOptions, Optimizer, clipGradNorm } from './optimizer.js';
export { SGD, type SgdOptions } from './sgd.js';

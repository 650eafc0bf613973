// omnigrad/nn

export * from './conv.js';
export * from './deform.js';
export * as init from './initializers.js';
export type { LayerOptions, Sizes } from './init.js';
export * from './layers.js';
export * from './module.js';

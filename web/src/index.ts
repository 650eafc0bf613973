// omnigrad: tensors, ops, gradients.

export * from './core.js';
export { init } from './loader/init.js';

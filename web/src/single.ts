// omnigrad/single: the main entry without the threaded build, for pages that cannot be isolated and apps that want to
// ship one build. The tensors are the main entry's, so that omnigrad/nn and the others fit.

export * from './core.js';
export { init } from './loader/init_single.js';

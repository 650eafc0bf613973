// omnigrad/worker: training that does not block the page. `connect` is for the page, `serve` for the worker.

export { connect } from './connect.js';
export { serve } from './serve.js';
export type { ConnectOptions, Connection, Context, Handlers, Run, Served, WorkerLike } from './types.js';

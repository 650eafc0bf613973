// What a pool worker runs: Emscripten 3.1.6's worker.js, as part of the glue itself. merge_glue.mjs puts this text
// after the glue, inside the same module. In scope from there: `factory` (the glue), `isPthread`, `nodeBuiltin`.
// The messages are the glue's (PThread.loadWasmModuleToWorker, spawnThread); nothing of omnigrad belongs here.
function pthreadEntry() {
  const parentPort = nodeBuiltin?.('worker_threads').parentPort;
  if (parentPort) {
    // The glue posts and receives as in a web worker; these globals are this worker's own.
    globalThis.self = globalThis;
    globalThis.postMessage = (message, transfer) => parentPort.postMessage(message, transfer);
    parentPort.on('message', (data) => globalThis.onmessage({ data }));
  }

  let instance = {
    ENVIRONMENT_IS_PTHREAD: true,
    instantiateWasm(imports, receive) {
      const wasm = new WebAssembly.Instance(instance.wasmModule, imports);
      receive(wasm);
      instance.wasmModule = null;
      return wasm.exports;
    },
  };

  const run = (data) => {
    instance.__performance_now_clock_drift = performance.now() - data.time;
    instance.__emscripten_thread_init(data.threadInfoStruct, 0, 0, 1);
    instance.establishStackSpace();
    instance.PThread.receiveObjectTransfer(data);
    instance.PThread.threadInit();
    try {
      const result = instance.invokeEntryPoint(data.start_routine, data.arg);
      if (instance.keepRuntimeAlive()) instance.PThread.setExitStatus(result);
      else instance.__emscripten_thread_exit(result);
    } catch (error) {
      if (error === 'unwind') return;
      if (!(error instanceof instance.ExitStatus)) throw error;
      if (!instance.keepRuntimeAlive()) instance.__emscripten_thread_exit(error.status);
    }
  };

  const handlers = {
    load({ wasmModule, wasmMemory }) {
      instance.wasmModule = wasmModule;
      instance.wasmMemory = wasmMemory;
      instance.buffer = wasmMemory.buffer;
      factory(instance).then((ready) => (instance = ready));
    },
    run,
    cancel() {
      if (instance._pthread_self()) instance.__emscripten_thread_exit(-1);
    },
    processThreadQueue() {
      if (instance._pthread_self()) instance._emscripten_current_thread_process_queued_calls();
    },
    processProxyingQueue({ queue }) {
      if (instance._pthread_self()) instance._emscripten_proxy_execute_queue(queue);
    },
  };

  globalThis.onmessage = ({ data }) => {
    try {
      handlers[data.cmd]?.(data);
    } catch (error) {
      // A trap. Who waits for this worker must learn of it: its messages are not read before that.
      instance._omnigrad_lose_worker?.();
      throw error;
    }
  };
}
if (isPthread) pthreadEntry();

// Pre-js of test programs: Emscripten 3.1.6 would fetch() a file's path where Node has fetch.
globalThis.fetch = undefined;

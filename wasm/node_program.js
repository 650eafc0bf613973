// Pre-js of test programs: Emscripten 3.1.6 would fetch() a file's path where Node has fetch, and gives a program an
// environment of its own.
globalThis.fetch = undefined;
Module.preRun = () => {
  for (const [name, value] of Object.entries(process.env)) {
    if (/^(OMNIGRAD|GTEST)_/.test(name)) ENV[name] = value;
  }
};

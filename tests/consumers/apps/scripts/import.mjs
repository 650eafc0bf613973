import { train } from '../web/train.js';

train(globalThis.Deno ? {} : { threads: 2 }).then((result) => console.log(JSON.stringify(result)));

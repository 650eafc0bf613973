// omnigrad/io

export { browserStore } from './browser_store.js';
export type { ElementKind, Stored } from './elements.js';
export { decodeNpy, decodeNpz, encodeNpy, encodeNpz } from './npy.js';
export {
  type SafetensorsFile,
  type SafetensorsOptions,
  type TensorDict,
  decodeSafetensors,
  encodeSafetensors,
  parseSafetensors,
} from './safetensors.js';
export type { BrowserStore, Source, Target } from './places.js';
export { type SaveOptions, load, save } from './save.js';
export { decodeTorch } from './torch.js';
export type { Savable, Tree } from './tree.js';

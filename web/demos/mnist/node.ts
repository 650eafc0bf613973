// What the Node script takes from here, in one bundle.

export { nodeSettings, readSettings } from './settings.js';
export { Training, defaults } from './train.js';

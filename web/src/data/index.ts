// omnigrad/data

export { DataLoader, type DataLoaderOptions, type Dataset } from './dataset.js';
export { type Idx, parseIdx } from './idx.js';
export { mnist, MnistDataset, type MnistBatch, type MnistOptions } from './mnist.js';

// omnigrad/data

export { type CifarBatch, CifarDataset, cifar } from './cifar.js';
export { type Collated, collate } from './collate.js';
export {
  type ColumnType,
  type CsvOptions,
  type CsvRow,
  CsvTable,
  csvRows,
  parseCsv,
  readCsv,
} from './csv.js';
export {
  type BatchDataset,
  ConcatDataset,
  type Dataset,
  type Stream,
  Subset,
  TensorDataset,
  randomSplit,
} from './dataset.js';
export { ImageFolder, type ImageFolderOptions, type LabelledImage, imageFolder } from './folder.js';
export { type Idx, type IdxOptions, decodeIdx, parseIdx } from './idx.js';
export { type ImageOptions, type PixelData, decodePng, encodePng, imageTensor } from './images.js';
export {
  DataLoader,
  type DataLoaderOptions,
  type Draw,
  type LoaderSource,
  type LoaderState,
} from './loader.js';
export { mnist, MnistDataset, type MnistBatch, type MnistOptions } from './mnist.js';
export {
  RandomSampler,
  type Sampler,
  SequentialSampler,
  SubsetRandomSampler,
  WeightedRandomSampler,
} from './sampler.js';
export { shuffled } from './stream.js';
export { CharTokenizer, type SequenceBatch, SequenceDataset } from './text.js';
export * as transforms from './transforms/index.js';

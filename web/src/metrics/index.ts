// omnigrad/metrics

export { AUROC } from './auroc.js';
export { type ClassCounts, type ClassOptions, ConfusionMatrix, type Predictions } from './classes.js';
export {
  Accuracy,
  type Average,
  type AverageOptions,
  F1Score,
  FBetaScore,
  Precision,
  Recall,
} from './classification.js';
export { PeakSignalNoiseRatio, type SsimOptions, StructuralSimilarityIndexMeasure } from './image.js';
export { MeanMetric, type Metric, type Values } from './metric.js';
export { MeanAbsoluteError, MeanSquaredError, R2Score } from './regression.js';
export { CharErrorRate, Perplexity, WordErrorRate, editDistance } from './text.js';

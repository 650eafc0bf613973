// omnigrad/nn

export * from './activation.js';
export {
  type AdaptiveLogSoftmaxOptions,
  type AdaptiveLogSoftmaxOutput,
  AdaptiveLogSoftmaxWithLoss,
} from './adaptive_softmax.js';
export {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveAvgPool3d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AdaptiveMaxPool3d,
  type AdaptiveMaxOptions,
  type OutputSize,
} from './adaptive_pool.js';
export {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  type BatchNormLayerOptions,
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
} from './batch_norm.js';
export * from './containers.js';
export { Conv1d, Conv2d, Conv3d, type ConvLayerOptions, ConvNd, type PaddingSizes } from './conv.js';
export {
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  type ConvTransposeLayerOptions,
  ConvTransposeNd,
} from './conv_transpose.js';
export * from './deform.js';
export * from './distance.js';
export * from './dropout.js';
export * from './embedding.js';
export {
  FractionalMaxPool2d,
  FractionalMaxPool3d,
  type FractionalMaxPoolLayerOptions,
} from './fractional_pool.js';
export { type FractionalMaxPoolOptions, fractionalMaxPool } from './fractional_window.js';
export * from './gates.js';
export type { BackwardHook, ForwardHook, ForwardPreHook, HookHandle } from './hooks.js';
export * as init from './initializers.js';
export type { LayerOptions, Sizes } from './init.js';
export type { Lengths } from './lengths.js';
export * from './linear.js';
export {
  BCELoss,
  BCEWithLogitsLoss,
  CrossEntropyLoss,
  HingeEmbeddingLoss,
  HuberLoss,
  KLDivLoss,
  L1Loss,
  LpLoss,
  MSELoss,
  MultiLabelSoftMarginLoss,
  MultiMarginLoss,
  NLLLoss,
  PoissonNLLLoss,
  SmoothL1Loss,
  SoftMarginLoss,
} from './loss.js';
export { Lora, type LoraOptions, applyLora } from './lora.js';
export { type AnyModule, Module, buffer, parameter } from './module.js';
export * from './norm.js';
export * from './padding.js';
export * from './pool.js';
export * from './resize.js';
export {
  CTCLoss,
  CosineEmbeddingLoss,
  GaussianNLLLoss,
  MarginRankingLoss,
  MultiLabelMarginLoss,
  RNNTLoss,
  type TripletDistanceOptions,
  TripletMarginLoss,
  TripletMarginWithDistanceLoss,
} from './sequence_loss.js';
export type { KeyMap, LoadOptions, LoadResult, StateDict } from './state.js';
export { type Summary, type SummaryRow, summary } from './summary.js';
export { type AttentionOptions, MultiheadAttention, type MultiheadAttentionOptions } from './attention.js';
export { KeyValueCache } from './attention_masks.js';
export * from './positional.js';
export {
  GRU,
  LSTM,
  type LSTMOptions,
  type LSTMState,
  RNN,
  type RNNOptions,
  type RecurrentOptions,
  type SequenceOptions,
} from './recurrent.js';
export { GRUCell, LSTMCell, RNNCell } from './recurrent_cells.js';
export {
  type DecoderStackCall,
  type EncoderStackCall,
  StackCache,
  type StackOptions,
  Transformer,
  type TransformerCall,
  TransformerDecoder,
  TransformerEncoder,
  type TransformerOptions,
} from './transformer.js';
export {
  DecoderCache,
  type DecoderCall,
  type DecoderOptions,
  type EncoderCall,
  type EncoderOptions,
  TransformerDecoderLayer,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
} from './transformer_layers.js';
export {
  type Parametrization,
  type SpectralNormOptions,
  registerParametrization,
  removeParametrizations,
  spectralNorm,
  weightNorm,
} from './parametrize.js';

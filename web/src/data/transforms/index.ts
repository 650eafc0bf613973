// Transforms of images: `import { transforms } from 'omnigrad/data'`.

export {
  type AffineMap,
  type RandomAffineOptions,
  type RandomResizedCropOptions,
  type Range,
  type SampleOptions,
  affine,
  randomAffine,
  randomResizedCrop,
  randomRotation,
  rotate,
} from './affine.js';
export { type ColorJitterOptions, colorJitter } from './color.js';
export {
  type RandomCropOptions,
  type ResizeOptions,
  type Size,
  centerCrop,
  crop,
  horizontalFlip,
  randomCrop,
  randomHorizontalFlip,
  randomVerticalFlip,
  resize,
  verticalFlip,
} from './geometry.js';
export { type Transform, compose, grayscale, normalize, randomApply, toFloat } from './transform.js';

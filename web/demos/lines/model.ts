// The reader: a convolutional network sees, a recurrent one of two directions follows the line (Shi et al. 2015, "An
// end-to-end trainable neural network for image-based sequence recognition").

import { type Tensor, logSoftmax } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import { classes, frames, height, stride, width } from './facts.js';

const features = 64;

/** Ink [N, 1, 32, 160], 0 to 1, to log-probabilities [N, 40, 11]: of nothing and of the digits, every four columns. */
export class Reader extends nn.Module {
  readonly see = new nn.Sequential(
    ...[new nn.Conv2d(1, 16, 3, { padding: 1, stride: 2 }), new nn.BatchNorm2d(16), new nn.ReLU()],
    ...[new nn.Conv2d(16, 32, 3, { padding: 1, stride: 2 }), new nn.BatchNorm2d(32), new nn.ReLU()],
    ...[new nn.Conv2d(32, 64, 3, { padding: 1, stride: [2, 1] }), new nn.BatchNorm2d(64), new nn.ReLU()],
  );
  readonly column = new nn.Linear((64 * height) / stride / 2, features);
  readonly follow: nn.GRU;
  readonly head: nn.Linear;

  /** @param hidden units of each direction */
  constructor(hidden: number) {
    super();
    this.follow = new nn.GRU(features, hidden, { bidirectional: true, batchFirst: true });
    this.head = new nn.Linear(2 * hidden, classes);
  }

  forward(ink: Tensor): Tensor {
    const seen = this.see.call(ink.sub(0.1).mul(1 / 0.3));
    const count = ink.shape[0] ?? 0;
    const columns = seen.permute([0, 3, 1, 2]).reshape([count, frames, -1]);
    const [line] = this.follow.call(this.column.call(columns).relu());
    return logSoftmax(this.head.call(line), -1);
  }
}

/** Strips of ink, 0 to 255, as the network takes them. */
export const inkOf = (pixels: Tensor): Tensor =>
  pixels
    .reshape([-1, 1, height, width])
    .cast('float32')
    .mul(1 / 255);

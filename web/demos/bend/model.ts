// Two networks of about one size: one looks where its kernels lie, the other learns where to look.

import type { Tensor } from 'omnigrad';
import * as nn from 'omnigrad/nn';

/** Brightness of MNIST: mean and deviation. */
const [mean, deviation] = [0.1307, 0.3081];

/** Ink [N, 1, 28, 28], 0 to 1, to scores [N, 10]. */
export abstract class DigitNet extends nn.Module {
  abstract readonly edges: nn.Conv2d;
  abstract readonly middle: nn.Conv2d | nn.DeformConv2dPack;
  abstract readonly shapes: nn.Conv2d;
  abstract readonly head: nn.Linear;
  readonly pool = new nn.AvgPool2d(2);

  /** What the middle layer reads: [N, C, 14, 14]. */
  protected seen(ink: Tensor): Tensor {
    return this.edges.call(ink.sub(mean).div(deviation)).relu();
  }

  forward(ink: Tensor): Tensor {
    const pooled = this.pool.call(this.middle.call(this.seen(ink)).relu());
    return this.head.call(this.pool.call(this.shapes.call(pooled).relu()).flatten(1));
  }
}

export class PlainNet extends DigitNet {
  readonly edges = new nn.Conv2d(1, 12, 3, { stride: 2, padding: 1 });
  readonly middle = new nn.Conv2d(12, 26, 3, { padding: 1 });
  readonly shapes = new nn.Conv2d(26, 32, 3, { padding: 1 });
  readonly head = new nn.Linear(288, 10);
}

export class BentNet extends DigitNet {
  readonly edges = new nn.Conv2d(1, 12, 3, { stride: 2, padding: 1 });
  readonly middle = new nn.DeformConv2dPack(12, 20, 3, { padding: 1 });
  readonly shapes = new nn.Conv2d(20, 32, 3, { padding: 1 });
  readonly head = new nn.Linear(288, 10);

  /** How far the middle layer's kernel is moved at each place: [N, 2, 14, 14], pixels of the image, y before x. */
  shifts(ink: Tensor): Tensor {
    const offset = this.middle.convOffset.call(this.seen(ink));
    const [count = 0, , height = 0, width = 0] = offset.shape;
    // Of nine taps, in pixels of a map half as wide as the image.
    return offset.reshape([count, 9, 2, height, width]).mean(1).mul(2);
  }
}

// Two networks of about one size: one looks where its kernels lie, the other learns where to look, and how hard.

import type { Tensor } from 'omnigrad';
import * as nn from 'omnigrad/nn';

/** Brightness of MNIST: mean and deviation. */
const [mean, deviation] = [0.1307, 0.3081];

type Conv = nn.Conv2d | nn.DeformConv2dPack;

/** Ink [N, 1, 28, 28], 0 to 1, to scores [N, 10]. */
export abstract class DigitNet<C extends Conv = Conv> extends nn.Module {
  /** To maps of 14 x 14. */
  readonly edges = new nn.Conv2d(1, 12, 5, { stride: 2, padding: 2 });
  readonly edgesNorm = new nn.BatchNorm2d(12);
  /** To maps of 7 x 7. */
  readonly strokes: C;
  readonly strokesNorm: nn.BatchNorm2d;
  readonly shapes: C;
  readonly shapesNorm: nn.BatchNorm2d;
  /** To 3 x 3. */
  readonly pool = new nn.AvgPool2d(2);
  readonly head: nn.Linear;

  protected constructor(strokes: C, shapes: C) {
    super();
    const maps = ({ weight }: C): number => weight.shape[0] ?? 0;
    this.strokes = strokes;
    this.strokesNorm = new nn.BatchNorm2d(maps(strokes));
    this.shapes = shapes;
    this.shapesNorm = new nn.BatchNorm2d(maps(shapes));
    this.head = new nn.Linear(9 * maps(shapes), 10);
  }

  /** [N, 12, 14, 14] */
  protected edgesOf(ink: Tensor): Tensor {
    return this.edgesNorm.call(this.edges.call(ink.sub(mean).div(deviation))).relu();
  }

  forward(ink: Tensor): Tensor {
    const strokes = this.strokesNorm.call(this.strokes.call(this.edgesOf(ink))).relu();
    const shapes = this.shapesNorm.call(this.shapes.call(strokes)).relu();
    return this.head.call(this.pool.call(shapes).flatten(1));
  }
}

export class PlainNet extends DigitNet<nn.Conv2d> {
  constructor() {
    super(new nn.Conv2d(12, 30, 3, { stride: 2, padding: 1 }), new nn.Conv2d(30, 40, 3, { padding: 1 }));
  }
}

export class BentNet extends DigitNet<nn.DeformConv2dPack> {
  constructor() {
    super(
      new nn.DeformConv2dPack(12, 20, 3, { stride: 2, padding: 1, modulated: true }),
      new nn.DeformConv2dPack(20, 28, 3, { padding: 1, modulated: true }),
    );
  }

  /** How far the first deformable kernel is moved at each place: [N, 2, 7, 7], pixels of the image, y before x. */
  shifts(ink: Tensor): Tensor {
    const made = this.strokes.convOffset.call(this.edgesOf(ink));
    const [count = 0, , height = 0, width = 0] = made.shape;
    // Of nine samples, in pixels of a map half as wide as the image; factors follow.
    const offset = made.split([18, 9], { dim: 1 })[0] as Tensor;
    return offset.reshape([count, 9, 2, height, width]).mean(1).mul(2);
  }
}

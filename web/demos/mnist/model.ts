// The network that the Node script and the page train. Small, but with a deformable convolution and a resize.

import type { Tensor } from 'omnigrad';
import * as nn from 'omnigrad/nn';

/** Digits [N, 1, 28, 28] to scores [N, 10]; about 13 000 parameters. */
export class DigitNet extends nn.Module {
  readonly edges = new nn.Conv2d(1, 8, 3, { stride: 2, padding: 1 });
  readonly bend = new nn.DeformConv2dPack(8, 16, 3, { padding: 1 });
  readonly resize = new nn.Interpolate({ size: [8, 8], mode: 'linear', alignCorners: false });
  readonly shapes = new nn.Conv2d(16, 32, 3, { padding: 1 });
  readonly pool = new nn.AvgPool2d(2);
  readonly head = new nn.Linear(512, 10);

  forward(x: Tensor): Tensor {
    const bent = this.bend.call(this.edges.call(x).relu()).relu();
    const pooled = this.pool.call(this.shapes.call(this.resize.call(bent)).relu());
    return this.head.call(pooled.reshape([-1, 512]));
  }
}

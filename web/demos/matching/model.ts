// Matching by neighbourhood consensus (Rocco et al., Neighbourhood Consensus Networks, 2018): each cell of one view is
// compared with each of the other; convolutions over the four axes of that table, two of either view, let neighbouring
// matches speak for one another.

import { type Tensor, cat, chunk, leakyRelu, matmul, maximum, ones, scope } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import { side } from './facts.js';

const cells = side * side;
const slope = 0.1;
/** Features are compared in so many groups, each a channel of the table. */
const groups = 4;

/** What a small neighbourhood looks like: views [N, 1, 96, 96] to features [N, 4, 12, cells], of length 1 in a group. */
export class Descriptor extends nn.Module {
  readonly layers: nn.Conv2d[];

  constructor(width: number) {
    super();
    this.layers = [
      new nn.Conv2d(1, width, 5, { stride: 2, padding: 2 }),
      new nn.Conv2d(width, 2 * width, 3, { stride: 2, padding: 1 }),
      new nn.Conv2d(2 * width, 3 * width, 3, { stride: 2, padding: 1 }),
      new nn.Conv2d(3 * width, 3 * width, 3, { padding: 1 }),
    ];
    for (const { weight, bias } of this.layers) {
      nn.init.kaimingNormal_(weight, { a: slope });
      if (bias) nn.init.zeros_(bias);
    }
  }

  forward(views: Tensor): Tensor {
    let x = views;
    this.layers.forEach((layer, i) => {
      x = layer.call(i === 0 ? x : leakyRelu(x, { negativeSlope: slope }));
    });
    const [n = 0, channels = 0] = x.shape;
    const apart = x.sub(x.mean([2, 3], { keepdim: true })).reshape([n, groups, channels / groups, cells]);
    return apart.div(apart.square().sum(2, { keepdim: true }).add(1e-6).sqrt());
  }
}

/** The table, [N, groups, 12, 12, 12, 12], to what its neighbourhoods say of each pair, [N, 1, 12, 12, 12, 12]. */
export class Consensus extends nn.Module {
  readonly near: nn.ConvNd;
  readonly far: nn.ConvNd;
  readonly sum: nn.ConvNd;

  constructor(width: number) {
    super();
    this.near = new nn.ConvNd(4, groups, width, 3, { padding: 1 });
    this.far = new nn.ConvNd(4, width, width, 3, { padding: 1 });
    this.sum = new nn.ConvNd(4, width, 1, 1);
    for (const { weight } of [this.near, this.far]) nn.init.kaimingNormal_(weight, { a: slope });
    // It begins by saying nothing: an untrained network matches by plain comparison.
    nn.init.zeros_(this.sum.weight);
  }

  forward(table: Tensor): Tensor {
    const near = leakyRelu(this.near.call(table), { negativeSlope: slope });
    return this.sum.call(leakyRelu(this.far.call(near), { negativeSlope: slope }));
  }
}

export class Matcher extends nn.Module {
  readonly descriptor: Descriptor;
  readonly consensus: Consensus;
  /** How much a comparison counts. */
  readonly sharpness: Tensor;

  constructor({ features, width }: { features: number; width: number }) {
    super();
    this.descriptor = new Descriptor(features);
    this.consensus = new Consensus(width);
    this.sharpness = nn.parameter(ones([1]));
  }

  /** Pairs of views, [N, 2, 96, 96], to scores [N, cells, cells]: a row for a cell of the first, a column for the second. */
  forward(pairs: Tensor): Tensor {
    const table = this.compare(pairs);
    return table.mean(1).mul(this.sharpness.mul(10)).add(this.agree(table));
  }

  /** Plain comparisons, -1 to 1, [N, groups, cells, cells]. */
  compare(pairs: Tensor): Tensor {
    return scope(() => {
      const views = cat([pairs.at(':', [0, 1]), pairs.at(':', [1, 2])]);
      const [first, second] = chunk(this.descriptor.call(views), 2) as [Tensor, Tensor];
      return matmul(first.permute([0, 1, 3, 2]), second);
    });
  }

  /** What the neighbourhoods say, [N, cells, cells]; the same whichever view comes first. */
  agree(table: Tensor): Tensor {
    return scope(() => {
      const mutual = filtered(table);
      const n = table.shape[0] ?? 1;
      const both = cat([mutual, mutual.permute([0, 1, 3, 2])]).reshape([
        2 * n,
        groups,
        side,
        side,
        side,
        side,
      ]);
      const said = this.consensus.call(both).reshape([2 * n, cells, cells]);
      const [ab, ba] = chunk(said, 2) as [Tensor, Tensor];
      return ab.add(ba.permute([0, 2, 1]));
    });
  }
}

/** Mutual filtering: what is the best neither of its row nor of its column is made less. */
function filtered(table: Tensor): Tensor {
  return scope(() => {
    const some = table.relu();
    const best = (dim: number): Tensor => maximum(some.amax(dim, { keepdim: true }), 1e-3);
    return some.mul(some.div(best(2))).mul(some.div(best(3)));
  });
}

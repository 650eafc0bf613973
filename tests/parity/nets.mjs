// The networks of generate.py in omnigrad: how each is made, what it computes, and its loss.
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

class Residual extends nn.Module {
  constructor(inputs, outputs, stride) {
    super();
    this.conv1 = new nn.Conv2d(inputs, outputs, 3, { stride, padding: 1, bias: false });
    this.bn1 = new nn.BatchNorm2d(outputs);
    this.conv2 = new nn.Conv2d(outputs, outputs, 3, { padding: 1, bias: false });
    this.bn2 = new nn.BatchNorm2d(outputs);
    this.downsample =
      stride === 1
        ? null
        : new nn.Sequential(
            new nn.Conv2d(inputs, outputs, 1, { stride, bias: false }),
            new nn.BatchNorm2d(outputs),
          );
  }
  forward(x) {
    const y = this.bn2.call(this.conv2.call(this.bn1.call(this.conv1.call(x)).relu()));
    return y.add(this.downsample ? this.downsample.call(x) : x).relu();
  }
}

class ResNet extends nn.Module {
  layer1 = new Residual(3, 3, 1);
  layer2 = new Residual(3, 6, 2);
  fc = new nn.Linear(6, 4);
  forward(x) {
    return this.fc.call(og.adaptiveAvgPool(this.layer2.call(this.layer1.call(x)), 1).reshape([-1, 6]));
  }
}

class LanguageModel extends nn.Module {
  embed = new nn.Embedding(11, 6, { paddingIdx: 0 });
  rnn = new nn.GRU(6, 6, { numLayers: 2, batchFirst: true });
  head = Object.assign(new nn.Linear(6, 11), { weight: this.embed.weight });
  forward(tokens) {
    return this.head.call(this.rnn.call(this.embed.call(tokens))[0]).permute([0, 2, 1]);
  }
}

class Tagger extends nn.Module {
  lstm = new nn.LSTM(4, 5, { numLayers: 2, bidirectional: true });
  out = new nn.Linear(10, 2);
  forward(x, h, c) {
    const [y, [hn, cn]] = this.lstm.call(x, [h, c]);
    return this.out.call(y).add(hn.mean()).add(cn.mean());
  }
}

class Encoder extends nn.Module {
  encoder = new nn.TransformerEncoder(
    () => new nn.TransformerEncoderLayer(8, 2, { dimFeedforward: 12, dropout: 0, batchFirst: true }),
    2,
  );
  out = new nn.Linear(8, 3);
  forward(x, lengths) {
    const padding = og.arange(x.shape[1], { dtype: 'int64' }).ge(lengths.reshape([-1, 1]));
    const y = this.encoder.call(x, { isCausal: true, srcKeyPaddingMask: padding });
    return this.out.call(y.maskedFill(padding.reshape([...padding.shape, 1]), 0).mean(1));
  }
}

class Decoder extends nn.Module {
  decoder = new nn.TransformerDecoder(
    () =>
      new nn.TransformerDecoderLayer(8, 2, {
        ...{ dimFeedforward: 12, dropout: 0, activation: 'gelu', normFirst: true },
      }),
    2,
    { norm: new nn.LayerNorm(8) },
  );
  forward(tgt, memory) {
    return this.decoder.call(tgt, memory, { tgtIsCausal: true });
  }
}

class UNet extends nn.Module {
  down = new nn.Conv2d(2, 4, 3, { stride: 2, padding: 1 });
  mid = new nn.Conv2d(4, 6, 3, { padding: 1, paddingMode: 'reflect' });
  up = new nn.ConvTranspose2d(6, 4, 3, { stride: 2, padding: 1, outputPadding: 1 });
  out = new nn.Conv2d(10, 1, 1);
  forward(x) {
    const low = og.silu(this.mid.call(og.leakyRelu(this.down.call(x), { negativeSlope: 0.1 })));
    const wide = og.interpolate(low.at(':', [0, 4]), { scaleFactor: 2, mode: 'bilinear' });
    return this.out.call(og.cat([x, this.up.call(low), wide], 1));
  }
}

class Norms extends nn.Module {
  conv = new nn.Conv2d(2, 6, 3);
  group = new nn.GroupNorm(3, 6);
  bend = new nn.PReLU(6);
  instance = new nn.InstanceNorm2d(6, { affine: true, trackRunningStats: true });
  local = new nn.LocalResponseNorm(3, { alpha: 0.1 });
  out = new nn.Conv2d(6, 2, 2);
  forward(x) {
    const y = this.bend.call(this.group.call(this.conv.call(x)));
    return this.out.call(this.local.call(this.instance.call(y)));
  }
}

class Deform extends nn.Module {
  offset = new nn.Conv2d(2, 27, 3, { padding: 1 });
  deform = new nn.DeformConv2d(2, 4, 3, { padding: 1, groups: 2 });
  out = new nn.Linear(4, 2);
  forward(x) {
    const [offset, mask] = this.offset.call(x).split([18, 9], { dim: 1 });
    return this.out.call(this.deform.call(x, offset, mask.sigmoid()).tanh().mean([2, 3]));
  }
}

class Speech extends nn.Module {
  conv = new nn.Conv1d(3, 6, 3, { padding: 1 });
  rnn = new nn.RNN(6, 6, { nonlinearity: 'relu', bidirectional: true });
  out = new nn.Linear(12, 4);
  forward(x) {
    return this.out.call(this.rnn.call(this.conv.call(x).permute([2, 0, 1]))[0]).logSoftmax(-1);
  }
}

class Critic extends nn.Module {
  first = nn.spectralNorm(new nn.Conv2d(1, 4, 3), 'weight', { nPowerIterations: 2 });
  last = nn.spectralNorm(new nn.Linear(64, 1));
  forward(x) {
    return this.last.call(og.elu(this.first.call(x)).reshape([-1, 64]));
  }
}

class Mixed extends nn.Module {
  attn = new nn.MultiheadAttention(6, 2, {
    ...{ kdim: 4, vdim: 3, addBiasKv: true, addZeroAttn: true, batchFirst: true },
  });
  bag = new nn.EmbeddingBag(9, 3, { mode: 'sum' });
  cell = new nn.LSTMCell(6, 5);
  gate = new nn.GRUCell(5, 5);
  mix = new nn.Bilinear(5, 5, 3);
  alike = new nn.CosineSimilarity();
  forward(x, keys, values, bags) {
    const [y, weights] = this.attn.call(x, keys, values, { needWeights: true });
    const [h, c] = this.cell.call(y.mean(1));
    const g = this.gate.call(h, c);
    const sharpness = weights.square().sum([1, 2]).mul(this.alike.call(g, c));
    return this.mix
      .call(g, h)
      .add(this.bag.call(bags))
      .add(sharpness.reshape([-1, 1]));
  }
}

class Translator extends nn.Module {
  transformer = new nn.Transformer({
    ...{ dModel: 4, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1, dimFeedforward: 6 },
    ...{ dropout: 0, batchFirst: true },
  });
  forward(src, tgt) {
    return this.transformer.call(src, tgt, { tgtIsCausal: true });
  }
}

class Rare extends nn.Module {
  shuffle = new nn.ChannelShuffle(2);
  lstm = new nn.LSTM(4, 5, { numLayers: 2, bidirectional: true, batchFirst: true, projSize: 3 });
  bag = new nn.EmbeddingBag(9, 6, { paddingIdx: 2, includeLastOffset: true });
  head = new nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7], { divValue: 2, headBias: true });
  forward(x, randomSamples, bags, offsets, classes) {
    const pooled = nn.fractionalMaxPool(this.shuffle.call(x), 2, { outputSize: [4, 3], randomSamples });
    const [states] = this.lstm.call(pooled.flatten(2).transpose(1, 2));
    const y = states.mean(1).add(this.bag.call(bags, offsets));
    const { output } = this.head.call(y, classes);
    return og.cat([output.reshape([-1, 1]), this.head.logProb(y)], 1);
  }
}

const mlp = () =>
  new nn.Sequential(
    ...[new nn.Linear(6, 8), new nn.Tanh(), new nn.Linear(8, 8), new nn.GELU()],
    ...[new nn.LayerNorm(8), new nn.Linear(8, 3)],
  );
const cnn = () =>
  new nn.Sequential(
    ...[new nn.Conv2d(1, 4, 3, { padding: 1 }), new nn.ReLU(), new nn.MaxPool2d(2)],
    ...[new nn.Conv2d(4, 6, 3), new nn.ReLU(), new nn.Flatten(), new nn.Linear(24, 4)],
  );
const separable = () =>
  new nn.Sequential(
    ...[new nn.Conv2d(3, 6, 1), new nn.Hardswish()],
    ...[new nn.Conv2d(6, 6, 3, { padding: 2, dilation: 2, groups: 6 }), new nn.BatchNorm2d(6), new nn.SiLU()],
    ...[new nn.AvgPool2d(3, { stride: 2, padding: 1 }), new nn.Conv2d(6, 2, 1)],
  );
const volume = () =>
  new nn.Sequential(
    ...[new nn.Conv3d(1, 3, 3), new nn.Softplus(), new nn.MaxPool3d(2), new nn.BatchNorm3d(3)],
    new nn.ConvTranspose3d(3, 1, 2, { stride: 2 }),
  );

const posWeight = (y) => og.tensor([3], { dtype: y.dtype });

/** By name: [makes the network, its loss]. */
export const nets = {
  mlp: [mlp, og.crossEntropy],
  cnn: [cnn, (y, t) => og.crossEntropy(y, t, { labelSmoothing: 0.1 })],
  resnet: [() => new ResNet(), og.crossEntropy],
  gru_lm: [() => new LanguageModel(), (y, t) => og.crossEntropy(y, t, { ignoreIndex: 0 })],
  lstm: [() => new Tagger(), og.smoothL1Loss],
  encoder: [() => new Encoder(), og.crossEntropy],
  decoder: [() => new Decoder(), og.mseLoss],
  unet: [() => new UNet(), (y, t) => og.binaryCrossEntropyWithLogits(y, t, { posWeight: posWeight(y) })],
  norms: [() => new Norms(), og.mseLoss],
  deform: [() => new Deform(), og.mseLoss],
  separable: [separable, (y, t) => og.huberLoss(y, t, { delta: 0.5 })],
  volume: [volume, og.l1Loss],
  speech: [
    () => new Speech(),
    (y, t) =>
      og.ctcLoss(y, t, {
        inputLengths: og.tensor([6, 5], { dtype: 'int64' }),
        targetLengths: og.tensor([2, 3], { dtype: 'int64' }),
      }),
  ],
  mixed: [() => new Mixed(), og.mseLoss],
  translator: [() => new Translator(), og.mseLoss],
  critic: [() => new Critic(), (y, t) => y.mul(t).mean()],
  rare: [() => new Rare(), (y, t) => y.mul(t).mean()],
  signs: [mlp, og.crossEntropy],
  averaged: [mlp, og.crossEntropy],
};

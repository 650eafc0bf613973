// A Wasserstein network pair that draws digits (Gulrajani et al. 2017). The critic's loss holds the norm of its own
// gradient, so its training differentiates twice.
// usage: npm run train -- gan [--steps N] [--batch N] [--seed N] [--critic N] [--resume]

import { writeFileSync } from 'node:fs';
import { join, dirname, relative } from 'node:path';
import { encode } from 'fast-png';
import { crossEntropy, grad, noGrad, rand, randn, scope, softmax } from 'omnigrad';
import { DataLoader, mnist } from 'omnigrad/data';
import * as nn from 'omnigrad/nn';
import { Adam, EMA } from 'omnigrad/optim';
import { evaluate, fit } from 'omnigrad/train';
import { begin, finished, run, say, started, verdict } from './session.mjs';

const latent = 32;
const penalty = 10;

/** [N, latent] to [N, 1, 28, 28] with the values of MNIST's normalised pixels. */
class Generator extends nn.Module {
  constructor() {
    super();
    this.start = new nn.Linear(latent, 64 * 7 * 7);
    this.body = new nn.Sequential(
      ...[new nn.BatchNorm2d(64), new nn.ReLU()],
      ...[
        new nn.ConvTranspose2d(64, 32, 4, { stride: 2, padding: 1 }),
        new nn.BatchNorm2d(32),
        new nn.ReLU(),
      ],
      ...[
        new nn.ConvTranspose2d(32, 16, 4, { stride: 2, padding: 1 }),
        new nn.BatchNorm2d(16),
        new nn.ReLU(),
      ],
      ...[new nn.Conv2d(16, 1, 3, { padding: 1 }), new nn.Sigmoid()],
    );
  }
  forward(z) {
    const images = this.body.call(this.start.call(z).reshape([-1, 64, 7, 7]));
    return images.sub(0.1307).mul(1 / 0.3081);
  }
}

// No batch norm: the penalty is on each sample's own gradient.
const makeCritic = () =>
  new nn.Sequential(
    ...[new nn.Conv2d(1, 24, 5, { stride: 2, padding: 2 }), new nn.LeakyReLU({ negativeSlope: 0.2 })],
    ...[new nn.Conv2d(24, 48, 5, { stride: 2, padding: 2 }), new nn.LeakyReLU({ negativeSlope: 0.2 })],
    ...[new nn.Flatten(), new nn.Linear(48 * 7 * 7, 1)],
  );

/** Mean of (|dD/dx| - 1)^2 at points between real and drawn ones: a scalar that can be differentiated again. */
function gradientPenalty(critic, real, drawn) {
  const share = rand([real.shape[0], 1, 1, 1]);
  const between = real.mul(share).add(drawn.mul(share.neg().add(1)));
  between.requiresGrad = true;
  const [slope] = grad(critic.call(between).sum(), [between], { createGraph: true });
  const norms = slope.square().sum([1, 2, 3]).add(1e-12).sqrt();
  return norms.sub(1).square().mean();
}

/** Both networks as one module, so that a checkpoint holds both. */
class Pair extends nn.Module {
  constructor() {
    super();
    this.generator = new Generator();
    this.critic = makeCritic();
  }
  forward(z) {
    return this.generator.call(z);
  }
}

/** A classifier of digits, to tell how much of what was drawn is a digit. */
async function judge(digits, seed) {
  const net = new nn.Sequential(
    ...[new nn.Conv2d(1, 16, 3, { padding: 1, stride: 2 }), new nn.ReLU()],
    ...[new nn.Conv2d(16, 32, 3, { padding: 1, stride: 2 }), new nn.ReLU()],
    ...[new nn.Flatten(), new nn.Linear(32 * 7 * 7, 10)],
  );
  const data = new DataLoader(digits, { batchSize: 100, shuffle: true, seed });
  const optimizer = new Adam(net.parameters(), { lr: 2e-3 });
  const loss = ([images, labels]) => crossEntropy(net.call(images), labels);
  await fit(net, data, { loss, optimizer, progress: false });
  return net.eval();
}

/**
 * exp of the mean over drawn images of KL(p(digit | image) || p(digit)): 1 if all look alike or like nothing, 10 if each is
 * surely one digit and all ten are drawn equally often (the inception score, Salimans et al. 2016).
 */
function digitScore(classifier, images) {
  return scope(() =>
    noGrad(() => {
      const p = softmax(classifier.call(images), -1);
      const mean = p.mean(0, { keepdim: true });
      return p
        .mul(p.add(1e-12).log().sub(mean.add(1e-12).log()))
        .sum(1)
        .mean()
        .exp()
        .item();
    }),
  );
}

/** 64 images as one sheet of 8 x 8. */
function sheet(images) {
  const pixels = scope(() =>
    images
      .mul(0.3081)
      .add(0.1307)
      .mul(255)
      .reshape([8, 8, 28, 28])
      .permute([0, 2, 1, 3])
      .clamp(0, 255)
      .cast('uint8'),
  );
  const data = pixels.toTypedArray();
  pixels.dispose();
  return encode({ width: 8 * 28, height: 8 * 28, data, depth: 8, channels: 1 });
}

run(async () => {
  const begun = performance.now();
  const { flags, signal, checkpoint } = await begin('gan', { steps: 6000, batch: 32, critic: 2 });
  const { batch: batchSize, seed, steps, critic: turns } = flags;
  const digits = await mnist('train');
  const data = new DataLoader(digits, { batchSize, shuffle: true, seed, dropLast: true });
  const pair = new Pair();
  const { generator, critic } = pair;
  // No momentum, and a critic that learns twice as fast as what it judges (Heusel et al. 2017): two of its steps for one
  // of the generator's are enough then. What draws in the end is an average of the generators of the last steps.
  const betas = [0, 0.9];
  const generatorSteps = new Adam(generator.parameters(), { lr: 5e-4, betas });
  const criticSteps = new Adam(critic.parameters(), { lr: 1e-3, betas });
  const average = new EMA(generator, { decay: 0.99, warmup: true });
  const drawn = () => generator.call(randn([batchSize, latent]));

  started(pair, data);
  const result = await fit(pair, data, {
    step([real], { step }) {
      const fake = noGrad(drawn);
      const { distance, slope } = criticSteps.minimize(() => {
        const gap = critic.call(real).mean().sub(critic.call(fake).mean());
        const held = gradientPenalty(critic, real, fake);
        return { loss: held.mul(penalty).sub(gap), distance: gap, slope: held };
      });
      const values = { distance, slope };
      if (step % turns !== turns - 1) return values;
      generatorSteps.minimize(() => critic.call(drawn()).mean().neg());
      average.update();
      return values;
    },
    ...{ steps, signal },
    checkpoint: { ...checkpoint, parts: { generatorSteps, criticSteps, average } },
  });
  if (!finished('gan', result)) return;

  say('training a classifier to judge by');
  const classifier = await judge(digits, seed);
  pair.eval();
  const draw = (count) => average.averaged(() => noGrad(() => generator.call(randn([count, latent]))));
  const images = draw(64);
  const file = join(dirname(checkpoint.target), 'gan.png');
  writeFileSync(file, sheet(images));
  const score = digitScore(classifier, draw(1000));
  const best = await evaluate(
    classifier,
    new DataLoader(await mnist('test'), { batchSize: 1000 }),
    ([real]) => ({
      score: digitScore(classifier, real),
    }),
  );
  say(`64 drawn digits are in ${relative(process.cwd(), file)}`);
  const text = `digit score ${score.toFixed(2)} of 1000 drawn digits (1 to 10); real ones have ${best.score.toFixed(2)}`;
  verdict(`${text}, target 6`, score >= 6, begun);
});

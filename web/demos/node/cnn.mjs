// A convolutional network that reads digits: 99 % of MNIST's test images.
// usage: npm run train -- cnn [--epochs N] [--batch N] [--seed N] [--resume]

import { crossEntropy } from 'omnigrad';
import { DataLoader, mnist } from 'omnigrad/data';
import * as nn from 'omnigrad/nn';
import { AdamW, OneCycleLR } from 'omnigrad/optim';
import { evaluate, fit } from 'omnigrad/train';
import { begin, finished, run, started, verdict } from './session.mjs';

const target = 0.99;

const network = () =>
  new nn.Sequential(
    ...[new nn.Conv2d(1, 32, 3, { padding: 1 }), new nn.ReLU(), new nn.MaxPool2d(2)],
    ...[new nn.Conv2d(32, 64, 3, { padding: 1 }), new nn.ReLU(), new nn.MaxPool2d(2)],
    ...[new nn.Flatten(), new nn.Linear(64 * 7 * 7, 128), new nn.ReLU(), new nn.Dropout(0.3)],
    new nn.Linear(128, 10),
  );

run(async () => {
  const begun = performance.now();
  const { flags, signal, checkpoint } = await begin('cnn', { epochs: 3, batch: 64 });
  const { epochs, batch: batchSize, seed } = flags;
  const [digits, held] = await Promise.all([mnist('train'), mnist('test')]);
  const data = new DataLoader(digits, { batchSize, shuffle: true, seed, dropLast: true });
  const test = new DataLoader(held, { batchSize: 200 });

  const net = network();
  const optimizer = new AdamW(net.parameters(), { lr: 1e-3, weightDecay: 1e-2 });
  const schedule = new OneCycleLR(optimizer, { maxLr: 3e-3, totalSteps: epochs * data.length + 1 });
  started(net, data);

  const metrics = ([images, labels]) => {
    const logits = net.call(images);
    return {
      loss: crossEntropy(logits, labels),
      accuracy: logits.argmax(1).eq(labels).cast('float32').mean(),
    };
  };
  const result = await fit(net, data, {
    loss: ([images, labels]) => crossEntropy(net.call(images), labels),
    ...{ optimizer, schedule, epochs, signal, checkpoint },
    validation: { data: test, metrics },
  });
  if (!finished('cnn', result)) return;
  const { accuracy } = await evaluate(net, test, metrics);
  verdict(
    `test accuracy ${(100 * accuracy).toFixed(2)} % of ${held.length} images, target ${100 * target} %`,
    accuracy >= target,
    begun,
  );
});

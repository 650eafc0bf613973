// A network that learns which of two numbers is larger: the smallest app that trains.
import { crossEntropy, init, manualSeed, randn, scope } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';

/** Trains; gives the build, and every loss. */
export async function train(options = {}) {
  const { variant, reason } = await init(options);
  manualSeed(7);
  const net = new nn.Sequential(new nn.Linear(2, 8), new nn.ReLU(), new nn.Linear(8, 2));
  const opt = new optim.AdamW(net.parameters(), { lr: 0.05 });
  const losses = [];
  for (let step = 0; step < 30; step++) {
    scope(() => {
      const x = randn([16, 2]);
      const y = x.argmax(1);
      losses.push(opt.minimize(() => crossEntropy(net.call(x), y)));
    });
  }
  return { variant, reason: reason.code, losses };
}

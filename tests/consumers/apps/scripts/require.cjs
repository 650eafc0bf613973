const { crossEntropy, init, manualSeed, randn, scope } = require('omnigrad');
const nn = require('omnigrad/nn');
const optim = require('omnigrad/optim');

async function main() {
  const { variant, reason } = await init({ threads: 2 });
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
  console.log(JSON.stringify({ variant, reason: reason.code, losses }));
}
main();

// What is promised by name: everything that Burn has, and what PyTorch's users reach for daily. One of these gone is a
// promise broken; what each does is tested elsewhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as og from 'omnigrad';
import * as optim from 'omnigrad/optim';

const words = (text) => text.trim().split(/\s+/);

const functions = {
  elementwise: `abs acos acosh add asin asinh atan atan2 atanh ceil clamp cos cosh digamma div eq erf erfc erfinv exp expm1
    floor floorDivide fmod frac ge gt hypot isclose isfinite isinf isnan le lerp lgamma log log10 log1p log2 logaddexp
    logicalAnd logicalNot logicalOr logicalXor lt maximum minimum mul nanToNum ne neg polygamma pow reciprocal remainder
    round rsqrt sigmoid sign sin sinc sinh sqrt square sub tan tanh trunc where`,
  activation: `celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leakyRelu logSigmoid logSoftmax mish prelu relu
    relu6 rrelu selu sigmoid silu softmax softmin softplus softshrink softsign swiglu tanh tanhshrink threshold gumbelSoftmax`,
  reduction: `all allclose amax amin any argmax argmin argsort bincount countNonzero cummax cummin cumprod cumsum kthvalue
    logsumexp matrixNorm mean median norm prod quantile sort std sum topk trace unique var`,
  indexing: `embedding embeddingBag gather index indexAdd indexFill indexPut indexSelect maskedFill maskedSelect narrow
    nonzero oneHot scatter scatterAdd scatterReduce searchsorted select slice take takeAlongDim`,
  shape: `cat chunk clone diag diagEmbed diagonal diff expand flatten flip meshgrid movedim pad permute repeat
    repeatInterleave reshape roll split squeeze stack tile transpose tril triu unbind unflatten unsqueeze`,
  product: `addmm baddbmm bilinear bmm cdist cosineSimilarity cross dot einsum kron linear linearActivation matmul outer
    pairwiseDistance`,
  'linear algebra': `cholesky det eigh inverse logdet lstsq pinv qr slogdet solve svd triangularSolve`,
  transform: `fft fft2 fftn ifft ifft2 ifftn irfft irfft2 irfftn rfft rfft2 rfftn`,
  convolution: `conv convTranspose deformConv fold unfold`,
  pooling: `adaptiveAvgPool adaptiveMaxPool avgPool lpPool maxPool maxUnpool`,
  sampling: `affineGrid gridSample interpolate pixelShuffle pixelUnshuffle`,
  norm: `batchNorm groupNorm instanceNorm layerNorm localResponseNorm normalize rmsNorm weightNorm`,
  attention: `rotaryEmbedding scaledDotProductAttention`,
  recurrent: `gru lstm rnn`,
  loss: `binaryCrossEntropy binaryCrossEntropyWithLogits cosineEmbeddingLoss crossEntropy ctcLoss gaussianNllLoss
    hingeEmbeddingLoss huberLoss klDiv l1Loss lpLoss marginRankingLoss mseLoss multiMarginLoss multilabelSoftMarginLoss
    nllLoss poissonNllLoss rnntLoss smoothL1Loss softMarginLoss tripletMarginLoss`,
  random: `alphaDropout bernoulli dropout exponential featureDropout gaussianNoise multinomial normal rand randint randn
    randperm truncNormal uniform`,
  creation: `arange cast eye full linspace ones onesLike tensor zeros zerosLike`,
  gradients: `backward checkpoint customGrad detectAnomaly enableGrad grad hessian hvp jacobian jvp noGrad valueAndGrad vjp`,
};
const optimizers = `SGD Adam AdamW Adagrad Adadelta Adamax NAdam RAdam RMSprop Lion Muon Adan LBFGS clipGradNorm
  clipGradValue ConstantLR LinearLR CosineAnnealingLR CosineAnnealingWarmRestarts ExponentialLR NoamLR StepLR MultiStepLR
  PolynomialLR OneCycleLR CyclicLR LambdaLR SequentialLR ChainedScheduler ReduceLROnPlateau`;

for (const [family, names] of Object.entries(functions)) {
  test(`functions: ${family}`, () => {
    assert.deepEqual(
      words(names).filter((name) => typeof og[name] !== 'function'),
      [],
    );
  });
}

test('optimizers and schedules', () => {
  assert.deepEqual(
    words(optimizers).filter((name) => typeof optim[name] !== 'function'),
    [],
  );
});

test('methods of tensors', () => {
  const methods = `add sub mul div pow matmul sum mean var std norm amax amin argmax cumsum reshape permute transpose
    squeeze unsqueeze flatten unflatten movedim select narrow chunk unbind split expand repeat roll gather softmax
    logSoftmax relu sigmoid tanh exp log sqrt abs clamp maskedFill tril triu sort topk cast clone copy_ fill_ at item
    tolist detach backward dispose`;
  assert.deepEqual(
    words(methods).filter((name) => typeof og.Tensor.prototype[name] !== 'function'),
    [],
  );
});

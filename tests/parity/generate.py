"""Networks of PyTorch: their first weights, what they give, and what ten optimizer steps make of them, in float64.

usage: python3 tests/parity/generate.py     (needs torch 1.13 or later and torchvision; writes tests/parity/data)
One .safetensors a network. Weights and inputs are float32 numbers, so that storing them loses nothing; the rest is
rounded to float32, which is far finer than what is asked of it. Names in a file:
  init/KEY  the state dict; input/I and target/I  what forward and loss are called with;
  output, loss  of the first call; grad/PARAMETER  its gradients; losses  of the ten steps;
  middle/KEY, optimizer/I/NAME  the state dicts of network and optimizer after five of them;
  final/KEY  the state dict after all; eval  the output in eval mode then.
metadata["optimizer"] is {name, options}, its options in camelCase; metadata["groups"] is its state dict's param_groups.
nets.mjs has the same networks in omnigrad.
"""
import json
import re
import struct
from pathlib import Path

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

torch.manual_seed(20261130)
OUT = Path(__file__).resolve().parent / "data"
STEPS = 10


def camel(name):
    return re.sub(r"_(\w)", lambda m: m[1].upper(), name)


def save(path, tensors, metadata):
    """Writes safetensors: a length, a JSON header, the bytes."""
    kinds = {torch.float32: "F32", torch.int64: "I64"}
    header, blobs, at = {"__metadata__": metadata}, [], 0
    for name, x in tensors.items():
        x = x.detach().contiguous()
        x = x if x.dtype == torch.int64 else x.float()
        blob = x.numpy().tobytes()
        header[name] = {"dtype": kinds[x.dtype], "shape": list(x.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def single(*shape):
    return torch.randn(shape).float().double()


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = Residual(3, 3, 1)
        self.layer2 = Residual(3, 6, 2)
        self.fc = nn.Linear(6, 4)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool2d(self.layer2(self.layer1(x)), 1).flatten(1))


class LanguageModel(nn.Module):
    """Its head shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6, padding_idx=0)
        self.rnn = nn.GRU(6, 6, num_layers=2, batch_first=True)
        self.head = nn.Linear(6, 11)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0]).transpose(1, 2)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=True)
        self.out = nn.Linear(10, 2)

    def forward(self, x, h, c):
        y, (hn, cn) = self.lstm(x, (h, c))
        return self.out(y) + hn.mean() + cn.mean()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        for p in self.encoder.parameters():  # its layers begin as copies
            nn.init.uniform_(p, -0.5, 0.5)
        self.out = nn.Linear(8, 3)

    def forward(self, x, lengths):
        padding = torch.arange(x.shape[1]) >= lengths[:, None]
        causal = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        y = self.encoder(x, mask=causal, src_key_padding_mask=padding)
        return self.out(y.masked_fill(padding[..., None], 0).mean(1))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, activation="gelu", norm_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2, nn.LayerNorm(8))
        for p in self.decoder.parameters():
            nn.init.uniform_(p, -0.5, 0.5)

    def forward(self, tgt, memory):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[0]).to(tgt.dtype)
        return self.decoder(tgt, memory, tgt_mask=mask)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect")
        self.up = nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1)
        self.out = nn.Conv2d(10, 1, 1)

    def forward(self, x):
        low = F.silu(self.mid(F.leaky_relu(self.down(x), 0.1)))
        wide = F.interpolate(low[:, :4], scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(torch.cat([x, self.up(low), wide], 1))


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 6, 3)
        self.group = nn.GroupNorm(3, 6)
        self.bend = nn.PReLU(6)
        self.instance = nn.InstanceNorm2d(6, affine=True, track_running_stats=True)
        self.local = nn.LocalResponseNorm(3, alpha=0.1)
        self.out = nn.Conv2d(6, 2, 2)

    def forward(self, x):
        return self.out(self.local(self.instance(self.bend(self.group(self.conv(x))))))


class Deform(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = nn.Conv2d(2, 27, 3, padding=1)
        self.deform = torchvision.ops.DeformConv2d(2, 4, 3, padding=1, groups=2)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        offset, mask = self.offset(x).split([18, 9], 1)
        return self.out(torch.tanh(self.deform(x, offset, torch.sigmoid(mask))).mean((2, 3)))


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 6, 3, padding=1)
        self.rnn = nn.RNN(6, 6, nonlinearity="relu", bidirectional=True)
        self.out = nn.Linear(12, 4)

    def forward(self, x):
        return F.log_softmax(self.out(self.rnn(self.conv(x).permute(2, 0, 1))[0]), -1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        norm = torch.nn.utils.parametrizations.spectral_norm
        self.first = norm(nn.Conv2d(1, 4, 3), n_power_iterations=2)
        self.last = norm(nn.Linear(64, 1))

    def forward(self, x):
        return self.last(F.elu(self.first(x)).flatten(1))


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        kinds = {"kdim": 4, "vdim": 3, "add_bias_kv": True, "add_zero_attn": True, "batch_first": True}
        self.attn = nn.MultiheadAttention(6, 2, **kinds)
        self.bag = nn.EmbeddingBag(9, 3, mode="sum")
        self.cell = nn.LSTMCell(6, 5)
        self.gate = nn.GRUCell(5, 5)
        self.mix = nn.Bilinear(5, 5, 3)
        self.alike = nn.CosineSimilarity()

    def forward(self, x, keys, values, bags):
        y, weights = self.attn(x, keys, values)
        h, c = self.cell(y.mean(1))
        g = self.gate(h, c)
        return self.mix(g, h) + self.bag(bags) + self.alike(g, c)[:, None] * weights.square().sum((1, 2))[:, None]


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = {"num_encoder_layers": 1, "num_decoder_layers": 1, "dim_feedforward": 6, "dropout": 0.0}
        self.transformer = nn.Transformer(4, 2, batch_first=True, **sizes)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1]).to(tgt.dtype)
        return self.transformer(src, tgt, tgt_mask=mask)


class Rare(nn.Module):
    """Layers that few networks have."""

    def __init__(self):
        super().__init__()
        self.shuffle = nn.ChannelShuffle(2)
        self.lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True, proj_size=3)
        self.bag = nn.EmbeddingBag(9, 6, padding_idx=2, include_last_offset=True)
        self.head = nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7], div_value=2.0, head_bias=True)

    def forward(self, x, samples, bags, offsets, classes):
        pooled = F.fractional_max_pool2d(self.shuffle(x), 2, output_size=(4, 3), _random_samples=samples)
        y = self.lstm(pooled.flatten(2).transpose(1, 2))[0].mean(1) + self.bag(bags, offsets)
        return torch.cat([self.head(y, classes).output[:, None], self.head.log_prob(y)], 1)


MLP = lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
CNN = lambda: nn.Sequential(
    *[nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU()],
    *[nn.Flatten(), nn.Linear(24, 4)],
)
SEPARABLE = lambda: nn.Sequential(
    *[nn.Conv2d(3, 6, 1), nn.Hardswish(), nn.Conv2d(6, 6, 3, padding=2, dilation=2, groups=6), nn.BatchNorm2d(6)],
    *[nn.SiLU(), nn.AvgPool2d(3, stride=2, padding=1), nn.Conv2d(6, 2, 1)],
)
VOLUME = lambda: nn.Sequential(
    *[nn.Conv3d(1, 3, 3), nn.Softplus(), nn.MaxPool3d(2), nn.BatchNorm3d(3), nn.ConvTranspose3d(3, 1, 2, stride=2)],
)

labels = lambda high, *shape: torch.randint(0, high, shape)


def ctc(logits, targets):
    lengths = torch.tensor([6, 5]), torch.tensor([2, 3])
    return F.ctc_loss(logits, targets, *lengths)


positive = torch.tensor([3.0], dtype=torch.float64)
NETS = {
    "mlp": (MLP, [single(5, 6)], [labels(3, 5)], F.cross_entropy,
            torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "cnn": (CNN, [single(4, 1, 8, 8)], [labels(4, 4)], lambda y, t: F.cross_entropy(y, t, label_smoothing=0.1),
            torch.optim.Adam, {"lr": 0.01}),
    "resnet": (ResNet, [single(4, 3, 6, 6)], [labels(4, 4)], F.cross_entropy,
               torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    "gru_lm": (LanguageModel, [labels(11, 3, 7)], [labels(11, 3, 7)], lambda y, t: F.cross_entropy(y, t, ignore_index=0),
               torch.optim.RMSprop, {"lr": 0.01, "momentum": 0.5, "centered": True}),
    "lstm": (Tagger, [single(6, 2, 4), single(4, 2, 5), single(4, 2, 5)], [single(6, 2, 2)], F.smooth_l1_loss,
             torch.optim.Adagrad, {"lr": 0.05, "lr_decay": 0.1}),
    "encoder": (Encoder, [single(3, 5, 8), torch.tensor([5, 3, 4])], [labels(3, 3)], F.cross_entropy,
                torch.optim.Adam, {"lr": 0.01, "amsgrad": True}),
    "decoder": (Decoder, [single(4, 2, 8), single(5, 2, 8)], [single(4, 2, 8)], F.mse_loss,
                torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1, "betas": [0.8, 0.99]}),  # NAdam of 1.13 has an error
    "unet": (UNet, [single(2, 2, 8, 8)], [labels(2, 2, 1, 8, 8).double()],
             lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=positive), torch.optim.AdamW, {"lr": 0.01}),
    "norms": (Norms, [single(2, 2, 6, 6)], [single(2, 2, 3, 3)], F.mse_loss, torch.optim.Adamax, {"lr": 0.01}),
    "deform": (Deform, [single(2, 2, 5, 5)], [single(2, 2)], F.mse_loss, torch.optim.RAdam, {"lr": 0.01}),
    "separable": (SEPARABLE, [single(2, 3, 6, 6)], [single(2, 2, 3, 3)], lambda y, t: F.huber_loss(y, t, delta=0.5),
                  torch.optim.Adadelta, {"lr": 1.0}),
    "volume": (VOLUME, [single(2, 1, 6, 6, 6)], [single(2, 1, 4, 4, 4)], F.l1_loss, torch.optim.SGD, {"lr": 0.1}),
    "speech": (Speech, [single(2, 3, 6)], [labels(3, 2, 3) + 1], ctc, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "mixed": (Mixed, [single(3, 4, 6), single(3, 5, 4), single(3, 5, 3), labels(9, 3, 4)], [single(3, 3)], F.mse_loss,
              torch.optim.RMSprop, {"lr": 0.01}),
    "translator": (Translator, [single(2, 5, 4), single(2, 3, 4)], [single(2, 3, 4)], F.mse_loss,
                   torch.optim.Adam, {"lr": 0.01}),
    "critic": (Critic, [single(3, 1, 6, 6)], [single(3, 1)], lambda y, t: (y * t).mean(), torch.optim.Adam, {"lr": 0.01, "betas": [0.5, 0.9]}),
    "rare": (Rare, [single(3, 4, 9, 7), torch.rand(3, 4, 2).float().double(), torch.tensor([2, 5, 1, 2, 8, 2, 2]),
                    torch.tensor([0, 3, 5, 7]), torch.tensor([1, 11, 4])],
             [single(3, 13)], lambda y, t: (y * t).mean(), torch.optim.Adam, {"lr": 0.01}),
    "signs": (MLP, [single(5, 6)], [labels(3, 5)], F.cross_entropy, torch.optim.Rprop, {"lr": 0.05}),
    "averaged": (MLP, [single(5, 6)], [labels(3, 5)], F.cross_entropy,
                 torch.optim.ASGD, {"lr": 0.1, "lambd": 0.2, "t0": 3, "weight_decay": 0.01}),
}


def run(name, make, inputs, targets, loss, kind, options):
    torch.manual_seed(sum(map(ord, name)))
    net = make().float().double()
    if name == "deform":
        nn.init.uniform_(net.offset.bias, -0.4, 0.4)
        net.float().double()
    tensors = {f"init/{key}": x.clone() for key, x in net.state_dict().items()}
    tensors |= {f"input/{i}": x for i, x in enumerate(inputs)} | {f"target/{i}": x for i, x in enumerate(targets)}
    optimizer = kind(net.parameters(), **options)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        output = net(*inputs)
        value = loss(output, *targets)
        value.backward()
        losses.append(value.detach())
        if step == 0:
            tensors |= {"output": output, "loss": value}
            tensors |= {f"grad/{key}": p.grad.clone() for key, p in net.named_parameters()}
        optimizer.step()
        if step == STEPS // 2 - 1:
            tensors |= {f"middle/{key}": x.clone() for key, x in net.state_dict().items()}
            held = optimizer.state_dict()
            for i, entry in held["state"].items():
                entry = {key: torch.as_tensor(x).clone() for key, x in entry.items() if x is not None}
                tensors |= {f"optimizer/{i}/{key}": x for key, x in entry.items()}
    tensors |= {"losses": torch.stack(losses)}
    tensors |= {f"final/{key}": x for key, x in net.state_dict().items()}
    with torch.no_grad():
        tensors["eval"] = net.eval()(*inputs)
    told = {"name": kind.__name__, "options": {camel(key): value for key, value in options.items()}}
    metadata = {"optimizer": json.dumps(told), "groups": json.dumps(held["param_groups"])}
    save(OUT / f"{name}.safetensors", tensors, metadata)
    print(f"{name}: {sum(p.numel() for p in net.parameters())} parameters, loss {losses[0]:.4f} to {losses[-1]:.4f}")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for name, net in NETS.items():
        run(name, *net)

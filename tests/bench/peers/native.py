"""Native PyTorch and torchvision: answers the requests of answer.mjs, as JSON lines. Debian's python3-torch."""

import ctypes
import json
import os
import sys
import time

# Threads pinned, the heap kept warm, OpenBLAS free to choose its kernel; all are read at the start of a process.
# Without them interpolation reads up to 5 times slower, from page faults, and convolution 2 times. A second argument
# names the kernel: OpenBLAS falls back to SSE3 on a processor that is newer than itself.
THREADS, *CORE = sys.argv[1:]
SETTINGS = {
    "OMP_NUM_THREADS": THREADS,
    "OPENBLAS_NUM_THREADS": THREADS,
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
    "MALLOC_TRIM_THRESHOLD_": "4000000000",
    **({"OPENBLAS_CORETYPE": CORE[0]} if CORE else {}),
}
if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
    kept = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    os.execve(sys.executable, [sys.executable, *sys.argv], {**kept, **SETTINGS})

import numpy as np
import torch
import torch.nn.functional as F

try:
    from torchvision.ops import deform_conv2d
except ImportError:
    deform_conv2d = None

torch.set_num_threads(int(THREADS))
WEIGHT_SEED = 99
SAMPLES = 128


def mix(x):
    """inputs.mjs's mix, on an array of uint32."""
    h = x * np.uint32(0x9E3779B1)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def bits(seed, n):
    return mix(np.arange(n, dtype=np.uint32) + np.uint32(seed * 0x6C8E9CF5 & 0xFFFFFFFF))


def uniform(seed, n):
    return (bits(seed, n) >> np.uint32(8)).astype(np.float64) / 0x800000 - 1


def make_input(spec):
    n = int(np.prod(spec["shape"]))
    if "below" in spec:
        start = spec.get("from", 0)
        values = (start + bits(spec["seed"], n) % np.uint32(spec["below"] - start)).astype(np.int64)
    else:
        values = (spec.get("shift", 0) + spec.get("scale", 1) * uniform(spec["seed"], n)).astype(np.float32)
    return torch.from_numpy(values).reshape(spec["shape"])


def fingerprint(result):
    values = result.detach().numpy().astype(np.float64).ravel()
    n = values.size
    places = np.arange(n) if n <= SAMPLES else mix(np.arange(SAMPLES, dtype=np.uint32)) % np.uint32(n)
    return {
        "n": n,
        "norm": float(np.sqrt((values * values).sum())),
        "product": float((values * uniform(WEIGHT_SEED, n)).sum()),
        "samples": values[places].tolist(),
    }


def with_gradients(fn, wanted, g):
    for x in wanted:
        x.requires_grad_()

    def run():
        y = fn()
        return [y, *torch.autograd.grad(y, wanted, g)]

    return run


def one_gradient(fn, x, g):
    """The gradient alone, of a graph that was recorded before."""
    x.requires_grad_()
    y = fn()
    return lambda: torch.autograd.grad(y, [x], [g], retain_graph=True)


def passes(spec, fn, at, wanted):
    if spec["pass"] == "forward":
        return lambda: [fn()]
    if spec["pass"] == "gradient":
        return one_gradient(fn, at["x"], at["g"])
    return with_gradients(fn, [at[name] for name in wanted], at["g"])


def conv(spec, at):
    x, w, g = at["x"], at["weight"], at["g"]
    options = {name: spec[name] for name in ("stride", "padding", "dilation", "groups")}
    # These call the backward alone, without a forward before it.
    if spec["pass"] == "inputGrad":
        return lambda: [torch.nn.grad.conv2d_input(x.shape, w, g, **options)]
    if spec["pass"] == "weightGrad":
        return lambda: [torch.nn.grad.conv2d_weight(x, w.shape, g, **options)]
    function = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.dim()]
    return passes(spec, lambda: function(x, w, **options), at, ["x", "weight"])


def interpolate(spec, at):
    options = {} if spec["mode"] == "nearest" else {"align_corners": False}
    return passes(spec, lambda: F.interpolate(at["x"], scale_factor=2, mode=spec["mode"], **options), at, ["x"])


def deform(spec, at):
    if deform_conv2d is None:
        raise RuntimeError("python3-torchvision is not installed")
    x, offset, weight, mask = (at[name] for name in ("x", "offset", "weight", "mask"))
    forward = lambda: deform_conv2d(x, offset, weight, padding=spec["padding"], mask=mask)
    return passes(spec, forward, at, ["x", "offset", "weight", "mask"])


def ctc(spec, at):
    logits, targets = at["logits"], at["targets"]
    steps, batch, _ = logits.shape
    input_lengths = torch.full((batch,), steps)
    target_lengths = torch.full((batch,), targets.shape[1])
    forward = lambda: F.ctc_loss(logits.log_softmax(-1), targets, input_lengths, target_lengths)
    return with_gradients(forward, [logits], None)


def attention(spec, at):
    q = at["q"]
    forward = lambda: torch.softmax(q @ q.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ q
    return with_gradients(forward, [q], at["g"])


def cnn_step(spec, at):
    x, labels = at["x"], at["labels"]
    weights = [at[name].requires_grad_() for name in ("w1", "w2", "w3", "w4")]
    biases = [torch.zeros(w.shape[0], requires_grad=True) for w in weights]
    optimizer = torch.optim.Adam([*weights, *biases], lr=1e-3)

    def forward():
        h = x
        for w, b in zip(weights[:2], biases[:2]):
            h = F.max_pool2d(F.relu(F.conv2d(h, w, b, padding=1)), 2)
        h = F.relu(F.linear(h.flatten(1), weights[2], biases[2]))
        return F.linear(h, weights[3], biases[3])

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


KINDS = {
    "matmul": lambda spec, at: lambda: [at["a"] @ at["b"]],
    "conv": conv,
    "maxPool": lambda spec, at: passes(spec, lambda: F.max_pool2d(at["x"], 2), at, ["x"]),
    "avgPool": lambda spec, at: passes(spec, lambda: F.avg_pool2d(at["x"], 2), at, ["x"]),
    "interpolate": interpolate,
    "deformConv": deform,
    "ctc": ctc,
    "softmax": lambda spec, at: passes(spec, lambda: at["x"].softmax(-1), at, ["x"]),
    "layerNorm": lambda spec, at: passes(
        spec,
        lambda: F.layer_norm(at["x"], at["weight"].shape, at["weight"], at["bias"]),
        at,
        ["x", "weight", "bias"],
    ),
    "attention": attention,
    "cnnStep": cnn_step,
}

jobs = {}


def blas_kernel():
    """The kernel that OpenBLAS chose, or None where torch was given another BLAS: Debian's takes what is installed."""
    with open("/proc/self/maps") as maps:
        files = {os.path.realpath(line.split()[-1]) for line in maps if "blas" in line and ".so" in line}
    for name in files:
        if "openblas" in name:
            corename = ctypes.CDLL(name).openblas_get_corename
            corename.restype = ctypes.c_char_p
            return corename().decode()
    return None


def start(request):
    kernel = blas_kernel()
    if kernel is None:
        return {"error": "it would run on the reference BLAS; install libopenblas0-pthread"}
    about = f"{torch.__version__}, native, {THREADS} thread{'s' if THREADS != '1' else ''}, OpenBLAS for {kernel}"
    return {"about": about + ("" if deform_conv2d else ", no torchvision")}


def open_job(request):
    spec = request["spec"]
    if spec["kind"] not in KINDS:
        raise RuntimeError(f"has no {spec['kind']}")
    run = KINDS[spec["kind"]](spec, {name: make_input(one) for name, one in spec["inputs"].items()})
    jobs[request["open"]] = run
    if spec["kind"] == "cnnStep":
        return {"results": [fingerprint(torch.tensor([run() for _ in range(4)], dtype=torch.float64))]}
    return {"results": [fingerprint(y) for y in run()]}


def time_job(request):
    run = jobs[request["time"]]
    ms = []
    for _ in range(request["runs"]):
        begin = time.perf_counter()
        for _ in range(request["repeat"]):
            run()
        ms.append((time.perf_counter() - begin) * 1e3 / request["repeat"])
    return {"ms": ms}


def close_job(request):
    jobs.pop(request["close"], None)
    return {}


STEPS = {"start": start, "open": open_job, "time": time_job, "close": close_job}

for line in sys.stdin:
    request = json.loads(line)
    step = next(name for name in STEPS if name in request)
    try:
        reply = STEPS[step](request)
    except Exception as error:  # every failure of a library is an answer
        reply = {"error": (str(error) or type(error).__name__).splitlines()[0]}
    print(json.dumps(reply), flush=True)

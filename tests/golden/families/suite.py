"""What every family uses: random tensors from one generator, and `case`, which records a case with its gradients."""

from collections import defaultdict
from functools import partial

import torch

torch.set_default_dtype(torch.float64)
torch.use_deterministic_algorithms(False)

# All random numbers in the order of the calls: a case that is added goes to the end of its run, or all after it change.
G = torch.Generator()

files = defaultdict(lambda: ({}, []))  # by name: the tensors of a file and its cases
largest_errors = []  # (case, error) of those held against another source
without_second_order = []  # (case, reason)


def rnd(*shape, lo=None, hi=None):
    """Normal, or uniform in [lo, hi); exactly representable in float32."""
    if lo is None:
        t = torch.randn(shape, generator=G)
    else:
        t = torch.rand(shape, generator=G) * (hi - lo) + lo
    return t.float().double()


def rint(lo, hi, *shape):
    return torch.randint(lo, hi, shape, generator=G)


def family(name):
    """The function that adds a case to the file `name`."""
    return partial(case, name)


def case(
    file,
    name,
    args,
    tensors,
    fn,
    op=None,
    diff=None,
    outputs=('y',),
    second=True,
    ref_name='torch',
    check=None,
):
    """Records fn(**tensors), a tensor or a tuple of them, and its gradients.

    op: the operation, if not `name`. args: its options as they are told. diff: the inputs that have gradients; all
    floating ones if None. second: whether to record second order. check: the same function from another source.
    """
    recorded, cases = files[file]
    op = op or name
    name = f'{file}.{name}'
    assert not any(c['name'] == name for c in cases), name
    if diff is None:
        diff = [k for k, v in tensors.items() if v.dtype.is_floating_point]
    leaves = leaves_of(tensors, diff)
    results = as_tuple(fn(**leaves))
    assert len(results) == len(outputs), (name, len(results))
    gys = {}
    total = 0
    for y, result in zip(outputs, results):
        record(recorded, f'{name}/out.{y}', result)
        if result.dtype.is_floating_point and diff:
            gys[y] = like(result).requires_grad_(True)
            record(recorded, f'{name}/gy.{y}', gys[y])
            total = total + (result * gys[y]).sum()
    for k, v in tensors.items():
        recorded[f'{name}/{k}'] = v.contiguous()
    has_second = False
    if diff:
        has_second = record_gradients(recorded, name, total, {k: leaves[k] for k in diff}, gys, second)
    if check is not None:
        error = error_of(check, recorded, name, tensors, diff, outputs, gys)
        largest_errors.append((name, error))
    tol = 1e-05
    cases.append(
        dict(
            name=name,
            op=op,
            args=args,
            inputs=list(tensors),
            diff=list(diff),
            outputs=list(outputs),
            second_order=has_second,
            rtol=tol,
            atol=tol,
            ref=ref_name,
        )
    )


def leaves_of(tensors, diff):
    leaves = {k: v.clone() for k, v in tensors.items()}
    for k in diff:
        leaves[k].requires_grad_(True)
    return leaves


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def like(t):
    return rnd(*t.shape) if t.dim() else rnd(1)[0]


def record(recorded, name, t):
    recorded[name] = t.detach().clone().contiguous()


def or_zeros(grads, xs):
    return [torch.zeros_like(x) if g is None else g for g, x in zip(grads, xs)]


def record_gradients(recorded, name, total, xs, gys, second):
    """First order, and second order if `second`; whether there is second order."""
    grads = torch.autograd.grad(total, list(xs.values()), create_graph=second, allow_unused=True)
    grads = or_zeros(grads, xs.values())
    for k, g in zip(xs, grads):
        record(recorded, f'{name}/grad.{k}', g)
    if not second:
        return False
    s = 0
    for k, g in zip(xs, grads):
        v = like(g)
        recorded[f'{name}/v.{k}'] = v.contiguous()
        s = s + (g * v).sum()
    targets = {f'grad2.{k}': x for k, x in xs.items()} | {f'grad2.gy.{y}': gy for y, gy in gys.items()}
    grads = [None] * len(targets)
    try:
        if s.requires_grad:
            grads = torch.autograd.grad(s, list(targets.values()), allow_unused=True)
    except RuntimeError as e:  # PyTorch has no second order here
        without_second_order.append((name, str(e)[:90]))
        for k in xs:
            del recorded[f'{name}/v.{k}']
        return False
    for k, g in zip(targets, or_zeros(grads, targets.values())):
        record(recorded, f'{name}/{k}', g)
    return True


def error_of(check, recorded, name, tensors, diff, outputs, gys):
    """Largest difference of outputs and first-order gradients from what `check` gives."""
    leaves = leaves_of(tensors, diff)
    error = 0.0
    total = 0
    for y, result in zip(outputs, as_tuple(check(**leaves))):
        error = max(error, (result.detach() - recorded[f'{name}/out.{y}']).abs().max().item())
        if y in gys:
            total = total + (result * gys[y].detach()).sum()
    if torch.is_tensor(total) and total.requires_grad:
        grads = torch.autograd.grad(total, [leaves[k] for k in diff], allow_unused=True)
        for k, g in zip(diff, grads):
            if g is not None:
                error = max(error, (g - recorded[f'{name}/grad.{k}']).abs().max().item())
    return error

"""Differentiable float64 reference definitions, written from the mathematics.

Each is checked in generate.py against PyTorch or torchvision wherever one of them has the op, so that the
cases nobody else has (4-D convolution, second-order deformable convolution, lanczos3 gradients) rest on
a definition that agrees with them everywhere they overlap.
"""

import itertools
import math

import torch
import torch.nn.functional as F


def tup(v, n):
    return [v] * n if isinstance(v, int) else list(v)


def conv_nd(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of any rank. x [N,C,*S], w [O,C/groups,*K]."""
    n = x.dim() - 2
    stride, dilation = tup(stride, n), tup(dilation, n)
    pads = (
        padding
        if isinstance(padding, list) and padding and isinstance(padding[0], list)
        else [[p, p] for p in tup(padding, n)]
    )
    flat = []
    for lo, hi in reversed(pads):
        flat += [lo, hi]
    xp = F.pad(x, flat)
    K = list(w.shape[2:])
    S = list(xp.shape[2:])
    out = [(S[i] - dilation[i] * (K[i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    N, C = x.shape[:2]
    O = w.shape[0]
    G = groups
    y = 0
    for tap in itertools.product(*[range(k) for k in K]):
        sl = xp
        for i in range(n):
            start = tap[i] * dilation[i]
            sl = sl.narrow(2 + i, start, (out[i] - 1) * stride[i] + 1)
            idx = torch.arange(0, (out[i] - 1) * stride[i] + 1, stride[i])
            sl = sl.index_select(2 + i, idx)
        sl = sl.reshape(N, G, C // G, -1)
        wt = w[(slice(None), slice(None)) + tap].reshape(G, O // G, C // G)
        y = y + torch.einsum('ngcs,goc->ngos', sl, wt)
    y = y.reshape([N, O] + out)
    if b is not None:
        y = y + b.reshape([1, -1] + [1] * n)
    return y


def conv_transpose_nd(x, w, b=None, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """Adjoint of conv_nd. x [N,Cin,*S], w [Cin,Cout/groups,*K]."""
    n = x.dim() - 2
    stride, padding, output_padding, dilation = (
        tup(v, n) for v in (stride, padding, output_padding, dilation)
    )
    K = list(w.shape[2:])
    S = list(x.shape[2:])
    full = [(S[i] - 1) * stride[i] + dilation[i] * (K[i] - 1) + 1 + output_padding[i] for i in range(n)]
    N, Cin = x.shape[:2]
    G = groups
    Cog = w.shape[1]
    acc = torch.zeros([N, G * Cog] + full, dtype=x.dtype)
    xg = x.reshape(N, G, Cin // G, -1)
    for tap in itertools.product(*[range(k) for k in K]):
        wt = w[(slice(None), slice(None)) + tap].reshape(G, Cin // G, Cog)
        part = torch.einsum('ngcs,gco->ngos', xg, wt).reshape([N, G * Cog] + S)
        # place part on the strided grid by padding with zeros between samples
        for i in range(n):
            d = 2 + i
            z = torch.zeros([*part.shape[:d], stride[i] - 1, *part.shape[d:]], dtype=x.dtype)
            z = z.movedim(d, d + 1)
            part = torch.cat([part.unsqueeze(d + 1), z], dim=d + 1).flatten(d, d + 1)
            part = part.narrow(d, 0, (S[i] - 1) * stride[i] + 1)
            lo = tap[i] * dilation[i]
            hi = full[i] - lo - part.shape[d]
            pad = [0, 0] * (part.dim() - 1 - d) + [lo, hi]
            part = F.pad(part, pad)
        acc = acc + part
    for i in range(n):
        acc = acc.narrow(2 + i, padding[i], full[i] - 2 * padding[i])
    if b is not None:
        acc = acc + b.reshape([1, -1] + [1] * n)
    return acc


def deform_conv_nd(
    x, offset, w, b=None, mask=None, stride=1, padding=0, dilation=1, offset_groups=1, groups=1
):
    """Deformable convolution v2 of spatial rank n (1, 2 or 3).

    x [N,C,*S]; offset [N, offset_groups*prod(K)*n, *out], for each offset group and tap the n coordinates in
    axis order; mask [N, offset_groups*prod(K), *out] or None. A sample outside [-1, size] on any axis is 0 and
    each corner outside the image contributes 0 (zero padding), as in torchvision.
    """
    n = x.dim() - 2
    stride, padding, dilation = (tup(v, n) for v in (stride, padding, dilation))
    N, C = x.shape[:2]
    S = list(x.shape[2:])
    K = list(w.shape[2:])
    O = w.shape[0]
    T = math.prod(K)
    out = [(S[i] + 2 * padding[i] - dilation[i] * (K[i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    OG = offset_groups
    off = offset.reshape([N, OG, T, n] + out)
    taps = list(itertools.product(*[range(k) for k in K]))
    coords = []
    for i in range(n):
        base = torch.arange(out[i], dtype=x.dtype) * stride[i] - padding[i]
        shape = [1] * n
        shape[i] = out[i]
        base = base.reshape([1, 1, 1] + shape)
        t = torch.tensor([tp[i] * dilation[i] for tp in taps], dtype=x.dtype).reshape([1, 1, T] + [1] * n)
        coords.append(base + t + off[:, :, :, i])  # [N,OG,T,*out]
    P = math.prod(out)
    xg = x.reshape(N, OG, C // OG, math.prod(S))
    inside = torch.ones_like(coords[0], dtype=torch.bool)
    for i in range(n):
        inside &= (coords[i] > -1) & (coords[i] < S[i])
    val = 0
    floors = [torch.floor(c.detach()) for c in coords]
    for corner in itertools.product((0, 1), repeat=n):
        wgt, ok, lin = 1, inside, 0
        for i in range(n):
            ci = floors[i] + corner[i]
            frac = coords[i] - floors[i]
            wgt = wgt * (frac if corner[i] else (1 - frac))
            ok = ok & (ci >= 0) & (ci <= S[i] - 1)
            lin = lin * S[i] + ci.clamp(0, S[i] - 1)
        lin = lin.long().reshape(N, OG, 1, T * P).expand(N, OG, C // OG, T * P)
        v = torch.gather(xg, 3, lin).reshape([N, OG, C // OG, T] + out)
        val = val + v * (wgt * ok.to(x.dtype)).unsqueeze(2)
    if mask is not None:
        val = val * mask.reshape([N, OG, 1, T] + out)
    col = val.reshape(N, groups, C // groups, T, P)
    wt = w.reshape(groups, O // groups, C // groups, T)
    y = torch.einsum('ngctp,goct->ngop', col, wt).reshape([N, O] + out)
    if b is not None:
        y = y + b.reshape([1, -1] + [1] * n)
    return y


def _taps(mode, n_in, n_out, align_corners):
    """Per-axis (index, weight) rows of the sampling matrix, float64."""
    rows = []
    for o in range(n_out):
        if mode == 'nearest':
            rows.append([(min(int(math.floor(o * n_in / n_out)), n_in - 1), 1.0)])
            continue
        if mode == 'nearest-exact':
            rows.append([(min(int(math.floor((o + 0.5) * n_in / n_out)), n_in - 1), 1.0)])
            continue
        if align_corners:
            s = o * (n_in - 1) / (n_out - 1) if n_out > 1 else 0.0
        else:
            s = (o + 0.5) * n_in / n_out - 0.5
        if mode == 'linear':
            if not align_corners:
                s = max(s, 0.0)
            i0 = min(int(math.floor(s)), n_in - 1)
            i1 = min(i0 + 1, n_in - 1)
            f = s - i0
            rows.append([(i0, 1 - f), (i1, f)])
        elif mode == 'cubic':
            a = -0.75
            i0 = math.floor(s)
            t = s - i0
            c1 = lambda u: ((a + 2) * u - (a + 3)) * u * u + 1
            c2 = lambda u: ((a * u - 5 * a) * u + 8 * a) * u - 4 * a
            ws = [c2(t + 1), c1(t), c1(1 - t), c2(2 - t)]
            rows.append([(min(max(i0 - 1 + k, 0), n_in - 1), ws[k]) for k in range(4)])
        elif mode == 'lanczos3':
            i0 = math.floor(s)

            def lz(u):
                if u == 0:
                    return 1.0
                if abs(u) >= 3:
                    return 0.0
                p = math.pi * u
                return math.sin(p) * math.sin(p / 3) / (p * p / 3)

            r = [(i0 + k, lz(s - (i0 + k))) for k in range(-2, 4) if 0 <= i0 + k <= n_in - 1]
            tot = sum(w for _, w in r)
            rows.append([(i, w / tot) for i, w in r])
        else:
            raise ValueError(mode)
    return rows


def interp_nd(x, size, mode, align_corners=False):
    """Separable resampling of any spatial rank; mode in nearest, nearest-exact, linear, cubic, lanczos3."""
    y = x
    for i, n_out in enumerate(size):
        n_in = x.shape[2 + i]
        M = torch.zeros(n_out, n_in, dtype=x.dtype)
        for o, row in enumerate(_taps(mode, n_in, n_out, align_corners)):
            for j, w in row:
                M[o, j] += w
        y = torch.tensordot(y, M, dims=([2 + i], [1])).movedim(-1, 2 + i)
    return y


def ctc_losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity=False):
    """CTC's loss of each sequence by the forward algorithm. log_probs [T,N,C], targets [N,L]."""
    losses = []
    for n in range(log_probs.shape[1]):
        length, steps = int(target_lengths[n]), int(input_lengths[n])
        extended = [blank]
        for label in targets[n, :length].tolist():
            extended += [label, blank]
        states = len(extended)
        if steps == 0:
            losses.append(torch.zeros(()) if length == 0 else torch.tensor(math.inf))
            continue
        skip = torch.tensor(
            [s >= 2 and extended[s] != blank and extended[s] != extended[s - 2] for s in range(states)]
        )
        labels = torch.tensor(extended)
        never = torch.full((states,), -1e30)
        alpha = torch.where(torch.arange(states) < 2, log_probs[0, n][labels], never)
        for k in range(1, steps):
            one_back = torch.cat([never[:1], alpha[:-1]])
            two_back = torch.where(skip, torch.cat([never[:2], alpha[:-2]])[:states], never)
            alpha = torch.logsumexp(torch.stack([alpha, one_back, two_back]), 0) + log_probs[k, n][labels]
        loss = -torch.logsumexp(alpha[-1:] if states == 1 else alpha[-2:], 0)
        if loss.item() > 1e20:
            loss = torch.zeros(()) * log_probs.sum() if zero_infinity else loss * 0 + math.inf
        losses.append(loss)
    return torch.stack(losses)

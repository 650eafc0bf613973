"""Convolution, transposed and deformable convolution."""

import math

import torch.nn.functional as F
import torchvision

import reference as ref
from .suite import family, rnd

conv = family('conv')
conv_transpose = family('conv_transpose')
deform_conv = family('deform_conv')


def conv_cases():
    configs = [
        # rank, N, C, O, size, kernel, stride, padding, dilation, groups, bias
        (1, 2, 3, 4, [9], [3], 1, 1, 1, 1, True),
        (1, 1, 4, 6, [12], [4], 2, 0, 2, 2, False),
        (2, 2, 3, 4, [6, 5], [3, 3], 1, 1, 1, 1, True),
        (2, 1, 4, 8, [9, 8], [3, 2], [2, 1], [1, 0], [2, 1], 2, True),
        (2, 2, 6, 6, [7, 7], [3, 3], 1, 1, 1, 6, True),
        (2, 1, 3, 2, [5, 5], [1, 1], 2, 0, 1, 1, False),
        (2, 1, 2, 2, [4, 4], [3, 3], 1, [[2, 0], [1, 2]], 1, 1, True),
        (3, 1, 2, 3, [5, 4, 4], [3, 2, 2], [2, 1, 1], [1, 0, 1], 1, 1, True),
        (3, 2, 4, 4, [4, 4, 3], [2, 2, 2], 1, 0, [1, 2, 1], 2, False),
        (4, 1, 2, 3, [4, 3, 4, 3], [2, 2, 2, 2], 1, 1, 1, 1, True),
        (4, 1, 4, 2, [4, 4, 3, 3], [3, 2, 2, 1], [2, 1, 2, 1], [1, 0, 1, 0], [1, 2, 1, 1], 2, True),
        (5, 1, 2, 2, [3, 3, 2, 3, 2], [2, 2, 1, 2, 2], 1, 0, 1, 1, True),
        (5, 1, 2, 2, [3, 3, 3, 2, 3], [2, 2, 2, 2, 2], 2, 1, 1, 2, False),
        (6, 1, 1, 2, [2, 3, 2, 2, 3, 2], [2, 2, 1, 2, 2, 2], 1, 0, 1, 1, True),
    ]
    for i, (r, N, C, O, S, K, st, pd, dl, g, bias) in enumerate(configs):
        t = dict(x=rnd(N, C, *S), weight=rnd(O, C // g, *K))
        if bias:
            t['bias'] = rnd(O)
        a = dict(stride=st, padding=pd, dilation=dl, groups=g)
        torch_op = [None, F.conv1d, F.conv2d, F.conv3d]
        check = None
        if r <= 3 and (not (isinstance(pd, list) and isinstance(pd[0], list))):
            check = lambda x, weight, bias=None, f=torch_op[r]: f(x, weight, bias, st, pd, dl, g)
        conv(
            f'conv{r}d_{i}',
            a,
            t,
            lambda x, weight, bias=None: ref.conv_nd(x, weight, bias, st, pd, dl, g),
            op='conv',
            check=check,
            ref_name='torch' if check else 'definition',
        )


def conv_transpose_cases():
    configs = [
        # rank, N, C, O, size, kernel, stride, padding, output padding, dilation, groups, bias
        (1, 2, 3, 4, [6], [3], 2, 1, 1, 1, 1, True),
        (1, 1, 4, 4, [5], [4], 1, 0, 0, 2, 2, False),
        (2, 2, 3, 2, [4, 4], [3, 3], 2, 1, 1, 1, 1, True),
        (2, 1, 4, 6, [4, 3], [3, 2], [2, 1], [1, 0], [1, 0], [1, 2], 2, True),
        (3, 1, 2, 3, [3, 3, 3], [2, 3, 2], [2, 1, 1], [0, 1, 0], [1, 0, 0], 1, 1, True),
        (4, 1, 2, 2, [2, 3, 2, 3], [2, 2, 2, 2], [1, 2, 1, 1], [0, 1, 0, 1], [0, 1, 0, 0], 1, 1, True),
        (5, 1, 2, 2, [2, 2, 2, 2, 2], [2, 1, 2, 2, 1], 1, 0, 0, 1, 2, False),
    ]
    for i, (r, N, C, O, S, K, st, pd, op, dl, g, bias) in enumerate(configs):
        t = dict(x=rnd(N, C, *S), weight=rnd(C, O // g, *K))
        if bias:
            t['bias'] = rnd(O)
        a = dict(stride=st, padding=pd, output_padding=op, dilation=dl, groups=g)
        torch_op = [None, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]
        check = (
            (lambda x, weight, bias=None, f=torch_op[r]: f(x, weight, bias, st, pd, op, g, dl))
            if r <= 3
            else None
        )
        conv_transpose(
            f'ct{r}d_{i}',
            a,
            t,
            lambda x, weight, bias=None: ref.conv_transpose_nd(x, weight, bias, st, pd, op, dl, g),
            op='conv_transpose',
            check=check,
            ref_name='torch' if check else 'definition',
        )


def deform_conv_cases():
    configs = [
        # rank, N, C, O, size, kernel, stride, padding, dilation, offset groups, groups, bias, mask
        (2, 1, 2, 3, [4, 4], [3, 3], 1, 0, 1, 1, 1, True, True),
        (2, 2, 4, 4, [5, 6], [3, 3], 1, 1, 1, 2, 1, True, True),
        (2, 1, 4, 6, [6, 5], [3, 2], [2, 1], [1, 0], [1, 2], 4, 2, True, False),
        (2, 2, 2, 2, [5, 5], [1, 1], 1, 0, 1, 1, 1, False, True),
        (2, 1, 3, 2, [7, 7], [3, 3], 2, 2, 2, 1, 1, True, True),
        (1, 2, 4, 3, [9], [3], 1, 1, 1, 2, 1, True, True),
        (3, 1, 2, 3, [4, 4, 3], [2, 2, 2], 1, [1, 0, 1], 1, 1, 1, True, True),
    ]
    for i, (r, N, C, O, S, K, st, pd, dl, offset_groups, g, bias, with_mask) in enumerate(configs):
        strides, pads, dilations = (ref.tup(st, r), ref.tup(pd, r), ref.tup(dl, r))
        out = [(S[j] + 2 * pads[j] - dilations[j] * (K[j] - 1) - 1) // strides[j] + 1 for j in range(r)]
        T = math.prod(K)
        t = dict(x=rnd(N, C, *S), offset=rnd(N, offset_groups * T * r, *out) * 1.5, weight=rnd(O, C // g, *K))
        t['offset'] = t['offset'].float().double()
        if bias:
            t['bias'] = rnd(O)
        if with_mask:
            t['mask'] = rnd(N, offset_groups * T, *out, lo=0, hi=1)
        a = dict(stride=st, padding=pd, dilation=dl, offset_groups=offset_groups, groups=g)
        check = (
            (
                lambda x, offset, weight, bias=None, mask=None: torchvision.ops.deform_conv2d(
                    x, offset, weight, bias, tuple(strides), tuple(pads), tuple(dilations), mask
                )
            )
            if r == 2
            else None
        )
        deform_conv(
            f'dc{r}d_{i}',
            a,
            t,
            lambda x, offset, weight, bias=None, mask=None: ref.deform_conv_nd(
                x, offset, weight, bias, mask, st, pd, dl, offset_groups, g
            ),
            op='deform_conv',
            check=check,
            ref_name='torchvision' if check else 'definition',
        )

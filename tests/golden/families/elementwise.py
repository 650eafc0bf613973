"""Elementwise ops and reductions."""

import torch
import torch.nn.functional as F

from .suite import G, family, rnd

unary = family('unary')
binary = family('binary')
reduce = family('reduce')


def unary_cases():
    functions = dict(
        abs=(torch.abs, -2, 2),
        neg=(torch.neg, -2, 2),
        exp=(torch.exp, -2, 2),
        expm1=(torch.expm1, -1, 1),
        log=(torch.log, 0.1, 3),
        log1p=(torch.log1p, -0.5, 2),
        log2=(torch.log2, 0.1, 3),
        log10=(torch.log10, 0.1, 3),
        sqrt=(torch.sqrt, 0.1, 3),
        rsqrt=(torch.rsqrt, 0.1, 3),
        reciprocal=(torch.reciprocal, 0.3, 3),
        square=(torch.square, -2, 2),
        sin=(torch.sin, -3, 3),
        cos=(torch.cos, -3, 3),
        tan=(torch.tan, -1.2, 1.2),
        asin=(torch.asin, -0.9, 0.9),
        acos=(torch.acos, -0.9, 0.9),
        atan=(torch.atan, -3, 3),
        sinh=(torch.sinh, -2, 2),
        cosh=(torch.cosh, -2, 2),
        tanh=(torch.tanh, -2, 2),
        asinh=(torch.asinh, -2, 2),
        acosh=(torch.acosh, 1.2, 3),
        atanh=(torch.atanh, -0.9, 0.9),
        erf=(torch.erf, -2, 2),
        erfc=(torch.erfc, -2, 2),
        erfinv=(torch.erfinv, -0.9, 0.9),
        lgamma=(torch.lgamma, 0.3, 4),
        digamma=(torch.digamma, 0.3, 4),
        sigmoid=(torch.sigmoid, -3, 3),
        relu=(F.relu, -2, 2),
        relu6=(F.relu6, -3, 9),
        leaky_relu=(F.leaky_relu, -2, 2),
        elu=(F.elu, -2, 2),
        selu=(F.selu, -2, 2),
        celu=(F.celu, -2, 2),
        gelu=(F.gelu, -2, 2),
        gelu_tanh=(lambda v: F.gelu(v, approximate='tanh'), -2, 2),
        silu=(F.silu, -3, 3),
        mish=(F.mish, -3, 3),
        softplus=(F.softplus, -3, 3),
        softsign=(F.softsign, -2, 2),
        tanhshrink=(F.tanhshrink, -2, 2),
        hardtanh=(F.hardtanh, -2, 2),
        hardsigmoid=(F.hardsigmoid, -4, 4),
        hardswish=(F.hardswish, -4, 4),
        hardshrink=(F.hardshrink, -2, 2),
        softshrink=(F.softshrink, -2, 2),
        log_sigmoid=(F.logsigmoid, -3, 3),
        sinc=(torch.sinc, 0.2, 2),
        floor=(torch.floor, -3, 3),
        ceil=(torch.ceil, -3, 3),
        round=(torch.round, -3, 3),
        trunc=(torch.trunc, -3, 3),
        sign=(torch.sign, -2, 2),
        frac=(torch.frac, -2, 2),
    )
    for k, (f, lo, hi) in functions.items():
        unary(k, {}, dict(x=rnd(3, 5, lo=lo, hi=hi)), lambda x: f(x))
    unary('clamp', dict(min=-0.5, max=0.8), dict(x=rnd(4, 6)), lambda x: x.clamp(-0.5, 0.8))
    unary('pow_scalar', dict(exponent=2.5), dict(x=rnd(4, 3, lo=0.2, hi=2)), lambda x: x**2.5, op='pow')
    for dim in (0, 1, -1):
        unary(
            f'softmax_{dim}', dict(dim=dim), dict(x=rnd(3, 4, 5)), lambda x: F.softmax(x, dim), op='softmax'
        )
        unary(
            f'log_softmax_{dim}',
            dict(dim=dim),
            dict(x=rnd(3, 4, 5)),
            lambda x: F.log_softmax(x, dim),
            op='log_softmax',
        )
        unary(f'cumsum_{dim}', dict(dim=dim), dict(x=rnd(3, 4, 5)), lambda x: x.cumsum(dim), op='cumsum')
        unary(f'cumprod_{dim}', dict(dim=dim), dict(x=rnd(3, 4, 3)), lambda x: x.cumprod(dim), op='cumprod')
        unary(
            f'logsumexp_{dim}',
            dict(dim=[dim], keepdim=False),
            dict(x=rnd(3, 4, 5)),
            lambda x: x.logsumexp(dim),
            op='logsumexp',
        )
    unary(
        'cumprod_zero',
        dict(dim=0),
        dict(x=torch.tensor([2.0, 0.0, 3.0, 0.0, 4.0])),
        lambda x: x.cumprod(0),
        op='cumprod',
    )
    unary('glu', dict(dim=1), dict(x=rnd(3, 6, 2)), lambda x: F.glu(x, 1))
    unary('prelu', {}, dict(x=rnd(2, 3, 4), weight=rnd(3)), lambda x, weight: F.prelu(x, weight))


def binary_cases():
    shapes = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (2, 3))]
    for k, f in dict(
        add=torch.add,
        sub=torch.sub,
        mul=torch.mul,
        div=torch.div,
        maximum=torch.maximum,
        minimum=torch.minimum,
        atan2=torch.atan2,
        hypot=torch.hypot,
        remainder=torch.remainder,
        fmod=torch.fmod,
        pow=torch.pow,
    ).items():
        for i, (a, b) in enumerate(shapes):
            ta, tb = (
                (rnd(*a, lo=0.3, hi=2), rnd(*b, lo=0.3, hi=2))
                if k in ('pow', 'div', 'remainder', 'fmod')
                else (rnd(*a), rnd(*b))
            )
            binary(f'{k}_{i}', {}, dict(x=ta, y=tb), lambda x, y: f(x, y), op=k)
    binary(
        'where',
        {},
        dict(cond=torch.rand(3, 4, generator=G) > 0.5, x=rnd(3, 4), y=rnd(4)),
        lambda cond, x, y: torch.where(cond, x, y),
    )
    binary(
        'lerp',
        {},
        dict(x=rnd(3, 4), y=rnd(3, 4), weight=rnd(3, 4)),
        lambda x, y, weight: torch.lerp(x, y, weight),
    )


def reduce_cases():
    for dims in ([0], [1, 2], [0, 1, 2], [-1]):
        for keepdim in (False, True):
            n = f"{'_'.join(map(str, dims))}_{int(keepdim)}"
            reduce(
                f'sum_{n}',
                dict(dim=dims, keepdim=keepdim),
                dict(x=rnd(2, 3, 4)),
                lambda x: x.sum(dims, keepdim),
                op='sum',
            )
            reduce(
                f'mean_{n}',
                dict(dim=dims, keepdim=keepdim),
                dict(x=rnd(2, 3, 4)),
                lambda x: x.mean(dims, keepdim),
                op='mean',
            )
            reduce(
                f'var_{n}',
                dict(dim=dims, keepdim=keepdim, correction=1),
                dict(x=rnd(2, 3, 4)),
                lambda x: x.var(dims, correction=1, keepdim=keepdim),
                op='var',
            )
            reduce(
                f'amax_{n}',
                dict(dim=dims, keepdim=keepdim),
                dict(x=rnd(2, 3, 4)),
                lambda x: x.amax(dims, keepdim),
                op='amax',
            )
            reduce(
                f'amin_{n}',
                dict(dim=dims, keepdim=keepdim),
                dict(x=rnd(2, 3, 4)),
                lambda x: x.amin(dims, keepdim),
                op='amin',
            )
            reduce(
                f'norm_{n}',
                dict(p=2, dim=dims, keepdim=keepdim),
                dict(x=rnd(2, 3, 4)),
                lambda x: torch.linalg.vector_norm(x, 2, dims, keepdim),
                op='norm',
            )
    reduce('prod_1', dict(dim=[1], keepdim=False), dict(x=rnd(2, 3, 4)), lambda x: x.prod(1), op='prod')
    reduce(
        'prod_zeros',
        dict(dim=[0], keepdim=False),
        dict(x=torch.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0], [5.0, 6.0, 7.0]])),
        lambda x: x.prod(0),
        op='prod',
    )
    reduce(
        'amax_ties',
        dict(dim=[0], keepdim=False),
        dict(x=torch.tensor([[1.0, 3.0, 2.0], [1.0, 3.0, 0.0], [0.0, 3.0, 2.0]])),
        lambda x: x.amax([0]),
        op='amax',
    )

"""Linear algebra, indexing, shape."""

import torch
import torch.nn.functional as F

from .suite import G, family, rint, rnd

linalg = family('linalg')
index = family('index')


def linalg_cases():
    shapes = [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 1, 3, 4), (5, 4, 2)),
    ]
    for i, (a, b) in enumerate(shapes):
        linalg(f'matmul_{i}', {}, dict(x=rnd(*a), y=rnd(*b)), lambda x, y: x @ y, op='matmul')
    linalg(
        'linear',
        {},
        dict(x=rnd(2, 3, 4), weight=rnd(5, 4), bias=rnd(5)),
        lambda x, weight, bias: F.linear(x, weight, bias),
    )
    linalg(
        'bilinear',
        {},
        dict(x1=rnd(3, 4), x2=rnd(3, 5), weight=rnd(2, 4, 5), bias=rnd(2)),
        lambda x1, x2, weight, bias: F.bilinear(x1, x2, weight, bias),
    )
    for eq, sh in (
        ('bij,bjk->bik', [(2, 3, 4), (2, 4, 5)]),
        ('ij,jk,kl->il', [(2, 3), (3, 4), (4, 2)]),
        ('bhqd,bhkd->bhqk', [(1, 2, 3, 4), (1, 2, 5, 4)]),
        ('ii->i', [(4, 4)]),
        ('ij->ji', [(3, 4)]),
        ('bi,i->b', [(3, 4), (4,)]),
    ):
        t = {f'x{i}': rnd(*s) for i, s in enumerate(sh)}
        linalg(
            'einsum_' + eq.replace(',', '_').replace('->', '_to_'),
            dict(equation=eq),
            t,
            lambda **u: torch.einsum(eq, *u.values()),
            op='einsum',
        )
    spd = rnd(4, 4)
    spd = (spd @ spd.T + 4 * torch.eye(4)).float().double()
    linalg('cholesky', {}, dict(x=spd), lambda x: torch.linalg.cholesky(x))
    linalg('inverse', {}, dict(x=spd), lambda x: torch.linalg.inv(x))
    linalg('det', {}, dict(x=spd), lambda x: torch.linalg.det(x))
    linalg('solve', {}, dict(x=spd, y=rnd(4, 2)), lambda x, y: torch.linalg.solve(x, y))


def index_cases():
    indices = rint(0, 4, 3, 5)
    index('gather', dict(dim=0), dict(x=rnd(4, 5), index=indices), lambda x, index: x.gather(0, index))
    index(
        'scatter_add',
        dict(dim=0),
        dict(x=rnd(4, 5), index=indices, src=rnd(3, 5)),
        lambda x, index, src: x.scatter_add(0, index, src),
    )
    index(
        'index_select',
        dict(dim=1),
        dict(x=rnd(3, 5, 2), index=torch.tensor([4, 0, 0, 2])),
        lambda x, index: x.index_select(1, index),
    )
    index(
        'index_add',
        dict(dim=1),
        dict(x=rnd(3, 5, 2), index=torch.tensor([4, 0, 0, 2]), src=rnd(3, 4, 2)),
        lambda x, index, src: x.index_add(1, index, src),
    )
    index(
        'embedding',
        dict(padding_idx=None),
        dict(weight=rnd(7, 3), index=rint(0, 7, 2, 4)),
        lambda index, weight: F.embedding(index, weight),
    )
    index(
        'embedding_pad',
        dict(padding_idx=1),
        dict(weight=rnd(7, 3), index=torch.tensor([[1, 2, 1], [0, 6, 6]])),
        lambda index, weight: F.embedding(index, weight, 1),
        op='embedding',
        second=False,
    )
    index(
        'masked_fill',
        dict(value=-1.5),
        dict(x=rnd(3, 4), mask=torch.rand(3, 4, generator=G) > 0.5),
        lambda x, mask: x.masked_fill(mask, -1.5),
    )
    index(
        'topk',
        dict(k=3, dim=1, largest=True),
        dict(x=rnd(3, 6)),
        lambda x: tuple(x.topk(3, 1)),
        outputs=('values', 'indices'),
    )
    index(
        'sort',
        dict(dim=0, descending=True),
        dict(x=rnd(5, 3)),
        lambda x: tuple(x.sort(0, True)),
        outputs=('values', 'indices'),
    )
    index(
        'cat',
        dict(dim=1),
        dict(x0=rnd(2, 3), x1=rnd(2, 1), x2=rnd(2, 4)),
        lambda x0, x1, x2: torch.cat([x0, x1, x2], 1),
    )
    index('stack', dict(dim=1), dict(x0=rnd(2, 3), x1=rnd(2, 3)), lambda x0, x1: torch.stack([x0, x1], 1))
    for mode in ('constant', 'reflect', 'replicate', 'circular'):
        index(
            f'pad_{mode}',
            dict(padding=[1, 2, 2, 1], mode=mode, value=0.5 if mode == 'constant' else 0.0),
            dict(x=rnd(1, 2, 4, 5)),
            lambda x: F.pad(x, [1, 2, 2, 1], mode, 0.5 if mode == 'constant' else None),
            op='pad',
        )
    index(
        'slice_step',
        dict(dim=1, start=1, stop=7, step=2),
        dict(x=rnd(2, 8)),
        lambda x: x[:, 1:7:2],
        op='slice',
    )
    index('flip', dict(dims=[0, 2]), dict(x=rnd(2, 3, 4)), lambda x: x.flip([0, 2]))
    index('roll', dict(shifts=[1, -2], dims=[0, 2]), dict(x=rnd(2, 3, 4)), lambda x: x.roll((1, -2), (0, 2)))
    index('permute', dict(dims=[2, 0, 1]), dict(x=rnd(2, 3, 4)), lambda x: x.permute(2, 0, 1))
    index(
        'unfold_im2col',
        dict(kernel_size=[2, 3], stride=[1, 2], padding=[1, 0], dilation=[1, 1]),
        dict(x=rnd(1, 2, 5, 6)),
        lambda x: F.unfold(x, (2, 3), (1, 1), (1, 0), (1, 2)),
        op='unfold',
    )
    index(
        'fold_col2im',
        dict(output_size=[5, 6], kernel_size=[2, 3], stride=[1, 2], padding=[1, 0], dilation=[1, 1]),
        dict(x=rnd(1, 12, 12)),
        lambda x: F.fold(x, (5, 6), (2, 3), (1, 1), (1, 0), (1, 2)),
        op='fold',
    )
    index('pixel_shuffle', dict(upscale_factor=2), dict(x=rnd(1, 8, 3, 2)), lambda x: F.pixel_shuffle(x, 2))
    index('tril', dict(diagonal=-1), dict(x=rnd(4, 5)), lambda x: x.tril(-1))
    index('diagonal', dict(offset=1), dict(x=rnd(4, 5)), lambda x: x.diagonal(1))
    index('repeat', dict(repeats=[2, 1, 3]), dict(x=rnd(2, 3)), lambda x: x.repeat(2, 1, 3))
    index(
        'cummax', dict(dim=1), dict(x=rnd(3, 6)), lambda x: tuple(x.cummax(1)), outputs=('values', 'indices')
    )

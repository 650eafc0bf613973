"""Interpolation, grid sampling, pooling."""

import torch.nn.functional as F

import reference as ref
from .suite import family, rnd

interpolate = family('interpolate')
grid_sample = family('grid_sample')
pool = family('pool')


def interpolate_cases():
    torch_mode = {
        1: {'linear': 'linear'},
        2: {'linear': 'bilinear', 'cubic': 'bicubic'},
        3: {'linear': 'trilinear'},
    }
    sizes = (
        [([7], [11]), ([9], [4])],
        [([5, 6], [8, 9]), ([7, 8], [3, 5]), ([4, 4], [8, 8]), ([3, 5], [1, 7])],
        [([3, 4, 3], [5, 6, 4]), ([4, 5, 4], [2, 3, 4])],
    )
    k = 0
    for r, sz in enumerate(sizes, 1):
        for S, O in sz:
            for mode in ['nearest', 'nearest-exact', 'linear', 'cubic', 'lanczos3']:
                for align_corners in [False] if mode.startswith('nearest') else [False, True]:
                    t = dict(x=rnd(2, 3, *S))
                    a = dict(size=O, mode=mode, align_corners=align_corners)
                    check = None
                    if mode.startswith('nearest'):
                        check = lambda x: F.interpolate(x, size=O, mode=mode)
                    elif mode in torch_mode[r]:
                        check = lambda x: F.interpolate(
                            x, size=O, mode=torch_mode[r][mode], align_corners=align_corners
                        )
                    interpolate(
                        f"r{r}_{mode}_{('ac' if align_corners else 'hp')}_{k}",
                        a,
                        t,
                        lambda x: ref.interp_nd(x, O, mode, align_corners),
                        op='interpolate',
                        check=check,
                        ref_name='torch' if check else 'definition',
                    )
                    k += 1
    for S, O in [([9, 8], [4, 3]), ([6, 10], [5, 14])]:
        for mode in ['linear', 'cubic']:
            for align_corners in [False, True]:
                t = dict(x=rnd(1, 2, *S))
                interpolate(
                    f"aa_{mode}_{('ac' if align_corners else 'hp')}_{k}",
                    dict(size=O, mode=mode, align_corners=align_corners, antialias=True),
                    t,
                    lambda x: F.interpolate(
                        x, size=O, mode=torch_mode[2][mode], align_corners=align_corners, antialias=True
                    ),
                    op='interpolate',
                )
                k += 1
    for scale_factor in [1.5, 2.3, 0.6]:
        for mode in ['nearest', 'linear', 'cubic']:
            t = dict(x=rnd(1, 2, 7, 6))
            interpolate(
                f'sf_{mode}_{k}',
                dict(scale_factor=scale_factor, mode=mode, align_corners=False),
                t,
                lambda x: F.interpolate(x, scale_factor=scale_factor, mode=torch_mode[2].get(mode, mode)),
                op='interpolate',
            )
            k += 1


def grid_sample_cases():
    for mode in ['bilinear', 'nearest', 'bicubic']:
        for padding_mode in ['zeros', 'border', 'reflection']:
            for align_corners in [False, True]:
                t = dict(x=rnd(2, 2, 5, 4), grid=rnd(2, 3, 4, 2) * 0.9)
                t['grid'] = t['grid'].float().double()
                grid_sample(
                    f'{mode}_{padding_mode}_{int(align_corners)}',
                    dict(mode=mode, padding_mode=padding_mode, align_corners=align_corners),
                    t,
                    lambda x, grid: F.grid_sample(
                        x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners
                    ),
                    op='grid_sample',
                    second=mode != 'bicubic',
                )
    t = dict(x=rnd(1, 2, 3, 4, 3), grid=(rnd(1, 2, 3, 2, 3) * 0.8).float().double())
    grid_sample(
        '3d_bilinear',
        dict(mode='bilinear', padding_mode='zeros', align_corners=False),
        t,
        lambda x, grid: F.grid_sample(x, grid, mode='bilinear', padding_mode='zeros', align_corners=False),
        op='grid_sample',
    )


def pool_cases():
    avg_pools = [None, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d]
    max_pools = [None, F.max_pool1d, F.max_pool2d, F.max_pool3d]
    adaptive_avg_pools = [None, F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d]
    adaptive_max_pools = [None, F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d]
    S = [None, [9], [7, 6], [5, 4, 6]]
    configs = [dict(k=2, s=2, p=0), dict(k=3, s=2, p=1), dict(k=3, s=1, p=1), dict(k=3, s=2, p=0, ceil=True)]
    for r in (1, 2, 3):
        for i, c in enumerate(configs):
            for include_pad in (True, False):
                x = rnd(2, 3, *S[r])
                a = dict(
                    kernel_size=c['k'],
                    stride=c['s'],
                    padding=c['p'],
                    ceil_mode=c.get('ceil', False),
                    count_include_pad=include_pad,
                )
                pool(
                    f'avg{r}d_{i}_{int(include_pad)}',
                    a,
                    dict(x=x),
                    lambda x: avg_pools[r](x, c['k'], c['s'], c['p'], c.get('ceil', False), include_pad),
                    op='avg_pool',
                )
            for dilation in (1, 2):
                if (c['k'] - 1) * dilation + 1 > min(S[r]) + 2 * c['p']:
                    continue
                x = rnd(2, 2, *S[r])
                a = dict(
                    kernel_size=c['k'],
                    stride=c['s'],
                    padding=c['p'],
                    dilation=dilation,
                    ceil_mode=c.get('ceil', False),
                    return_indices=True,
                )
                pool(
                    f'max{r}d_{i}_{dilation}',
                    a,
                    dict(x=x),
                    lambda x: max_pools[r](x, c['k'], c['s'], c['p'], dilation, c.get('ceil', False), True),
                    op='max_pool',
                    outputs=('y', 'indices'),
                )
        outs = [None, [[1], [4], [9]], [[1, 1], [3, 4], [5, 2]], [[1, 1, 1], [2, 3, 4], [3, 3, 3]]]
        for j, o in enumerate(outs[r]):
            x = rnd(2, 3, *S[r])
            pool(
                f'adaptive_avg{r}d_{j}',
                dict(output_size=o),
                dict(x=x),
                lambda x: adaptive_avg_pools[r](x, o),
                op='adaptive_avg_pool',
            )
            pool(
                f'adaptive_max{r}d_{j}',
                dict(output_size=o, return_indices=True),
                dict(x=rnd(2, 3, *S[r])),
                lambda x: adaptive_max_pools[r](x, o, True),
                op='adaptive_max_pool',
                outputs=('y', 'indices'),
            )
    pool(
        'avg2d_divisor',
        dict(kernel_size=[3, 2], stride=[2, 1], padding=[1, 0], divisor_override=5),
        dict(x=rnd(1, 2, 6, 7)),
        lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 0), divisor_override=5),
        op='avg_pool',
    )
    pool(
        'lp2d',
        dict(norm_type=2.0, kernel_size=3, stride=2),
        dict(x=rnd(1, 2, 7, 7)),
        lambda x: F.lp_pool2d(x, 2.0, 3, 2),
        op='lp_pool',
        second=False,
    )

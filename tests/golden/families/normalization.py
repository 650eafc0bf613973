"""Norms and attention."""

import torch
import torch.nn.functional as F

from .suite import G, family, rnd

norm = family('norm')
attention = family('attention')


def norm_cases():
    x = rnd(3, 6, 5)
    norm(
        'layer',
        dict(normalized_shape=[5], eps=1e-05),
        dict(x=x, weight=rnd(5), bias=rnd(5)),
        lambda x, weight, bias: F.layer_norm(x, [5], weight, bias, 1e-05),
        op='layer_norm',
    )
    norm(
        'layer2',
        dict(normalized_shape=[6, 5], eps=0.001),
        dict(x=x, weight=rnd(6, 5), bias=rnd(6, 5)),
        lambda x, weight, bias: F.layer_norm(x, [6, 5], weight, bias, 0.001),
        op='layer_norm',
    )
    norm(
        'rms',
        dict(normalized_shape=[5], eps=1e-06),
        dict(x=x, weight=rnd(5)),
        lambda x, weight: F.rms_norm(x, [5], weight, 1e-06),
        op='rms_norm',
    )
    norm(
        'group',
        dict(num_groups=3, eps=1e-05),
        dict(x=rnd(2, 6, 4, 3), weight=rnd(6), bias=rnd(6)),
        lambda x, weight, bias: F.group_norm(x, 3, weight, bias, 1e-05),
        op='group_norm',
    )
    norm(
        'instance',
        dict(eps=1e-05),
        dict(x=rnd(2, 3, 5, 4), weight=rnd(3), bias=rnd(3)),
        lambda x, weight, bias: F.instance_norm(x, None, None, weight, bias, True, 0.1, 1e-05),
        op='instance_norm',
    )
    norm(
        'batch_train',
        dict(training=True, momentum=0.1, eps=1e-05),
        dict(
            x=rnd(4, 3, 3, 2),
            running_mean=rnd(3),
            running_var=rnd(3, lo=0.5, hi=2),
            weight=rnd(3),
            bias=rnd(3),
        ),
        lambda x, running_mean, running_var, weight, bias: F.batch_norm(
            x, running_mean.clone(), running_var.clone(), weight, bias, True, 0.1, 1e-05
        ),
        op='batch_norm',
        diff=['x', 'weight', 'bias'],
    )
    norm(
        'batch_eval',
        dict(training=False, momentum=0.1, eps=1e-05),
        dict(
            x=rnd(4, 3, 3, 2),
            running_mean=rnd(3),
            running_var=rnd(3, lo=0.5, hi=2),
            weight=rnd(3),
            bias=rnd(3),
        ),
        lambda x, running_mean, running_var, weight, bias: F.batch_norm(
            x, running_mean, running_var, weight, bias, False, 0.1, 1e-05
        ),
        op='batch_norm',
        diff=['x', 'weight', 'bias'],
    )
    norm(
        'lrn',
        dict(size=3, alpha=0.01, beta=0.75, k=1.0),
        dict(x=rnd(2, 5, 3, 3)),
        lambda x: F.local_response_norm(x, 3, 0.01, 0.75, 1.0),
        op='local_response_norm',
    )


def attention_cases():
    for name, is_causal, mask in (
        ('plain', False, None),
        ('causal', True, None),
        ('mask', False, 'float'),
        ('bool', False, 'bool'),
    ):
        t = dict(q=rnd(2, 2, 4, 3), k=rnd(2, 2, 4, 3), v=rnd(2, 2, 4, 5))
        if mask == 'float':
            t['attn_mask'] = rnd(4, 4)
        if mask == 'bool':
            t['attn_mask'] = torch.rand(4, 4, generator=G) > 0.3
            t['attn_mask'][:, 0] = True
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            attention(
                name,
                dict(is_causal=is_causal),
                t,
                lambda q, k, v, attn_mask=None: F.scaled_dot_product_attention(
                    q, k, v, attn_mask, 0.0, is_causal
                ),
                op='scaled_dot_product_attention',
            )

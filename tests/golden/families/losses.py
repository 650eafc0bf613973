"""Losses but CTC."""

import torch
import torch.nn.functional as F

from .suite import family, rint, rnd

loss = family('loss')


def loss_cases():
    classes = rint(0, 5, 6)
    for reduction in ('mean', 'sum', 'none'):
        for smoothing in (0.0, 0.1):
            t = dict(input=rnd(6, 5), target=classes, weight=rnd(5, lo=0.2, hi=2))
            loss(
                f'ce_{reduction}_{smoothing}',
                dict(reduction=reduction, label_smoothing=smoothing),
                t,
                lambda input, target, weight: F.cross_entropy(
                    input, target, weight, reduction=reduction, label_smoothing=smoothing
                ),
                op='cross_entropy',
                diff=['input'],
            )
        t = dict(input=rnd(6, 5), target=torch.where(torch.arange(6) == 2, torch.tensor(-100), classes))
        loss(
            f'ce_ignore_{reduction}',
            dict(reduction=reduction, ignore_index=-100),
            t,
            lambda input, target: F.cross_entropy(input, target, reduction=reduction),
            op='cross_entropy',
            diff=['input'],
        )
        t = dict(input=rnd(2, 4, 3, 3), target=rint(0, 4, 2, 3, 3))
        loss(
            f'ce_spatial_{reduction}',
            dict(reduction=reduction),
            t,
            lambda input, target: F.cross_entropy(input, target, reduction=reduction),
            op='cross_entropy',
            diff=['input'],
        )
        t = dict(input=rnd(5, 4), target=torch.softmax(rnd(5, 4), 1))
        loss(
            f'ce_prob_{reduction}',
            dict(reduction=reduction),
            t,
            lambda input, target: F.cross_entropy(input, target, reduction=reduction),
            op='cross_entropy',
            diff=['input', 'target'],
        )
        t = dict(input=rnd(4, 3), target=rnd(4, 3))
        loss(
            f'mse_{reduction}',
            dict(reduction=reduction),
            t,
            lambda input, target: F.mse_loss(input, target, reduction=reduction),
            op='mse_loss',
        )
        loss(
            f'l1_{reduction}',
            dict(reduction=reduction),
            t,
            lambda input, target: F.l1_loss(input, target, reduction=reduction),
            op='l1_loss',
        )
        loss(
            f'smooth_l1_{reduction}',
            dict(reduction=reduction, beta=0.7),
            t,
            lambda input, target: F.smooth_l1_loss(input, target, reduction=reduction, beta=0.7),
            op='smooth_l1_loss',
        )
        loss(
            f'huber_{reduction}',
            dict(reduction=reduction, delta=0.7),
            t,
            lambda input, target: F.huber_loss(input, target, reduction=reduction, delta=0.7),
            op='huber_loss',
            second=False,
        )
        tb = dict(input=rnd(4, 3), target=rnd(4, 3, lo=0, hi=1), pos_weight=rnd(3, lo=0.5, hi=2))
        loss(
            f'bce_logits_{reduction}',
            dict(reduction=reduction),
            tb,
            lambda input, target, pos_weight: F.binary_cross_entropy_with_logits(
                input, target, pos_weight=pos_weight, reduction=reduction
            ),
            op='binary_cross_entropy_with_logits',
            diff=['input'],
        )
        tb = dict(input=rnd(4, 3, lo=0.05, hi=0.95), target=rnd(4, 3, lo=0, hi=1))
        loss(
            f'bce_{reduction}',
            dict(reduction=reduction),
            tb,
            lambda input, target: F.binary_cross_entropy(input, target, reduction=reduction),
            op='binary_cross_entropy',
            diff=['input'],
        )
        tk = dict(input=torch.log_softmax(rnd(4, 3), 1), target=torch.softmax(rnd(4, 3), 1))
        loss(
            f'kl_{reduction}',
            dict(reduction=reduction),
            tk,
            lambda input, target: F.kl_div(input, target, reduction=reduction),
            op='kl_div',
            diff=['input'],
        )
        tp = dict(input=rnd(4, 3), target=rint(0, 4, 4, 3).double())
        loss(
            f'poisson_{reduction}',
            dict(reduction=reduction),
            tp,
            lambda input, target: F.poisson_nll_loss(input, target, reduction=reduction),
            op='poisson_nll_loss',
            diff=['input'],
        )
        tn = dict(input=rnd(4, 3), target=rnd(4, 3), var=rnd(4, 3, lo=0.2, hi=2))
        loss(
            f'gaussian_{reduction}',
            dict(reduction=reduction),
            tn,
            lambda input, target, var: F.gaussian_nll_loss(input, target, var, reduction=reduction),
            op='gaussian_nll_loss',
            diff=['input', 'var'],
        )
        tc = dict(x1=rnd(4, 3), x2=rnd(4, 3), target=torch.tensor([1, -1, 1, -1]))
        loss(
            f'cos_{reduction}',
            dict(reduction=reduction, margin=0.1),
            tc,
            lambda x1, x2, target: F.cosine_embedding_loss(x1, x2, target, 0.1, reduction=reduction),
            op='cosine_embedding_loss',
        )
        tt = dict(anchor=rnd(4, 3), positive=rnd(4, 3), negative=rnd(4, 3))
        loss(
            f'triplet_{reduction}',
            dict(reduction=reduction, margin=1.0),
            tt,
            lambda anchor, positive, negative: F.triplet_margin_loss(
                anchor, positive, negative, reduction=reduction
            ),
            op='triplet_margin_loss',
        )

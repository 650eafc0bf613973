"""CTC and recurrent networks."""

import torch
import torch.nn.functional as F

import reference as ref
from .suite import family, rint, rnd

ctc = family('ctc')
rnn = family('rnn')


def ctc_cases():
    configs = [
        # T, N, C, targets, input lengths, target lengths, blank
        (5, 3, 4, [[1, 2, 0], [1, 0, 0], [3, 2, 1]], [5, 5, 5], [2, 1, 3], 0),
        (12, 3, 5, [[1, 2, 3, 0], [2, 2, 0, 0], [1, 1, 2, 4]], [12, 7, 10], [3, 2, 4], 0),
        (9, 2, 6, [[0, 1, 1, 3], [4, 0, 0, 0]], [9, 6], [4, 0], 5),
    ]
    for i, (T, N, C, targets, input_lengths, target_lengths, blank) in enumerate(configs):
        for reduction in ('none', 'mean', 'sum'):
            t = dict(
                logits=rnd(T, N, C),
                targets=torch.tensor(targets),
                input_lengths=torch.tensor(input_lengths),
                target_lengths=torch.tensor(target_lengths),
            )

            def reduced(losses):
                if reduction == 'none':
                    return losses
                if reduction == 'sum':
                    return losses.sum()
                return (losses / t['target_lengths'].clamp(min=1)).mean()

            ctc(
                f'ctc_{i}_{reduction}',
                dict(blank=blank, reduction=reduction, zero_infinity=False, from_logits=True),
                t,
                lambda logits, targets, input_lengths, target_lengths: reduced(
                    ref.ctc_losses(F.log_softmax(logits, -1), targets, input_lengths, target_lengths, blank)
                ),
                op='ctc_loss',
                diff=['logits'],
                check=lambda logits, targets, input_lengths, target_lengths: F.ctc_loss(
                    F.log_softmax(logits, -1), targets, input_lengths, target_lengths, blank, reduction
                ),
            )
    targets = torch.tensor([[1, 2, 1], [1, 1, 1]])
    input_lengths = torch.tensor([6, 4])
    target_lengths = torch.tensor([3, 3])
    for zero_infinity in (False, True):
        t = dict(
            logits=rnd(6, 2, 4), targets=targets, input_lengths=input_lengths, target_lengths=target_lengths
        )
        ctc(
            f'impossible_zi{int(zero_infinity)}',
            dict(blank=0, reduction='none', zero_infinity=zero_infinity, from_logits=True),
            t,
            lambda logits, targets, input_lengths, target_lengths: F.ctc_loss(
                F.log_softmax(logits, -1), targets, input_lengths, target_lengths, 0, 'none', zero_infinity
            ),
            op='ctc_loss',
            diff=['logits'] if zero_infinity else [],
            second=False,
        )
    length, T = (3000, 6400)
    targets = rint(1, 6, 1, length)
    t = dict(
        logits=rnd(T, 1, 6),
        targets=targets,
        input_lengths=torch.tensor([T]),
        target_lengths=torch.tensor([length]),
    )
    ctc(
        'long',
        dict(blank=0, reduction='none', zero_infinity=False, from_logits=True),
        t,
        lambda logits, targets, input_lengths, target_lengths: F.ctc_loss(
            F.log_softmax(logits, -1), targets, input_lengths, target_lengths, 0, 'none'
        ),
        op='ctc_loss',
        diff=['logits'],
        second=False,
    )


def rnn_cases():
    I, H, T, B = (3, 4, 5, 2)
    for layers, bidirectional in ((1, False), (2, True)):
        D = 2 if bidirectional else 1
        for kind, gates in (('lstm', 4), ('gru', 3), ('rnn_tanh', 1)):
            t = dict(x=rnd(T, B, I), h0=rnd(layers * D, B, H))
            if kind == 'lstm':
                t['c0'] = rnd(layers * D, B, H)
            names = []
            for l in range(layers):
                for d in range(D):
                    suffix = f'_l{l}' + ('_reverse' if d else '')
                    t['weight_ih' + suffix] = rnd(gates * H, I if l == 0 else H * D) * 0.5
                    t['weight_hh' + suffix] = rnd(gates * H, H) * 0.5
                    t['bias_ih' + suffix] = rnd(gates * H) * 0.5
                    t['bias_hh' + suffix] = rnd(gates * H) * 0.5
                    names += [p + suffix for p in ('weight_ih', 'weight_hh', 'bias_ih', 'bias_hh')]
            t = {k: v.float().double() for k, v in t.items()}
            fn = {
                'lstm': lambda **u: torch._VF.lstm(
                    u['x'],
                    (u['h0'], u['c0']),
                    [u[k] for k in names],
                    True,
                    layers,
                    0.0,
                    False,
                    bidirectional,
                    False,
                ),
                'gru': lambda **u: torch._VF.gru(
                    u['x'], u['h0'], [u[k] for k in names], True, layers, 0.0, False, bidirectional, False
                ),
                'rnn_tanh': lambda **u: torch._VF.rnn_tanh(
                    u['x'], u['h0'], [u[k] for k in names], True, layers, 0.0, False, bidirectional, False
                ),
            }[kind]
            rnn(
                f'{kind}_{layers}_{int(bidirectional)}',
                dict(num_layers=layers, bidirectional=bidirectional),
                t,
                fn,
                op=kind,
                outputs=('y', 'hn', 'cn') if kind == 'lstm' else ('y', 'hn'),
                second=False,
            )

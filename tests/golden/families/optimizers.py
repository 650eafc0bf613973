"""Optimizers and schedules of learning rates."""

import torch
from torch import optim

from .suite import files, rnd


def optimizer_cases():
    tensors, cases = files['optim']
    configs = [
        ('sgd', optim.SGD, dict(lr=0.1)),
        ('sgd_mom', optim.SGD, dict(lr=0.1, momentum=0.9, weight_decay=0.01)),
        ('sgd_nesterov', optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True)),
        ('sgd_damp', optim.SGD, dict(lr=0.05, momentum=0.8, dampening=0.3)),
        ('adam', optim.Adam, dict(lr=0.01)),
        ('adam_wd_ams', optim.Adam, dict(lr=0.01, weight_decay=0.1, amsgrad=True)),
        ('adamw', optim.AdamW, dict(lr=0.01, weight_decay=0.1)),
        ('rmsprop', optim.RMSprop, dict(lr=0.01)),
        ('rmsprop_centered', optim.RMSprop, dict(lr=0.01, momentum=0.9, centered=True)),
        ('adagrad', optim.Adagrad, dict(lr=0.1)),
        ('adadelta', optim.Adadelta, dict(lr=1.0)),
        ('adamax', optim.Adamax, dict(lr=0.01)),
        ('nadam', optim.NAdam, dict(lr=0.01)),
        ('radam', optim.RAdam, dict(lr=0.01)),
    ]
    if hasattr(optim, 'Muon'):
        configs.append(('muon', optim.Muon, dict(lr=0.02)))
    for name, cls, kw in configs:
        p = torch.nn.Parameter(rnd(4, 3))
        n = f'optim.{name}'
        tensors[f'{n}/p0'] = p.detach().clone()
        opt = cls([p], **kw)
        applied, reached = [], []
        for _ in range(12):
            g = rnd(4, 3)
            p.grad = g.clone()
            opt.step()
            applied.append(g)
            reached.append(p.detach().clone())
        tensors[f'{n}/grads'] = torch.stack(applied)
        tensors[f'{n}/params'] = torch.stack(reached)
        tolerance = 0.02 if name == 'muon' else 1e-05  # Muon's update is in bfloat16
        cases.append(
            dict(
                name=n,
                op='optim.' + cls.__name__,
                args=kw,
                inputs=['p0', 'grads'],
                diff=[],
                outputs=['params'],
                second_order=False,
                rtol=tolerance,
                atol=tolerance,
                ref='torch',
            )
        )


def schedule_cases():
    tensors, cases = files['optim']
    schedules = optim.lr_scheduler
    for name, cls, args in (
        ('step', schedules.StepLR, dict(step_size=3, gamma=0.5)),
        ('multistep', schedules.MultiStepLR, dict(milestones=[2, 5, 9], gamma=0.1)),
        ('exp', schedules.ExponentialLR, dict(gamma=0.9)),
        ('cosine', schedules.CosineAnnealingLR, dict(T_max=10, eta_min=0.001)),
        ('cosine_restart', schedules.CosineAnnealingWarmRestarts, dict(T_0=4, T_mult=2)),
        ('linear', schedules.LinearLR, dict(start_factor=0.25, end_factor=1.0, total_iters=6)),
        ('onecycle', schedules.OneCycleLR, dict(max_lr=0.5, total_steps=20)),
        ('cyclic', schedules.CyclicLR, dict(base_lr=0.01, max_lr=0.1, step_size_up=4)),
        ('poly', schedules.PolynomialLR, dict(total_iters=8, power=2.0)),
    ):
        optimizer = optim.SGD([torch.nn.Parameter(rnd(2))], lr=0.1, momentum=0.9)
        schedule = cls(optimizer, **args)
        rates = []
        for _ in range(18):
            rates.append(optimizer.param_groups[0]['lr'])
            optimizer.step()
            schedule.step()
        n = f'optim.lr_{name}'
        tensors[f'{n}/lrs'] = torch.tensor(rates)
        cases.append(
            dict(
                name=n,
                op='lr.' + cls.__name__,
                args=args,
                inputs=[],
                diff=[],
                outputs=['lrs'],
                second_order=False,
                rtol=1e-06,
                atol=1e-09,
                ref='torch',
            )
        )

"""Makes the golden data: inputs, outputs, first- and second-order gradients in float64, from PyTorch and torchvision.

usage: python3 generate.py OUTDIR [SEED]   (needs torch 2.11, torchvision 0.26, safetensors)
README.md says what the files hold. The families draw from one random generator, so their order below is part of it.
"""

import json
import os
import sys

import torch
from safetensors.torch import save_file

from families import (
    convolution,
    elementwise,
    indexing,
    losses,
    normalization,
    optimizers,
    resampling,
    sequence,
)
from families.suite import G, files, largest_errors, without_second_order

FAMILIES = [
    convolution.conv_cases,
    convolution.conv_transpose_cases,
    convolution.deform_conv_cases,
    resampling.interpolate_cases,
    resampling.grid_sample_cases,
    resampling.pool_cases,
    sequence.ctc_cases,
    normalization.norm_cases,
    normalization.attention_cases,
    losses.loss_cases,
    sequence.rnn_cases,
    elementwise.unary_cases,
    elementwise.binary_cases,
    elementwise.reduce_cases,
    indexing.linalg_cases,
    indexing.index_cases,
    optimizers.optimizer_cases,
    optimizers.schedule_cases,
]


def storable(t):
    return (t.to(torch.uint8) if t.dtype == torch.bool else t).clone().contiguous()


def main(folder, seed):
    G.manual_seed(seed)
    for add_cases in FAMILIES:
        add_cases()
    os.makedirs(folder, exist_ok=True)
    for name, (tensors, cases) in files.items():
        metadata = dict(format='pt', cases=json.dumps(cases))
        save_file(
            {k: storable(v) for k, v in tensors.items()}, f'{folder}/{name}.safetensors', metadata=metadata
        )
        print(name, len(cases), 'cases,', sum(c['second_order'] for c in cases), 'with second order')
    print('no second order in the reference:', len(without_second_order))
    for name, reason in without_second_order:
        print('  ', name, reason)
    bad = [(name, error) for name, error in largest_errors if not error < 1e-9]
    print('total', sum(len(cases) for _, cases in files.values()), 'torch', torch.__version__)
    print(
        'cross-checked', len(largest_errors), 'largest error', max(e for _, e in largest_errors), 'bad', bad
    )
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20261130))

"""Matching over two real processes is the matching of one process with all rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.losses.twins import batch, predict
from torch import distributed
from torch.multiprocessing import spawn

from calibrant.losses import DistributionMatchingLoss

FIRST = 20  # of 37 rows: the processes have different numbers of rows
NORMALS, MIXTURES = {}, {"components": 3, "members": 2}
CASES = {
    "marginal": ({"match": "marginal"}, MIXTURES),
    "marginal, unbiased": ({"match": "marginal", "statistic": "u"}, NORMALS),
    "marginal, narrow": ({"match": "marginal", "bandwidths": (1e-9, 0.1)}, NORMALS),
    "joint": ({"match": "joint"}, MIXTURES),
    "joint, all pairs": ({"match": "joint", "method": "pairwise", "statistic": "u"}, NORMALS),
    "joint, random features": ({"match": "joint", "method": "linear"}, NORMALS),
    "distribution": ({"match": "distribution"}, NORMALS),
}


def value_and_gradients(case: str, own: slice, group=None):
    """Value of the loss of all rows, and its gradients by the predictions of some."""
    options, shape = CASES[case]
    *parameters, y, x, weight = batch(37, **shape)
    # Members come first; rows are the last dimension of targets and the one before of the others.
    parameters = [each[..., own, :].clone().requires_grad_() for each in parameters]
    rows = y[..., own], x[..., own, :], weight[..., own]
    loss = DistributionMatchingLoss(process_group=group, **options)
    value = loss(predict(*parameters), *rows)
    value.sum().backward()
    return value.detach(), [each.grad for each in parameters if each.grad is not None]


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
    )
    own = slice(None, FIRST) if rank == 0 else slice(FIRST, None)
    group = distributed.group.WORLD
    torch.save({case: value_and_gradients(case, own, group) for case in CASES}, f"{folder}/{rank}")
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory):
    folder: Path = tmp_path_factory.mktemp("processes")
    spawn(work, (str(folder),), nprocs=2)
    return [torch.load(folder / str(rank)) for rank in range(2)]


@pytest.mark.parametrize("case", CASES)
def test_two_processes_have_value_and_gradient_of_one(case: str, found) -> None:
    value, gradients = value_and_gradients(case, slice(None))
    for each in found:
        torch.testing.assert_close(each[case][0], value, rtol=1e-9, atol=1e-12)
    for i, whole in enumerate(gradients):
        # The mean over two processes, of which each has gradients by its own rows.
        averaged = torch.cat([each[case][1][i] for each in found], dim=-2) / 2
        torch.testing.assert_close(averaged, whole, rtol=1e-7, atol=1e-10)
    assert max(float(whole.abs().max()) for whole in gradients) > 1e-4

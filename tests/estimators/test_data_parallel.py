"""Two real processes train what one trains with all rows, and continue from a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributed
from torch.multiprocessing import spawn

from calibrant.estimators import MMDRegressor
from calibrant.estimators.train import run_plans
from calibrant.training import Checkpoint, Checkpoints, Rows, Workers

pytestmark = pytest.mark.slow  # each of its processes imports torch and the library

ROWS, BATCH = 240, 40
SMALL = {
    "quality": "fast",
    "hidden": (8,),
    "epochs": 2,
    "matching__epochs": 2,
    "batch_size": BATCH,
    "matching__batch_size": BATCH,
    "components": 1,
    "ensemble__submodels": 1,
    "dropout": 0.0,
    "random_state": 0,
}
MATCHES = [None, "marginal", "joint"]


@dataclass(frozen=True)
class InOrder:
    """Rows that are never shuffled."""

    rows: Rows
    steps = 1

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def device(self) -> torch.device:
        return self.rows.device

    def batches(self, batch_size: int, orders) -> Iterator[tuple[torch.Tensor]]:
        yield from ((part[None],) for part in torch.arange(self.n_rows).split(batch_size))

    def take(self, index: torch.Tensor) -> Rows:
        return self.rows.take(index)


def table(n: int = ROWS + 60):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + (0.1 + 0.2 * (X[:, 1] > 0)) * rng.standard_normal(n)


def plan_of(rank: int = 0, processes: int = 1, **changes):
    """Plan whose training rows are one process's share of every batch."""
    X, y = table()
    model = MMDRegressor().set_params(**SMALL | changes)
    plan = model.plan(X[:ROWS], y[:ROWS], validation_data=(X[ROWS:], y[ROWS:]))
    own = torch.arange(ROWS).view(-1, processes, BATCH // processes)[:, rank].flatten()
    groups = [replace(each, train=InOrder(each.train.take(own))) for each in plan.groups]
    return replace(plan, groups=tuple(groups))


def join_processes(rank: int, processes: int, store: Path) -> Workers:
    distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=processes
    )
    return Workers(distributed.group.WORLD)


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    workers = join_processes(rank, 2, Path(folder) / "store")
    for match in MATCHES:
        (trained,) = run_plans([plan_of(rank, 2, matching__match=match)], workers)
        torch.save(trained.networks.by_name(), f"{folder}/{match}-{rank}")
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("workers")
    spawn(work, (str(made),), nprocs=2)
    return made


@pytest.mark.parametrize("match", MATCHES)
def test_two_workers_train_what_one_trains_with_batches_twice_as_large(match, folder: Path) -> None:
    plan = plan_of(matching__match=match)
    start = {
        k: v.clone() for k, v in run_plans([without_training(plan)])[0].networks.by_name().items()
    }
    (trained,) = run_plans([plan])
    first, second = (torch.load(folder / f"{match}-{rank}") for rank in range(2))
    for name, value in trained.networks.by_name().items():
        torch.testing.assert_close(first[name], value, rtol=1e-4, atol=1e-5)
        assert torch.equal(first[name], second[name])
    moved = [(start[k] - v).abs().max() for k, v in trained.networks.by_name().items()]
    assert max(moved) > 0.01


def without_training(plan):
    groups = [replace(group, stages=()) for group in plan.groups]
    return replace(plan, groups=tuple(groups))


def test_a_continued_training_ends_where_an_undisturbed_one_ends(tmp_path: Path) -> None:
    workers = join_processes(0, 1, tmp_path / "store")
    try:
        plan = plan_of(ensemble__kinds=("relu", "silu"), dropout=0.2)
        files: list[Path] = []

        def write(checkpoint: Checkpoint) -> None:
            files.append(tmp_path / f"{len(files)}.safetensors")
            checkpoint.save(files[-1])

        whole = replace(workers, checkpoints=Checkpoints(write))
        (undisturbed,) = run_plans([plan], whole)
        assert len(files) == 4  # two kinds of two stages of two epochs, the last one not saved
        for file in list(files):
            saved = Checkpoint.load(file)
            again = replace(workers, checkpoints=Checkpoints(write, every=100, saved=saved))
            (continued,) = run_plans([plan], again)
            for name, value in undisturbed.networks.by_name().items():
                assert torch.equal(continued.networks.by_name()[name], value)
            assert continued.history == undisturbed.history
    finally:
        distributed.destroy_process_group()

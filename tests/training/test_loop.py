"""The training loop: batches, early stopping, roll-back, determinism."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch

from calibrant.errors import ParameterError
from calibrant.losses import negative_log_likelihood
from calibrant.networks import MemberNetworks, NetworkSpec
from calibrant.threads import Threads
from calibrant.training import (
    Progress,
    Record,
    Rows,
    Stage,
    resolve_device,
    run_stage,
    shuffled,
    step_seconds,
)
from calibrant.training.loop import clip_gradients


def make_rows(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = x[:, 0] + 0.3 * rng.normal(size=n)
    return Rows(*(torch.tensor(a, dtype=torch.float32) for a in (x, y, np.ones(n))))


def make_network(seeds: Sequence[int] = (0,)) -> MemberNetworks:
    networks = []
    for seed in seeds:
        torch.manual_seed(seed)
        networks.append(NetworkSpec(n_inputs=2, hidden=(16,)).build())
    return MemberNetworks(networks)


def nll(network: MemberNetworks, rows: Rows) -> torch.Tensor:
    return negative_log_likelihood(network(rows.x), rows.y).mean(dim=-1)


def weights_of(network: MemberNetworks) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in network.by_name().items()}


def make_stage(**changes) -> Stage:
    settings = {
        "number": 1, "loss": nll, "score": nll, "epochs": 8, "batch_size": 32,
        "lr": 1e-2, "weight_decay": 0.0, "patience": 50,
    }  # fmt: skip
    return Stage(**(settings | changes))


def run(stage: Stage, network: MemberNetworks, seeds: Sequence[int] = (0,)) -> list[Record]:
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    train, held_out = make_rows(200, 1), make_rows(80, 2)
    return run_stage(stage, network, train, held_out, generators, Progress())[0]


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [(1, 4, [1]), (10, 3, [3, 3, 3, 1]), (257, 256, [129, 128]), (64, 1000, [64])],
)
def test_batches_hold_every_row_once_and_few_are_even(
    n: int, size: int, expected: list[int]
) -> None:
    orders = [torch.Generator().manual_seed(seed) for seed in (0, 1)]
    parts = list(shuffled(n, size, orders))
    for member in torch.cat(parts, dim=1):
        assert sorted(member.tolist()) == list(range(n))
    assert [part.shape[1] for part in parts] == expected  # never one row beside 256


def test_learns_and_restores_the_best_epoch() -> None:
    network = make_network()
    records = run(make_stage(epochs=30), network)
    scores = [r["validation_score"] for r in records]
    best = int(np.argmin(scores))
    assert scores[best] < scores[0] - 0.3
    assert [r["epoch"] for r in records if r["best"]] == [best]
    assert nll(network, make_rows(80, 2)).item() == pytest.approx(scores[best], rel=1e-6)


def test_a_stage_that_only_does_harm_is_rolled_back_to_its_start() -> None:
    network = make_network()
    run(make_stage(epochs=30), network)
    before = weights_of(network)
    records = run(make_stage(number=2, loss=lambda n, r: -nll(n, r), epochs=5), network)
    assert records[0]["best"]
    assert all(torch.equal(v, before[k]) for k, v in network.by_name().items())


def test_without_keep_best_the_last_epoch_stays() -> None:
    network = make_network()
    before = weights_of(network)
    records = run(make_stage(loss=lambda n, r: -nll(n, r), epochs=3, keep_best=False), network)
    assert records[-1]["best"]
    assert not torch.equal(network.by_name()["output.bias"], before["output.bias"])


def test_patience_ends_the_stage() -> None:
    records = run(make_stage(loss=lambda n, r: -nll(n, r), epochs=50, patience=4), make_network())
    assert len(records) == 1 + 4


def test_same_seed_same_weights() -> None:
    results = []
    for seed in (5, 5, 6):
        network = make_network()
        run(make_stage(), network, (seed,))
        results.append(weights_of(network)["output.weight"])
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_members_end_where_they_would_have_ended_alone() -> None:
    """Own initialisation, own batches, own clipping, early stopping and roll-back."""
    stage = make_stage(epochs=40, patience=3, lr=3e-2)
    together = make_network((0, 1, 2))
    run(stage, together, (7, 8, 9))
    stops = set()
    for i, (seed, order) in enumerate(zip((0, 1, 2), (7, 8, 9), strict=True)):
        alone = make_network((seed,))
        records = run(stage, alone, (order,))
        stops.add(len(records))
        for name, value in alone.by_name().items():
            torch.testing.assert_close(together.by_name()[name][i], value[0], rtol=1e-3, atol=1e-4)
    assert len(stops) > 1  # the members really stop at different epochs


def test_one_exploding_member_does_not_touch_the_others() -> None:
    def explode(network: MemberNetworks, rows: Rows) -> torch.Tensor:
        return nll(network, rows) * torch.tensor([1.0, float("nan")])

    network = make_network((0, 1))
    run(make_stage(loss=explode, epochs=4, keep_best=False), network, (0, 1))
    weights = network.by_name()["output.weight"]
    assert torch.isfinite(weights[0]).all()
    assert torch.isnan(weights[1]).any()


def test_together_the_members_share_batches_and_stop_as_one() -> None:
    seen = []

    def joint(network: MemberNetworks, rows: Rows) -> torch.Tensor:
        seen.append(tuple(rows.x.shape[:1]))
        return (network(rows.x).loc.mean(dim=0) - rows.y).square().mean().reshape(1)

    network = make_network((0, 1))
    records = run(make_stage(loss=joint, score=joint, shared_loss=True, epochs=20), network, (0, 1))
    assert (1,) in seen
    assert sum(r["best"] for r in records) == 1
    assert records[-1]["validation_score"] < records[0]["validation_score"]


@pytest.mark.parametrize("size", [0.1, 4.0, math.inf])
@pytest.mark.parametrize("members", [1, 3])
def test_gradients_are_clipped_member_by_member(members: int, size: float) -> None:
    generator = torch.Generator().manual_seed(0)
    weights = [torch.zeros(members, *shape, requires_grad=True) for shape in ((5, 4), (4,), (2,))]
    for weight in weights[:2]:  # the last one has no gradient
        weight.grad = torch.randn(weight.shape, generator=generator)
        weight.grad[0] *= size
    alone = [
        [weight.grad[m].clone() for weight in weights[:2] if weight.grad is not None]
        for m in range(members)
    ]
    clip_gradients(weights, members)
    for m, gradients in enumerate(alone):
        leaves = [torch.zeros_like(g, requires_grad=True) for g in gradients]
        for leaf, gradient in zip(leaves, gradients, strict=True):
            leaf.grad = gradient
        torch.nn.utils.clip_grad_norm_(leaves, 10.0)
        for leaf, weight in zip(leaves, weights, strict=False):
            assert weight.grad is not None
            torch.testing.assert_close(weight.grad[m], leaf.grad, equal_nan=True)


def test_devices() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("auto").type in ("cpu", "cuda")
    with pytest.raises(ParameterError, match='device must be "auto" or a device'):
        resolve_device("warp-drive")


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("rows", "expected"), [(20, {1}), (100_000, {1, 2})])
def test_a_step_gets_the_threads_that_its_products_are_worth(
    rows: int, expected: set[int], four_threads, monkeypatch
) -> None:
    """The first steps run on one thread in any case: they tell what a step costs."""
    monkeypatch.setattr(Threads, "_respond", lambda self, count: True)  # not on a busy machine
    used: set[int] = set()

    def loss(network: MemberNetworks, rows: Rows) -> torch.Tensor:
        used.add(torch.get_num_threads())
        return nll(network, rows)

    network = make_network((0,))
    x = torch.randn(rows, 2)
    data = Rows(x, x[:, 0], torch.ones(rows))
    stage = make_stage(loss=loss, epochs=5, batch_size=rows)
    run_stage(stage, network, data, data, [torch.Generator().manual_seed(0)], Progress())
    assert used == expected
    assert torch.get_num_threads() == 4


def test_no_epoch_begins_after_the_time_of_a_stage() -> None:
    records = run(make_stage(epochs=50, seconds=0.0), make_network())
    assert [record["epoch"] for record in records] == [0, 1]


def test_the_duration_of_steps_is_measured() -> None:
    assert 0.0 < step_seconds(make_stage(), make_network((0, 1)), make_rows(200, 1), 0.05) < 1.0

"""The training loop: batches, early stopping, roll-back, determinism."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from calibrant.errors import ParameterError
from calibrant.losses import negative_log_likelihood
from calibrant.networks import DistributionNetwork, GaussianHead, build_network
from calibrant.training import Rows, Silent, Stage, resolve_device, run_stage
from calibrant.training.devices import threads_for
from calibrant.training.loop import batches


def make_rows(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = x[:, 0] + 0.3 * rng.normal(size=n)
    return Rows(*(torch.tensor(a, dtype=torch.float32) for a in (x, y, np.ones(n))))


def make_network() -> DistributionNetwork:
    torch.manual_seed(0)
    return build_network("mlp", 2, (16,), GaussianHead())


def nll(dist, rows):
    return negative_log_likelihood(dist, rows.y).mean()


def make_stage(**changes) -> Stage:
    settings = {
        "number": 1, "loss": nll, "score": nll, "epochs": 8, "batch_size": 32,
        "lr": 1e-2, "weight_decay": 0.0, "patience": 50,
    }  # fmt: skip
    return Stage(**(settings | changes))


def run(stage: Stage, network: DistributionNetwork, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    return run_stage(stage, network, make_rows(200, 1), make_rows(80, 2), generator, Silent())


@pytest.mark.parametrize(("n", "size"), [(1, 4), (10, 3), (257, 256), (64, 1000)])
def test_batches_hold_every_row_once_and_are_even(n: int, size: int) -> None:
    parts = list(batches(n, size, torch.Generator().manual_seed(0)))
    assert sorted(torch.cat(parts).tolist()) == list(range(n))
    assert max(len(p) for p in parts) <= size
    # never three rows beside 256: equal up to rounding, the last may be a little smaller
    assert min(len(p) for p in parts) >= math.ceil(n / len(parts)) - len(parts)


def test_learns_and_restores_the_best_epoch() -> None:
    network = make_network()
    records = run(make_stage(epochs=30), network)
    scores = [r["validation_score"] for r in records]
    best = int(np.argmin(scores))
    assert scores[best] < scores[0] - 0.3
    assert [r["epoch"] for r in records if r["best"]] == [best]
    held_out = make_rows(80, 2)
    assert float(nll(network(held_out.x), held_out)) == pytest.approx(scores[best], rel=1e-6)


def test_a_stage_that_only_does_harm_is_rolled_back_to_its_start() -> None:
    network = make_network()
    run(make_stage(epochs=30), network)
    before = {k: v.clone() for k, v in network.state_dict().items()}
    records = run(make_stage(number=2, loss=lambda d, r: -nll(d, r), epochs=5), network)
    assert records[0]["best"]
    assert all(torch.equal(v, before[k]) for k, v in network.state_dict().items())


def test_without_keep_best_the_last_epoch_stays() -> None:
    network = make_network()
    start = {k: v.clone() for k, v in network.state_dict().items()}
    records = run(make_stage(loss=lambda d, r: -nll(d, r), epochs=3, keep_best=False), network)
    assert records[-1]["best"]
    assert not torch.equal(network.output.bias, start["output.bias"])


def test_patience_ends_the_stage() -> None:
    records = run(make_stage(loss=lambda d, r: -nll(d, r), epochs=50, patience=4), make_network())
    assert len(records) == 1 + 4


def test_head_only_leaves_the_body() -> None:
    network = make_network()
    body = {k: v.clone() for k, v in network.body.state_dict().items()}
    output = network.output.weight.clone()
    run(make_stage(updates="head", epochs=3), network)
    assert all(torch.equal(v, body[k]) for k, v in network.body.state_dict().items())
    assert not torch.equal(network.output.weight, output)


def test_same_seed_same_weights() -> None:
    results = []
    for seed in (5, 5, 6):
        network = make_network()
        run(make_stage(), network, seed)
        results.append(network.output.weight.clone())
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_devices() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("auto").type in ("cpu", "cuda")
    with pytest.raises(ParameterError, match='device must be "auto" or a device'):
        resolve_device("warp-drive")


def test_small_batches_train_on_one_thread_and_the_setting_comes_back() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threads_for(16):
            assert torch.get_num_threads() == 1
        with threads_for(257):
            assert torch.get_num_threads() == 2
        with pytest.raises(RuntimeError), threads_for(16):
            raise RuntimeError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

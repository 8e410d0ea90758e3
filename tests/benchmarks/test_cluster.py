"""The simulation of the all-reduce in benchmarks/cluster.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import cluster


@pytest.mark.parametrize("workers", [2, 5, 8, 33])
def test_messages_that_all_take_the_same_time_agree_with_the_formula(workers: int) -> None:
    machine = cluster.Machine("", 1e9, 1e9, 1e-5, 0.0, 1e5)
    found = {
        schedule: cluster.simulate(schedule, 1e5, machine, np.zeros(workers), None)
        for schedule in ("ring", "tree")
    }
    seconds, fastest = cluster.all_reduce(1e5, workers, machine)
    assert min(found, key=found.get) == fastest or found["ring"] == pytest.approx(found["tree"])
    assert min(found.values()) == pytest.approx(seconds)


@pytest.mark.parametrize("schedule", ["ring", "tree"])
def test_all_wait_for_the_last_worker(schedule: str) -> None:
    machine = cluster.Machine("", 1e9, 1e9, 1e-5, 0.0, 1e5)
    rng, ready = np.random.default_rng(0), np.zeros(8)
    together = cluster.simulate(schedule, 1e5, machine, ready, rng)
    ready[3] = 1.0
    assert 1.0 < cluster.simulate(schedule, 1e5, machine, ready, rng) <= 1.0 + together + 1e-12
    uneven = replace(machine, jitter=0.2)
    times = [cluster.simulate(schedule, 1e5, uneven, np.zeros(8), rng) for _ in range(50)]
    assert np.mean(times) > together  # every round lasts as long as its slowest message

"""Loops over chunks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.distributions import Normal

from calibrant.kernels import adaptive_bandwidths
from calibrant.losses import DistributionMatchingLoss
from calibrant.losses.fast import chunks
from calibrant.losses.fast.chunks import Chunks, over_chunks, sum_over_chunks
from calibrant.threads import Threads


def test_slices_cover_all_rows() -> None:
    found = over_chunks(lambda rows: rows, 10, Chunks("test", width=3, elements=12, fewest=1))
    assert found == [slice(0, 4), slice(4, 8), slice(8, 10)]
    found = over_chunks(lambda rows: rows, 10, Chunks("test", width=3, elements=1, fewest=8))
    assert found == [slice(0, 8), slice(8, 10)]


def test_a_sum_over_chunks_is_the_sum() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b, c = torch.randn(3, 2, 11, 4, generator=generator, dtype=torch.float64).unbind()
    a, c = a.clone().requires_grad_(), c.clone().requires_grad_()

    def part(a, b, c):
        return (torch.sin(a) * b + c**2).sum(dim=1)

    plain = part(a, b, c)
    ours = sum_over_chunks(part, (a, b, c), Chunks("test", width=8, elements=24, fewest=1))
    torch.testing.assert_close(ours, plain)
    upstream = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    grads = (torch.autograd.grad(each, (a, c), upstream) for each in (ours, plain))
    torch.testing.assert_close(*grads)


class BusyMachine:
    """A clock by which chunks on several threads take fifty times as long as on one."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used: list[int] = []

    def clock(self) -> float:
        return self.now

    def run(self, work, **_):
        self.used.append(torch.get_num_threads())
        self.now += 0.001 if torch.get_num_threads() == 1 else 0.05
        return work()


@pytest.fixture
def machine(monkeypatch) -> Iterator[BusyMachine]:
    machine = BusyMachine()
    threads = Threads(clock=machine.clock)
    run = threads.run

    def timed(work, **options):
        return run(lambda: machine.run(work), **options)

    monkeypatch.setattr(threads, "run", timed)
    monkeypatch.setattr(chunks, "THREADS", threads)
    monkeypatch.setattr("calibrant.threads._probe", lambda: None)  # responds promptly
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield machine
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "n"),
    [
        ({}, 60_000),  # power series
        ({"bandwidths": (0.5,)}, 40_000),  # frequencies, of normals that are wide for a series
        ({"bandwidths": adaptive_bandwidths(0.24)}, 20_000),  # a grid
        ({"match": "joint", "condition_bandwidth": 0.2}, 1500),  # pairs
    ],
)
def test_every_loop_gives_its_threads_up_on_a_busy_machine(machine, options: dict, n: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(n, 1, generator=generator)
    mean = x[:, 0].clone().requires_grad_()
    y = x[:, 0] + 0.3 * torch.randn(n, generator=generator)
    loss = DistributionMatchingLoss(**options)
    for _ in range(3):
        loss(Normal(mean, torch.full((n,), 0.4)), y, x).backward()
    assert len(machine.used) > 20  # or the test would say little
    assert machine.used.count(2) == 2
    assert torch.get_num_threads() == 2

"""Threads are used where they pay and given up where they lose, on a clock that we turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from calibrant.threads import Threads, available_threads, on_one_thread, one_thread

ALONE = 0.01  # seconds that a piece of size 1 takes on one thread


class Machine:
    """A clock, and pieces of work that turn it on and note their number of threads."""

    def __init__(self) -> None:
        self.now = 0.0
        self.factor = 0.6  # time on several threads, in times on one
        self.response = 1e-4  # seconds of the probe
        self.used: list[int] = []

    def clock(self) -> float:
        return self.now

    def probe(self) -> None:
        assert torch.get_num_threads() == 2
        self.now += self.response

    def piece(self, size: int = 1) -> Callable[[], int]:
        def work() -> int:
            threads = torch.get_num_threads()
            self.used.append(threads)
            self.now += size * ALONE * (1.0 if threads == 1 else self.factor)
            return threads

        return work


@pytest.fixture
def machine(monkeypatch) -> Iterator[Machine]:
    machine = Machine()
    monkeypatch.setattr("calibrant.threads._probe", machine.probe)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield machine
    assert torch.get_num_threads() == 2  # whatever was done inside
    torch.set_num_threads(before)


def run_all(threads: Threads, machine: Machine, pieces: int) -> None:
    for _ in range(pieces):
        threads.run(machine.piece())


def test_three_pieces_on_one_thread_come_first(machine: Machine) -> None:
    run_all(Threads(clock=machine.clock), machine, 6)
    assert machine.used == [1, 1, 1, 2, 2, 2]


def test_threads_that_lose_are_given_up(machine: Machine) -> None:
    machine.factor = 50.0
    run_all(Threads(clock=machine.clock), machine, 103)
    # Two attempts of 0.5 s, then a pause of twenty times what they lost: more than 98 pieces.
    assert machine.used == [1, 1, 1, 2, 2, *[1] * 98]


def test_threads_that_do_not_respond_are_not_tried(machine: Machine) -> None:
    machine.factor, machine.response = 50.0, 0.05
    threads = Threads(clock=machine.clock)
    run_all(threads, machine, 1000)
    assert machine.used == [1] * 1000
    assert machine.now < 1.06 * 1000 * ALONE
    machine.factor, machine.response = 0.6, 1e-4
    machine.now += 5.0
    run_all(threads, machine, 5)
    assert machine.used[-5:] == [2] * 5


@pytest.mark.parametrize("factor", [1.5, 3.0, 10.0, 100.0])
def test_a_busy_machine_costs_little(machine: Machine, factor: float) -> None:
    machine.factor = factor
    threads = Threads(clock=machine.clock)
    pieces = 200_000
    run_all(threads, machine, pieces)
    assert machine.now < 1.1 * pieces * ALONE


def test_a_single_slow_piece_is_forgiven(machine: Machine) -> None:
    threads = Threads(clock=machine.clock)
    run_all(threads, machine, 10)
    machine.factor = 1000.0
    run_all(threads, machine, 1)
    machine.factor = 0.6
    run_all(threads, machine, 50)
    assert machine.used[3:] == [2] * 58


def test_threads_come_back_when_the_machine_is_quiet_again(machine: Machine) -> None:
    threads = Threads(clock=machine.clock)
    machine.factor = 50.0
    run_all(threads, machine, 20)
    assert machine.used[-1] == 1
    machine.factor = 0.6
    machine.now += 60.0
    run_all(threads, machine, 20)
    assert machine.used[-20:] == [2] * 20


def test_costs_are_told_apart_by_kind_and_size(machine: Machine) -> None:
    threads = Threads(clock=machine.clock)
    for kind, size in (("a", 1000), ("b", 1000), ("a", 10)):
        for _ in range(4):
            threads.run(machine.piece(size), kind=kind, size=size)
    assert machine.used == [1, 1, 1, 2] * 3
    # Sizes that are nearly the same share what is known, per unit of size.
    threads.run(machine.piece(900), kind="a", size=900)
    assert machine.used[-1] == 2


def test_the_loss_counts_for_all_kinds(machine: Machine) -> None:
    """A busy machine is busy for every loop: the second one need not find out again."""
    machine.factor = 50.0
    threads = Threads(clock=machine.clock)
    for kind in ("a", "b"):
        for _ in range(10):
            threads.run(machine.piece(), kind=kind)
    assert machine.used.count(2) == 2


def test_limits(machine: Machine) -> None:
    few = Threads(most=1, clock=machine.clock)
    run_all(few, machine, 5)
    small = Threads(smallest=10, clock=machine.clock)
    for _ in range(5):
        small.run(machine.piece(9), size=9)
    assert machine.used == [1] * 10


def test_one_thread_leaves_the_others_to_what_runs_inside(machine: Machine) -> None:
    threads = Threads(clock=machine.clock)
    with one_thread(), one_thread():
        assert torch.get_num_threads() == 1
        assert available_threads() == 2
        run_all(threads, machine, 4)
    assert machine.used == [1, 1, 1, 2]


def test_work_inside_of_work_keeps_to_its_threads(machine: Machine) -> None:
    """A training step on one thread must not be given two by the loss that it calls."""
    inner, outer = (Threads(clock=machine.clock) for _ in range(2))
    run_all(inner, machine, 3)
    outer.run(lambda: inner.run(machine.piece()))  # the first of `outer`: on one thread
    assert machine.used[-1] == 1


def test_threads_are_given_back_after_an_error(machine: Machine) -> None:
    def fail() -> None:
        raise RuntimeError("work")

    with pytest.raises(RuntimeError, match="work"), one_thread():
        Threads(clock=machine.clock).run(fail)
    assert torch.get_num_threads() == 2
    assert available_threads() == 2


class Cube(torch.autograd.Function):
    """Notes the number of threads that it runs on, forward and backward."""

    used: list[int] = []  # noqa: RUF012

    @staticmethod
    def forward(ctx, x):
        Cube.used.append(torch.get_num_threads())
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, upstream):
        Cube.used.append(torch.get_num_threads())
        return 3.0 * ctx.saved_tensors[0] ** 2 * upstream


def test_a_call_and_its_gradient_on_one_thread(machine: Machine) -> None:
    Cube.used = []
    x, y, z = (torch.tensor([1.0, 2.0]).requires_grad_(need) for need in (True, False, True))

    def function(x, y, z):
        return (Cube.apply(x) * y).sum()

    value = on_one_thread(function, x, y, z)  # z is not used
    for _ in range(2):
        (gradient,) = torch.autograd.grad(2.0 * value, x, retain_graph=True)
        torch.testing.assert_close(gradient, torch.tensor([6.0, 48.0]))
    assert value.item() == 17.0
    assert Cube.used == [1, 1, 1]
    with torch.no_grad():
        assert not on_one_thread(function, x, y, z).requires_grad
    assert Cube.used == [1] * 4

"""CPU threads for repeated work, given up where they lose.

The threads of torch wait for each other after every operation. Where other programs want the
cores, one thread waits for a core while the others wait for it, and work on two threads can take
a hundred times as long as on one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Result = TypeVar("Result")

# In units of the time that a piece takes on one thread.
_FAIR = 1.25  # what a piece on several threads may take
_HICCUP = 20.0  # what one piece counts for at most: a single slow one may have any reason
_TOO_MUCH = 30.0  # loss after which threads are given up

_PAUSE = 20.0  # times the seconds lost that pass before threads are tried again
_PROMPT = (
    2e-3  # seconds that the probe may take; it takes 1e-4 on a quiet machine, 5e-2 on a busy one
)

_local = threading.local()


def available_threads() -> int:
    """Threads that the calling code may use: torch's, or what an outer block leaves to it."""
    return getattr(_local, "available", None) or torch.get_num_threads()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block on one thread; `Threads.run` inside it may still use those that there were."""
    with _use(1, available_threads()):
        yield


def on_one_thread(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """Return ``function(*inputs)``, computed in a `one_thread` block, and its gradient as well.

    On a GPU, where threads of the CPU do not matter, it is a plain call.
    """
    if available_threads() == 1 or any(each.device.type != "cpu" for each in inputs):
        return function(*inputs)
    if not (torch.is_grad_enabled() and any(each.requires_grad for each in inputs)):
        with one_thread():
            return function(*inputs)
    value: Tensor = _OnOneThread.apply(function, *inputs)  # type: ignore[no-untyped-call]
    return value


class _OnOneThread(torch.autograd.Function):
    """A graph of its own, so that its backward pass is a single node of the outer graph."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        needed = ctx.needs_input_grad[1:]
        with one_thread(), torch.enable_grad():
            inner = [
                each.detach().requires_grad_(need)
                for each, need in zip(inputs, needed, strict=True)
            ]
            value = function(*inner)
        ctx.leaves, ctx.value = [each for each in inner if each.requires_grad], value
        return value.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        with one_thread(), torch.enable_grad():
            # As a scalar: torch imports sympy, a third of a second, to check a given gradient.
            total = (ctx.value * upstream[0]).sum()
            # The graph is kept, since the caller may go back through the outer one twice.
            found = torch.autograd.grad(total, ctx.leaves, retain_graph=True, allow_unused=True)
        gradients = iter(found)
        return None, *(next(gradients) if need else None for need in ctx.needs_input_grad[1:])


@contextmanager
def _use(count: int, available: int) -> Iterator[None]:
    before = torch.get_num_threads(), getattr(_local, "available", None)
    torch.set_num_threads(count)
    _local.available = available
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        _local.available = before[1]


@dataclass
class _Cost:
    """Seconds per unit of size on one thread; the first piece only warms up."""

    pieces: int = 0
    seconds: float = math.inf

    def add(self, seconds: float) -> None:
        self.pieces += 1
        if self.pieces > 1:
            self.seconds = min(self.seconds, seconds)

    @property
    def known(self) -> bool:
        return self.pieces >= 3


class Threads:
    """Run pieces of work on several threads, or on one where several lose.

    The first three pieces of a kind and size run on one thread and tell what such a piece costs.
    Later ones run on several threads, if a probe finds that those respond promptly. Once they have
    lost too much against one thread, the work goes on with one, and tries several again after a
    pause that grows with the time lost: on a busy machine the attempts cost about a twentieth of
    the time. Sums over another number of threads may differ in their last digits.

    Parameters
    ----------
    most : int, optional
        Threads to use at most; default all that are available.
    smallest : int
        Pieces of a smaller size always run on one thread.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        most: int | None = None,
        smallest: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._most = most
        self._smallest = smallest
        self._clock = clock
        self._costs: dict[tuple[Hashable, int], _Cost] = {}
        self._lost = 0.0  # in pieces on one thread
        self._lost_seconds = 0.0
        self._paused_until = -math.inf
        self._probed = False

    def run(self, work: Callable[[], Result], *, kind: Hashable = None, size: int = 1) -> Result:
        """Return ``work()``, run on as many threads as pay.

        Parameters
        ----------
        work : callable without arguments
        kind : hashable
            Pieces of one kind cost about the same per unit of size.
        size : int
        """
        available = available_threads()
        count = available if self._most is None else min(available, self._most)
        if count <= 1 or size < self._smallest:
            with _use(1, 1):
                return work()
        cost = self._costs.setdefault((kind, size.bit_length()), _Cost())
        if not (cost.known and self._respond(count)):
            count = 1
        start = self._clock()
        with _use(count, count):
            result = work()
        seconds = self._clock() - start
        if count == 1:
            cost.add(seconds / size)
        else:
            self._compare(seconds, cost.seconds * size)
        return result

    def _respond(self, count: int) -> bool:
        """Whether threads are not given up, and respond promptly if they are new or were."""
        start = self._clock()
        if start < self._paused_until:
            return False
        if not self._probed:
            with _use(count, count):
                _probe()
            seconds = self._clock() - start
            if seconds > _PROMPT:
                self._give_up(seconds)
                return False
            self._probed = True
        return True

    def _compare(self, seconds: float, alone: float) -> None:
        """Take note of a piece on several threads that would have taken `alone` on one."""
        ratio = seconds / alone if alone > 0 else 1.0
        self._lost = max(0.0, self._lost + min(ratio, _HICCUP) - _FAIR)
        self._lost_seconds = self._lost_seconds + seconds - alone if self._lost else 0.0
        if self._lost > _TOO_MUCH:
            self._give_up(self._lost_seconds)

    def _give_up(self, lost_seconds: float) -> None:
        self._paused_until = self._clock() + _PAUSE * lost_seconds
        self._lost = self._lost_seconds = 0.0
        self._probed = False


def _probe() -> None:
    """Three small operations that torch splits among its threads."""
    numbers = torch.zeros(1 << 16)
    for _ in range(3):
        numbers.add_(1.0)

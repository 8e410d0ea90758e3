"""Where tensors live, and how many threads work on them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor

from calibrant.errors import ParameterError


def resolve_device(device: str | torch.device) -> torch.device:
    """Turn a user's wish into a device; "auto" is a CUDA GPU where there is one, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(
            f'device must be "auto" or a device that torch can use here, got {device!r}: {error}'
        ) from error
    return chosen


_PRODUCTS = 4e6  # of a number and a weight, that a thread is worth
# All of these in steps on one thread.
_FAIR = 1.25  # what a step with threads may take
_HICCUP = 20.0  # what a single one counts for at most: it may have any reason
_TOO_MUCH = 30.0  # loss after which threads are given up


class Threads:
    """Threads of the CPU for the steps of a stage, as many as its work is worth.

    Threads wait for each other after every operation. Where other programs want the cores, one
    waits for a core while the others wait for it, and a step can take a hundred times as long. So
    three steps on one thread come first, of which the last two tell what a step takes; where
    later ones lose too much against that, the stage goes on with one thread. Sums may then differ
    in their last digits.

    Parameters
    ----------
    products : float
        Of a number and a weight in one pass over the rows of a step; what the loss takes is not
        counted.
    """

    def __init__(self, products: float) -> None:
        self._before = torch.get_num_threads()
        self._count = max(1, min(self._before, int(products / _PRODUCTS)))

    def __enter__(self) -> Threads:
        torch.set_num_threads(1)
        return self

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self._before)

    def watch(self, step: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        """Return the step with its threads, which are taken from it where they do harm."""
        if self._count == 1:
            return step
        taken, alone, lost = 0, math.inf, 0.0

        def watched(index: Tensor) -> Tensor:
            nonlocal taken, alone, lost
            start = time.perf_counter()
            result = step(index)
            seconds = time.perf_counter() - start
            taken += 1
            if taken == 1:  # warms up
                return result
            if taken <= 3:
                alone = min(alone, seconds)
                if taken == 3:
                    torch.set_num_threads(self._count)
            elif lost <= _TOO_MUCH:
                lost = max(0.0, lost + min(seconds / alone, _HICCUP) - _FAIR)
                if lost > _TOO_MUCH:
                    torch.set_num_threads(1)
            return result

        return watched

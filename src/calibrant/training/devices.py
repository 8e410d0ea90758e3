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


_PRODUCTS = 4e6  # of a row and a weight, that a thread is worth
# In steps on one thread: what one with threads may take, what it counts for at most (a hiccup, of
# which there may be one), and the loss that ends it.
_FAIR, _HICCUP, _TOO_MUCH = 1.25, 20.0, 30.0


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
        Rows of a step times weights that each of them meets.
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

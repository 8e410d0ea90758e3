"""The end of the time of a stage."""

from __future__ import annotations

import math
import time

import torch

from calibrant.training.workers import Workers


class Deadline:
    """Some seconds from now, for all workers of a data-parallel training.

    Parameters
    ----------
    seconds : float or None
        None for no limit.
    workers : Workers or None
    device : torch.device
        On which workers exchange what they know.
    """

    def __init__(
        self, seconds: float | None, workers: Workers | None, device: torch.device
    ) -> None:
        self._end = time.monotonic() + (math.inf if seconds is None else seconds)
        self._workers, self._device = workers, device

    def has_passed(self) -> bool:
        """Whether the time is over, for any worker: clocks differ, and none may train alone."""
        passed = time.monotonic() > self._end
        return passed if self._workers is None else self._workers.any(passed, self._device)

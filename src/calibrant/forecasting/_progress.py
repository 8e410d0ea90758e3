"""Which of several trainings is running, and how long all of them will take."""

from __future__ import annotations

import time


class Countdown:
    """Headings for the progress bars of several trainings.

    Parameters
    ----------
    what : str
        What is trained one after another, such as "Step".
    total : int
    before : str
        Heading of an outer countdown.
    """

    def __init__(self, what: str, total: int, before: str = "") -> None:
        self._what, self._total, self._before = what, total, before
        self._begun, self._start = 0, time.monotonic()

    def next(self) -> str:
        """Heading of the next training, with an estimate from those that are done."""
        done, self._begun = self._begun, self._begun + 1
        heading = f"{self._what} {self._begun} of {self._total}"
        if done:
            each = (time.monotonic() - self._start) / done
            heading += f", about {_words(each * (self._total - done))} left"
        return f"{self._before}; {heading}" if self._before else heading


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"

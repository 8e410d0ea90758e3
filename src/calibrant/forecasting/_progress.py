"""Progress of several trainings: a heading for each, or one bar over all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
            heading += f", about {duration(each * (self._total - done))} left"
        return f"{self._before}; {heading}" if self._before else heading


def duration(seconds: float) -> str:
    """Seconds or minutes in words."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def training_bar(what: str, total: int, *, show: bool) -> Iterator[Callable[[], None]]:
    """Show progress on standard error; yields a function to call after each training."""
    if not show:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)

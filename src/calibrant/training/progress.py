"""Progress for people who wait: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from calibrant.training.stage import Stage


class Progress(Protocol):
    """Told about every epoch of every stage."""

    def start(self, stage: Stage) -> None:
        """A stage begins."""
        ...

    def advance(self, stage: Stage, epoch: int, score: float, best: float) -> None:
        """An epoch is done."""
        ...

    def finish(self, stage: Stage) -> None:
        """A stage has ended, maybe early."""
        ...


class Silent(AbstractContextManager["Silent"]):
    """No output at all."""

    def __exit__(self, *_: object) -> None: ...

    def start(self, stage: Stage) -> None:
        """Say nothing."""

    def advance(self, stage: Stage, epoch: int, score: float, best: float) -> None:
        """Say nothing."""

    def finish(self, stage: Stage) -> None:
        """Say nothing."""


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """A rich progress bar a stage, on standard error."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
        )
        self._tasks: dict[int, int] = {}

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def start(self, stage: Stage) -> None:
        """Add a bar for the stage."""
        what = {1: "Stage 1, likelihood", 2: "Stage 2, matching  "}.get(
            stage.number, f"Stage {stage.number}"
        )
        self._tasks[stage.number] = int(self._bar.add_task(what, total=stage.epochs, note=""))

    def advance(self, stage: Stage, epoch: int, score: float, best: float) -> None:
        """Move the bar of the stage."""
        task = self._bar.tasks[self._tasks[stage.number]].id
        self._bar.update(task, completed=epoch, note=f"score {score:.4f}, best {best:.4f}")

    def finish(self, stage: Stage) -> None:
        """Fill the bar: early stopping is success, too."""
        task = self._bar.tasks[self._tasks[stage.number]]
        self._bar.update(task.id, total=max(task.completed, 1))


def open_progress(verbose: bool) -> ProgressBar | Silent:
    """Progress bar if asked for, else silence; use it as a context manager."""
    return ProgressBar() if verbose else Silent()

"""Progress of training: bars and a line of scores on a terminal, or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from calibrant.metrics.calibration import coverage_errors
from calibrant.metrics.floor import expected_ecpe
from calibrant.training.history import Record
from calibrant.training.stage import Stage

if TYPE_CHECKING:
    from rich.console import Console

_BETWEEN_SNAPSHOTS = 0.5  # seconds; each costs one or two passes over the held-out rows
_WITHIN_EPOCHS = 1.0  # seconds after which a bar moves inside an epoch


class Snapshot(NamedTuple):
    """Current predictions of the held-out rows."""

    pit: Tensor  # (M, n)
    crps: float | None  # mean over rows and members; None if the score of the stage is CRPS


class Progress(AbstractContextManager["Progress"]):
    """Receives every epoch of every stage; by itself it shows nothing."""

    def __exit__(self, *_: object) -> None: ...

    def start(self, stage: Stage) -> None:
        """Begin a stage."""

    def within(self, stage: Stage, epoch: int, n_rows: int, done: int) -> None:
        """Report how many of the rows of an epoch are done."""

    def advance(
        self, stage: Stage, record: Record, best: float, snapshot: Callable[[], Snapshot] | None
    ) -> None:
        """Report a finished epoch; `snapshot`, when called, computes more to show."""

    def finish(self, stage: Stage) -> None:
        """End a stage, possibly early."""


class ProgressBar(Progress):
    """One bar per stage with the time left, and below them the scores of the last epoch.

    The time left is an upper bound, because a stage may stop early. Scores are in units of the
    scaled target.

    Parameters
    ----------
    console : rich Console, optional
        Default is standard error.
    heading : str
        Line above the bars, which then vanish at the end: one of several trainings.
    """

    def __init__(self, console: Console | None = None, heading: str = "") -> None:
        from rich.console import Console, RenderableType
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        class Bars(RichProgress):
            figures = ""

            def get_renderables(self) -> list[RenderableType]:
                above = [Text(heading)] if heading else []
                line = [Text(self.figures, style="dim")] if self.figures else []
                return [*above, self.make_tasks_table(self.tasks), *line]

        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[epoch]}/{task.total:.0f} epochs"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True) if console is None else console,
            transient=bool(heading),
        )
        self._tasks: dict[int, int] = {}

    def __enter__(self) -> ProgressBar:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def start(self, stage: Stage) -> None:
        """Add a bar for the stage."""
        what = f"Stage {stage.number}, {stage.name}"
        self._crps, self._calibration, self._next_snapshot = "", "", 0.0  # of this stage only
        self._tasks[stage.number] = int(
            self._bars.add_task(what, total=stage.epochs, epoch=0, note="left")
        )
        self._epoch_start = self._last_update = time.monotonic()

    def within(self, stage: Stage, epoch: int, n_rows: int, done: int) -> None:
        """Move the bar of the stage inside a long epoch, with the rows per second."""
        now = time.monotonic()
        if now - self._last_update < _WITHIN_EPOCHS:
            return
        self._last_update = now
        speed = done / (now - self._epoch_start)
        note = f"left, {speed / 1000:,.0f}k rows/s" if speed >= 1000 else "left"
        task = self._bars.tasks[self._tasks[stage.number]].id
        self._bars.update(task, completed=epoch - 1 + done / n_rows, note=note)

    def advance(
        self, stage: Stage, record: Record, best: float, snapshot: Callable[[], Snapshot] | None
    ) -> None:
        """Advance the bar of the stage and update the scores."""
        if snapshot is not None and time.monotonic() >= self._next_snapshot:
            seen = snapshot()
            # 80 columns have no room for CRPS and the best score at once.
            self._crps = "" if seen.crps is None else f", CRPS {seen.crps:.4f}"
            self._calibration = f"   ECPE {_against_floor(seen.pit)}"
            self._next_snapshot = time.monotonic() + _BETWEEN_SNAPSHOTS
        self._bars.figures = (
            f"loss {record['train_loss']:.4f}   held out: {stage.score_name} "
            f"{record['validation_score']:.4f}{self._crps or f', best {best:.4f}'}"
            f"{self._calibration}"
        )
        task = self._bars.tasks[self._tasks[stage.number]].id
        self._bars.update(task, completed=record["epoch"], epoch=record["epoch"])
        self._epoch_start = self._last_update = time.monotonic()

    def finish(self, stage: Stage) -> None:
        """Fill the bar, also after early stopping."""
        task = self._bars.tasks[self._tasks[stage.number]]
        self._bars.update(task.id, total=max(task.completed, 1), note="")
        self._bars.figures = ""  # the last epoch need not be the one that is kept


def open_progress(verbose: bool | str) -> Progress:
    """Return a progress bar if `verbose`, under it as a heading, else no output.

    Use it as a context manager.
    """
    if not verbose:
        return Progress()
    return ProgressBar(heading=verbose if isinstance(verbose, str) else "")


@contextmanager
def open_row_progress(what: str, total: int, *, verbose: bool) -> Iterator[Callable[[int], object]]:
    """Function that advances a bar by a number of rows, with rows per second and the time left."""
    if not verbose:
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    bars = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} rows"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Console(stderr=True),
    )
    start = time.monotonic()

    def advance(rows: int) -> None:
        done = bars.tasks[0].completed + rows
        speed = done / max(time.monotonic() - start, 1e-9)
        bars.update(TaskID(0), completed=done, speed=f"{speed / 1000:,.0f}k rows/s")

    with bars:
        bars.add_task(what, total=total, speed="")
        yield advance


def _against_floor(pit: Tensor) -> str:
    members = pit.double().cpu().numpy()  # (M, n)
    ecpe = sum(coverage_errors(u).mean() for u in members) / len(members)
    return f"{ecpe:.3f}, floor {float(expected_ecpe(members.shape[1])):.3f}"

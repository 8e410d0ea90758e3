"""The board of a comparison while it fills: a live table in a terminal, lines in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from calibrant.cli._output import Messages, console

if TYPE_CHECKING:
    from rich.table import Table

    from calibrant.experiments import Outcome, Store, TimePlan
    from calibrant.experiments.own_table import OwnTable


class Board:
    """CRPS and skill of every method over the folds that are done.

    Parameters
    ----------
    experiment : OwnTable
    store : Store
    messages : Messages
    names : sequence of str
        Methods, in the order in which they run.
    """

    def __init__(
        self, experiment: OwnTable, store: Store, messages: Messages, names: Sequence[str]
    ) -> None:
        self._experiment, self._store, self._messages = experiment, store, messages
        self._names = list(names)
        self._start = time.monotonic()

    def plan(self, plan: TimePlan) -> None:
        """Print what will run, and show its order."""
        self._names = plan.names
        self._messages.say(f"\n{plan}")

    def show(self, outcome: Outcome) -> None:
        """Print the result of a cell, where no table shows it."""
        name, fold = outcome.cell.method, outcome.cell.trial + 1
        start = f"{name}, fold {fold} of {len(self._experiment.folds)}"
        if outcome.status != "done":
            self._messages.say(f"{start}: {outcome.status}, {outcome.message}")
        elif not self._messages.shows_progress:
            crps, skill = self._scores(name, outcome.cell.trial)
            self._messages.say(f"{start}: CRPS {crps}, skill {skill}, {outcome.seconds:.1f} s")

    @contextmanager
    def live(self) -> Iterator[None]:
        """Redraw the table while methods run, in a terminal."""
        if not self._messages.shows_progress:
            yield
            return
        from rich.live import Live

        with Live(
            console=console, get_renderable=self._table, refresh_per_second=1, transient=True
        ):
            yield

    def _table(self) -> Table:
        from rich.table import Table

        elapsed = time.monotonic() - self._start
        table = Table(title=f"{elapsed:.0f} s", title_justify="left", box=None, pad_edge=False)
        table.add_column("method")
        for heading in ("folds", "CRPS", "skill"):
            table.add_column(heading, justify="right")
        for name in self._names:
            done = len(self._crps(name))
            style = None if done == len(self._experiment.folds) else "dim"
            table.add_row(
                name, f"{done}/{len(self._experiment.folds)}", *self._scores(name), style=style
            )
        return table

    def _scores(self, name: str, fold: int | None = None) -> tuple[str, str]:
        """CRPS and skill over one fold, or over those that are done."""
        from calibrant.experiments.candidates import BASELINE

        own, naive = self._crps(name), self._crps(BASELINE)
        folds = [fold] if fold is not None else sorted(own)
        if not own or not all(each in own for each in folds):
            return "", ""
        crps = float(np.mean([own[each] for each in folds]))
        if not all(each in naive for each in folds):
            return f"{crps:.4g}", ""
        return f"{crps:.4g}", f"{1 - crps / float(np.mean([naive[each] for each in folds])):.1%}"

    def _crps(self, name: str) -> dict[int, float]:
        """CRPS of the folds that are done."""
        records = {cell.trial: self._store.read(cell) for cell in self._experiment.cells([name])}
        return {
            fold: record["scores"]["crps"]
            for fold, record in records.items()
            if record is not None and "crps" in record["scores"]
        }

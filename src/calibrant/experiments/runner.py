"""Run many cells, storing each result as soon as it is computed.

On a GPU the trials of a method on a data set train as one batch, because small networks leave most
of a GPU idle. On a CPU every cell runs by itself, one per core.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Literal, Protocol

from calibrant.engines import make_engine
from calibrant.errors import CalibrantError
from calibrant.experiments.store import Cell, Record, Store

Batch = tuple[Cell, ...]  # trials of one method on one data set


class Experiment(Protocol):
    """What the cells of a run mean. It is pickled to reach worker processes."""

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Everything that determines the result of a cell, apart from the data and the seed."""

    def batched(self, cell: Cell) -> bool:
        """Whether trials of this cell's method can train as one batch."""

    def run(self, cells: Sequence[Cell], device: str) -> list[Record]:
        """Fit and score trials of one method on one data set, as one batch if several."""


@dataclass(frozen=True)
class Outcome:
    """How the run of a cell ended.

    Attributes
    ----------
    cell : Cell
    status : {"done", "busy", "failed"}
        "busy" means that another process is running the cell.
    message : str
        Why it failed.
    seconds : float
    """

    cell: Cell
    status: Literal["done", "busy", "failed"]
    message: str = ""
    seconds: float = 0.0


def missing(cells: Iterable[Cell], store: Store, experiment: Experiment) -> list[Cell]:
    """Cells that have no result, or one computed with other settings."""
    return [
        cell
        for cell in cells
        if (record := store.read(cell)) is None or record["settings"] != experiment.settings(cell)
    ]


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    experiment: Experiment,
    *,
    device: str = "auto",
    engine: str = "processes",
    workers: int | None = None,
    address: str | None = None,
    together: int | None = None,
    minutes: float | None = None,
    fits: Callable[[Cell], bool] = lambda cell: True,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run cells and store each result as soon as it is computed.

    Parameters
    ----------
    cells : sequence of Cell
        Cells to run; see `missing`.
    store : Store
    experiment : Experiment
    device : str
    engine : {"serial", "processes", "ray"}
        One cell after another in this process, in worker processes of this machine, or on a Ray
        cluster. The results are the same.
    workers : int, optional
        Number of cells to run at once, one core each; by default as many as the machine allows.
    address : str, optional
        Address of the Ray cluster; by default a local Ray instance.
    together : int, optional
        Maximum number of trials to train as one batch, for methods that support it. By default
        all trials on a GPU, and one on a CPU. One process scores a whole batch, so smaller batches
        use more cores. An interrupted run loses the batches that were running.
    minutes : float, optional
        Start no cell after this time; running cells are finished.
    fits : callable
        Asked before a cell is started, of a batch the first one: whether there is time for it.
    on_outcome : callable
        Called with the outcome of every cell.

    Returns
    -------
    list of Outcome
        In the order in which the cells ended, without those that were not started.
    """
    deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
    run = make_engine(engine, workers=workers, address=address, device=device)
    if not cells:
        return []
    if together is None:
        together = len(cells) if _on_gpu(device, engine) else 1
    batches = _batches(cells, experiment, together)
    with Coordinator(store, experiment, on_outcome) as coordinator:
        in_time = takewhile(lambda _: time.monotonic() < deadline, batches)
        claimed = coordinator.claim(batch for batch in in_time if fits(batch[0]))
        for batch, result in run(partial(_compute, experiment, device), claimed):
            coordinator.finish(batch, result)
    return coordinator.outcomes


def _on_gpu(device: str, engine: str) -> bool:
    from calibrant.training import resolve_device

    if engine == "ray":  # the devices of this machine say nothing about those of a cluster
        return device.startswith("cuda")
    return resolve_device(device).type == "cuda"


def _batches(cells: Iterable[Cell], experiment: Experiment, most: int) -> list[Batch]:
    """Group the trials that can train together, at most `most` of them."""
    groups: dict[Cell, list[Cell]] = {}
    for cell in cells:
        key = replace(cell, trial=-1) if experiment.batched(cell) else cell
        groups.setdefault(key, []).append(cell)
    return [
        tuple(group[i : i + most]) for group in groups.values() for i in range(0, len(group), most)
    ]


class Coordinator:
    """Claims cells that no other process is running, and stores their results."""

    def __init__(
        self, store: Store, experiment: Experiment, on_outcome: Callable[[Outcome], None]
    ) -> None:
        self.outcomes: list[Outcome] = []
        self._store, self._experiment, self._on_outcome = store, experiment, on_outcome
        self._claims: dict[Cell, ExitStack] = {}

    def __enter__(self) -> Coordinator:
        return self

    def __exit__(self, *_: object) -> None:
        for claim in self._claims.values():
            claim.close()

    def claim(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches to run; their cells are claimed when a batch is requested."""
        for batch in batches:
            claimed = tuple(cell for cell in batch if self._claim(cell))
            if claimed:
                yield claimed

    def _claim(self, cell: Cell) -> bool:
        claim = ExitStack()
        if not claim.enter_context(self._store.claim(cell)):
            self._report(Outcome(cell, "busy"))
        elif not missing([cell], self._store, self._experiment):  # another run was faster
            self._report(Outcome(cell, "done"))
        else:
            self._claims[cell] = claim
            return True
        claim.close()
        return False

    def finish(self, batch: Batch, result: list[Record] | str | None) -> None:
        """Store the results of a batch, report its outcomes and release its cells."""
        for i, cell in enumerate(batch):
            if isinstance(result, list):
                self._store.write(cell, result[i])
                self._report(Outcome(cell, "done", seconds=sum(result[i]["seconds"].values())))
            else:
                self._report(Outcome(cell, "failed", result or "its process was killed twice"))
            self._claims.pop(cell).close()

    def _report(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._on_outcome(outcome)


def _compute(experiment: Experiment, device: str, batch: Batch) -> list[Record] | str:
    """Results of the cells, or a message that says why there are none."""
    import torch

    torch.set_num_threads(1)  # one core per process: cells run side by side
    try:
        return experiment.run(batch, device)
    except CalibrantError as error:
        return str(error)
    except Exception as error:  # a failed batch must not stop the others
        return f"{type(error).__name__}: {error}"

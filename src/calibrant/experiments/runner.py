"""Running many cells, each result in the store the moment it is there.

On a GPU the trials of a method on a data set train as one batch: small networks leave most of it
idle. On the CPU every cell runs by itself, as many beside each other as there are cores.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Literal, Protocol

from calibrant.engines import run_here, run_in_processes, run_on_ray
from calibrant.errors import CalibrantError, ParameterError
from calibrant.experiments.methods import method_of
from calibrant.experiments.store import Cell, Record, Store

_BYTES_A_WORKER = 1.5e9  # torch, one data set and one model
_MOST_ON_A_GPU = 4

ENGINES = ("here", "processes", "ray")
Batch = tuple[Cell, ...]  # trials of one method on one data set


class Experiment(Protocol):
    """What cells mean; it travels to other processes."""

    def settings(self, cell: Cell) -> dict[str, Any]:
        """What decides the result of a cell besides the data and the seed."""

    def run(self, cells: Sequence[Cell], device: str) -> list[Record]:
        """Fit and score trials of one method on one data set, several of them as one batch."""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell.

    Attributes
    ----------
    cell : Cell
    status : {"done", "busy", "failed"}
        "busy" is in work in another run.
    message : str
        Why it failed.
    seconds : float
    """

    cell: Cell
    status: Literal["done", "busy", "failed"]
    message: str = ""
    seconds: float = 0.0


def missing(cells: Iterable[Cell], store: Store, experiment: Experiment) -> list[Cell]:
    """Cells without a result, or with one that was made with other settings."""
    return [
        cell
        for cell in cells
        if (record := store.read(cell)) is None or record["settings"] != experiment.settings(cell)
    ]


def fitting_workers(device: str) -> int:
    """How many processes this machine has room for: cores, memory and the GPU decide."""
    from calibrant.training import resolve_device

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = min(cores or 1, max(1, int(_free_bytes() / _BYTES_A_WORKER)))
    return min(workers, _MOST_ON_A_GPU) if resolve_device(device).type == "cuda" else workers


def _free_bytes() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return 4 * _BYTES_A_WORKER


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
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run cells; each result is in the store as soon as it is there.

    Parameters
    ----------
    cells : sequence of Cell
        Those to run; see `missing`.
    store : Store
    experiment : Experiment
    device : str
    engine : {"here", "processes", "ray"}
        One cell after another in this process, side by side in processes of this machine, or on
        a Ray cluster. The results are the same.
    workers : int, optional
        Cells at once, each on one core; as many as fit if not given.
    address : str, optional
        Of the Ray cluster; without it a Ray of this machine.
    together : int, optional
        Train at most so many trials of a method on a data set as one batch, where the method can;
        if not given, all of them on a GPU and each by itself on a CPU. A batch is scored by one
        process: smaller ones use more cores. An interrupted run loses the batches in work.
    minutes : float, optional
        Start nothing after that time; what is in work is finished. All cells if not given.
    on_outcome : callable
        Is told of every cell that ends.

    Returns
    -------
    list of Outcome
        In the order in which the cells ended; none for a cell that was not started.
    """
    until = math.inf if minutes is None else time.monotonic() + 60 * minutes
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}.")
    if address is not None and engine != "ray":
        raise ParameterError(f"address names a Ray cluster, but the engine is {engine!r}.")
    if not cells:
        return []
    if together is None:
        together = len(cells) if _on_gpu(device, engine) else 1
    batches = _batches(cells, together)
    work = partial(_compute, experiment, device)
    with _Desk(store, experiment, on_outcome) as desk:
        waiting = desk.claimed(takewhile(lambda _: time.monotonic() < until, batches))
        if engine == "here":
            results = run_here(work, waiting)
        elif engine == "processes":
            n = min(workers or fitting_workers(device), len(batches))
            results = run_in_processes(work, waiting, workers=n)
        else:
            results = run_on_ray(
                work, waiting, address=address, workers=workers, use_gpu=device != "cpu"
            )
        for batch, result in results:
            desk.take_in(batch, result)
    return desk.outcomes


def _on_gpu(device: str, engine: str) -> bool:
    from calibrant.training import resolve_device

    if engine == "ray":  # the devices of this machine say nothing about those of a cluster
        return device.startswith("cuda")
    return resolve_device(device).type == "cuda"


def _batches(cells: Iterable[Cell], most: int) -> list[Batch]:
    """Trials that can train as one beside each other, at most so many, the others by themselves."""
    groups: dict[Cell, list[Cell]] = {}
    for cell in cells:
        key = replace(cell, trial=-1) if method_of(cell.method).batched else cell
        groups.setdefault(key, []).append(cell)
    return [
        tuple(group[i : i + most]) for group in groups.values() for i in range(0, len(group), most)
    ]


class _Desk:
    """Hands out cells that nobody else has in work, and files their results."""

    def __init__(
        self, store: Store, experiment: Experiment, on_outcome: Callable[[Outcome], None]
    ) -> None:
        self.outcomes: list[Outcome] = []
        self._store, self._experiment, self._on_outcome = store, experiment, on_outcome
        self._claims: dict[Cell, ExitStack] = {}

    def __enter__(self) -> _Desk:
        return self

    def __exit__(self, *_: object) -> None:
        for claim in self._claims.values():
            claim.close()

    def claimed(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Batches to be run, their cells claimed when they are asked for."""
        for batch in batches:
            mine = tuple(cell for cell in batch if self._claim(cell))
            if mine:
                yield mine

    def _claim(self, cell: Cell) -> bool:
        claim = ExitStack()
        if not claim.enter_context(self._store.claim(cell)):
            self._tell(Outcome(cell, "busy"))
        elif not missing([cell], self._store, self._experiment):  # another run was faster
            self._tell(Outcome(cell, "done"))
        else:
            self._claims[cell] = claim
            return True
        claim.close()
        return False

    def take_in(self, batch: Batch, result: list[Record] | str | None) -> None:
        """File the results, tell what became of the cells and give them free."""
        for i, cell in enumerate(batch):
            if isinstance(result, list):
                self._store.write(cell, result[i])
                self._tell(Outcome(cell, "done", seconds=sum(result[i]["seconds"].values())))
            else:
                self._tell(Outcome(cell, "failed", result or "its process was killed twice"))
            self._claims.pop(cell).close()

    def _tell(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._on_outcome(outcome)


def _compute(experiment: Experiment, device: str, batch: Batch) -> list[Record] | str:
    """The results of the cells, or why there are none."""
    import torch

    torch.set_num_threads(1)  # one core a process: cells run side by side
    try:
        return experiment.run(batch, device)
    except CalibrantError as error:
        return str(error)
    except Exception as error:  # one batch that fails must not end the others
        return f"{type(error).__name__}: {error}"

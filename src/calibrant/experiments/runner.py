"""Running many cells in processes of one machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from calibrant.errors import CalibrantError, ParameterError
from calibrant.experiments.methods import method_of
from calibrant.experiments.store import Cell, Store
from calibrant.experiments.tasks import PROTOCOLS, TASKS
from calibrant.experiments.trial import QUICK, run_trial, settings_for

if TYPE_CHECKING:
    from calibrant.experiments.tasks import Folder

_BYTES_A_WORKER = 1.5e9  # torch, one data set and one model
_ATTEMPTS = 2  # of a cell whose worker died


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


def plan(
    datasets: Iterable[str],
    methods: Iterable[str],
    trials: int,
    protocol: str,
    *,
    quick: bool = False,
) -> list[Cell]:
    """List the cells of a run, all methods of a trial beside each other.

    Examples
    --------
    >>> [str(cell) for cell in plan(["wine"], ["hnn", "mmd"], 1, "honest")]
    ['honest/wine/hnn/0', 'honest/wine/mmd/0']
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(f"protocol must be one of {', '.join(PROTOCOLS)}; got {protocol!r}.")
    if trials < 1:
        raise ParameterError(f"trials must be at least 1; got {trials}.")
    chosen, keys = list(datasets), list(methods)
    for name in chosen:
        if name not in TASKS:
            raise ParameterError(f"Unknown task {name!r}. The known ones are: {', '.join(TASKS)}.")
    for key in keys:
        method_of(key)
    label = f"{protocol}{QUICK}" if quick else protocol
    return [
        Cell(label, dataset, method, trial)
        for trial in range(trials)
        for dataset in chosen
        for method in keys
    ]


def missing(cells: Sequence[Cell], store: Store) -> list[Cell]:
    """Cells without a result, or with one that was made with other settings."""
    wanted = []
    for cell in cells:
        record = store.read(cell)
        if record is None or record["settings"] != settings_for(cell):
            wanted.append(cell)
    return wanted


def fitting_workers(device: str) -> int:
    """How many processes this machine has room for: cores, memory and the GPU decide."""
    from calibrant.training import resolve_device

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = min(cores or 1, max(1, int(_free_bytes() / _BYTES_A_WORKER)))
    return min(workers, 4) if resolve_device(device).type == "cuda" else workers


def _free_bytes() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return 4 * _BYTES_A_WORKER


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    data_dir: Folder = None,
    device: str = "auto",
    workers: int | None = None,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run cells side by side; each result is in the store before the next begins.

    Parameters
    ----------
    cells : sequence of Cell
        Those to run; see `missing`.
    store : Store
    data_dir : path, optional
        Folder of the data sets.
    device : str
    workers : int, optional
        Processes, each on one core; as many as fit if not given.
    on_outcome : callable
        Is told of every cell that ends.

    Returns
    -------
    list of Outcome
        In the order in which the cells ended.
    """
    outcomes: list[Outcome] = []
    waiting, attempts = list(cells), 0
    n = workers or fitting_workers(device)
    while waiting and attempts < _ATTEMPTS:
        ended = []
        for outcome in _in_pool(waiting, n, store, data_dir, device):
            on_outcome(outcome)
            ended.append(outcome)
        outcomes += ended
        # What is left was in the pool when a worker died, of lack of memory, say.
        waiting = [cell for cell in waiting if cell not in {outcome.cell for outcome in ended}]
        attempts += 1
        n = max(1, n // 2)
    lost = [Outcome(cell, "failed", "its process was killed twice") for cell in waiting]
    for outcome in lost:
        on_outcome(outcome)
    return outcomes + lost


def _in_pool(
    cells: Sequence[Cell], workers: int, store: Store, data_dir: Folder, device: str
) -> Iterator[Outcome]:
    spawn = multiprocessing.get_context("spawn")  # CUDA and threads do not survive a fork
    folder, data = str(store.folder), None if data_dir is None else str(data_dir)
    pool = ProcessPoolExecutor(min(workers, len(cells)), mp_context=spawn)
    try:
        running: set[Future[Outcome]] = {
            pool.submit(_work, cell, folder, data, device) for cell in cells
        }
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                try:
                    yield future.result()
                except BrokenProcessPool:
                    return
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _work(cell: Cell, folder: str, data_dir: str | None, device: str) -> Outcome:
    """Run one cell in this process and store its result."""
    import torch

    torch.set_num_threads(1)  # one core a process: cells run side by side
    store = Store(folder)
    with store.claim(cell) as mine:
        if not mine:
            return Outcome(cell, "busy")
        if not missing([cell], store):  # another run was faster
            return Outcome(cell, "done")
        try:
            record = run_trial(cell, data_dir, device)
        except CalibrantError as error:
            return Outcome(cell, "failed", str(error))
        except Exception as error:  # one cell that fails must not end the others
            return Outcome(cell, "failed", f"{type(error).__name__}: {error}")
        store.write(cell, record)
        return Outcome(cell, "done", seconds=sum(record["seconds"].values()))

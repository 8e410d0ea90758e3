"""One of the engines by its name, with its options bound."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from calibrant.engines.processes import run_in_processes
from calibrant.engines.ray import run_on_ray
from calibrant.engines.serial import run_serial
from calibrant.errors import ParameterError
from calibrant.training import resolve_device

ENGINES = ("serial", "processes", "ray")
_BYTES_PER_WORKER = 1.5e9  # torch, one data set and one model
_MAX_WORKERS_PER_GPU = 4

Run = Callable[..., Iterator[tuple[Any, Any]]]  # an engine: of a function and items


def make_engine(
    name: str, *, workers: int | None = None, address: str | None = None, device: str = "auto"
) -> Run:
    """Return an engine, a function of a function and of items.

    Parameters
    ----------
    name : {"serial", "processes", "ray"}
        One item after another in this process, in worker processes of this machine, or on a Ray
        cluster.
    workers : int, optional
        Most items at once; by default as many as the machine or the cluster has room for.
    address : str, optional
        Address of the Ray cluster; by default a local Ray instance.
    device : str
        Where the items train.

    Examples
    --------
    >>> from calibrant.engines import make_engine
    >>> list(make_engine("serial")(abs, [-1, 2]))
    [(-1, 1), (2, 2)]
    """
    if name not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}; got {name!r}.")
    if address is not None and name != "ray":
        raise ParameterError(f"address names a Ray cluster, but the engine is {name!r}.")
    if name == "serial":
        return run_serial
    if name == "processes":
        return partial(run_in_processes, workers=workers or default_workers(device))
    return partial(run_on_ray, address=address, workers=workers, use_gpu=device != "cpu")


def default_workers(device: str) -> int:
    """Number of processes that the cores, the memory and the GPU of this machine allow."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = min(cores or 1, max(1, int(_free_bytes() / _BYTES_PER_WORKER)))
    on_gpu = resolve_device(device).type == "cuda"
    return min(workers, _MAX_WORKERS_PER_GPU) if on_gpu else workers


def _free_bytes() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not available on this system
        return 4 * _BYTES_PER_WORKER

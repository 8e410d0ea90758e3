"""Items side by side on a Ray cluster, or on a Ray of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from calibrant.errors import CalibrantError, MissingDependencyError

Item = TypeVar("Item")
Result = TypeVar("Result")
_TASKS_A_GPU = 4  # small networks leave most of it idle


def run_on_ray(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    address: str | None = None,
    workers: int | None = None,
    use_gpu: bool = True,
    attempts: int = 2,
) -> Iterator[tuple[Item, Result | None]]:
    """Call the function with each item in Ray tasks of one core, or a quarter of a GPU.

    Needs the extra ``ray`` here, and this package in the same version on every node.

    Parameters
    ----------
    function : callable
        Of one item.
    items : iterable
    address : str, optional
        Of a running cluster, such as "auto" or "ray://host:10001"; without it a Ray is started
        on this machine, and stopped at the end.
    workers : int, optional
        Most tasks at once; as many as the cluster has room for if not given.
    use_gpu : bool
        Ask for GPUs where the cluster has some.
    attempts : int
        How often an item is tried whose worker dies.

    Yields
    ------
    item, result : pair
        The result is None if all attempts ended with a dead worker.
    """
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        _connect(ray, address, workers)
    try:
        yield from _run(ray, function, items, workers, use_gpu, attempts)
    finally:
        if started:
            ray.shutdown()


def _run(
    ray: Any,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int | None,
    use_gpu: bool,
    attempts: int,
) -> Iterator[tuple[Item, Result | None]]:
    room = ray.cluster_resources()
    gpus = room.get("GPU", 0.0) if use_gpu else 0.0
    fitting = int(min(room.get("CPU", 1.0), _TASKS_A_GPU * gpus or room.get("CPU", 1.0)))
    # Ray itself tries a task again whose worker died. What the function carries along, a table
    # perhaps, goes to each node once.
    shared = ray.put(function)
    task = ray.remote(
        num_cpus=1, num_gpus=1 / _TASKS_A_GPU if gpus else 0, max_retries=attempts - 1
    )(_call)
    coming, running = iter(items), dict[Any, Item]()
    while True:
        while len(running) < max(1, workers or fitting):
            item = next(coming, None)
            if item is None:
                break
            running[task.remote(shared, item)] = item
        if not running:
            return
        (ended,), _ = ray.wait(list(running), num_returns=1)
        item = running.pop(ended)
        try:
            result = ray.get(ended)
        except (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.OutOfMemoryError,
            ray.exceptions.NodeDiedError,
        ):
            result = None
        yield item, result


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    return function(item)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            "The Ray engine needs the package ray: pip install 'calibrant[ray]'."
        ) from error
    return ray


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    local = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise CalibrantError(f"Can't reach a Ray cluster at {address!r}: {error}") from error

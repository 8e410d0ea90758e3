"""Items side by side on a Ray cluster, or on a local Ray instance."""

from __future__ import annotations

import copy
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from calibrant.errors import CalibrantError, MissingDependencyError, ParameterError

Item = TypeVar("Item")
Result = TypeVar("Result")
_SECONDS_TO_CONNECT = 5.0
_TASKS_PER_GPU = 4  # small networks leave most of a GPU idle
# Ray speaks gRPC: a client begins with a preface and a frame SETTINGS, and is sent one as well.
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4  # type of a frame, its fourth byte


def run_on_ray(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    address: str | None = None,
    workers: int | None = None,
    use_gpu: bool = True,
) -> Iterator[tuple[Item, Result | None]]:
    """Call the function with each item, in Ray tasks of one core or a quarter of a GPU.

    Needs the extra ``ray``, and the same version of this package on every node.

    Parameters
    ----------
    function : callable
        Takes one item.
    items : iterable
    address : str, optional
        Address of a running cluster, such as "auto" or "ray://host:10001". Without it, a local
        Ray instance is started, and stopped at the end.
    workers : int, optional
        Maximum number of tasks at once; by default as many as the cluster has room for.
    use_gpu : bool
        Request GPUs if the cluster has any.

    Yields
    ------
    item, result : pair
        The result is None if the worker died twice.
    """
    with ray_cluster(address, workers) as ray:
        yield from _run(ray, function, items, workers, use_gpu)


@contextmanager
def ray_cluster(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a Ray cluster, or start a local one, for the time of a ``with`` block.

    A connection that exists already is used, and left open.

    Parameters
    ----------
    address : str, optional
        Address of a running cluster, such as "auto" or "ray://host:10001".
    workers : int, optional
        Cores of a local cluster; by default all of the machine.

    Yields
    ------
    ray : the package, connected
    """
    ray = import_ray()
    started = not ray.is_initialized()
    if started:
        _connect(ray, address, workers)
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def _run(
    ray: Any,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int | None,
    use_gpu: bool,
) -> Iterator[tuple[Item, Result | None]]:
    resources = ray.cluster_resources()
    cpus = resources.get("CPU", 1.0)
    gpus = resources.get("GPU", 0.0) if use_gpu else 0.0
    capacity = int(min(cpus, _TASKS_PER_GPU * gpus or cpus))
    # Ray itself retries a task whose worker died. Data bound to the function, such as a table, is
    # sent to each node once.
    shared = ray.put(function)
    task = ray.remote(num_cpus=1, num_gpus=1 / _TASKS_PER_GPU if gpus else 0, max_retries=1)(_call)
    pending, running = iter(items), dict[Any, Item]()
    while True:
        while len(running) < max(1, workers or capacity):
            item = next(pending, None)
            if item is None:
                break
            running[task.remote(shared, item)] = item
        if not running:
            return
        (finished,), _ = ray.wait(list(running), num_returns=1)
        item = running.pop(finished)
        try:
            # Arrays in Ray's store are read-only: a copy can be changed, as results of any engine.
            result = copy.deepcopy(ray.get(finished))
        except (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.OutOfMemoryError,
            ray.exceptions.NodeDiedError,
        ):
            result = None
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error  # without the traceback in its message
        yield item, result


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    return function(item)


def import_ray() -> Any:
    """Return the package, or say which extra has it."""
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            "The Ray engine needs the package ray: pip install 'calibrant[ray]'."
        ) from error
    return ray


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    if address is not None:
        _check_reachable(address)
    local = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics are sent
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise CalibrantError(f"Cannot connect to a Ray cluster at {address!r}: {error}") from error


def _check_reachable(address: str) -> None:
    """Raise an error at once where no Ray answers; Ray itself would try for minutes."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ParameterError(f"{address!r} is not an address host:port: {error}.") from error
    if host is None or port is None:  # "auto", or a name that Ray knows
        return
    try:
        with socket.create_connection((host, port), timeout=_SECONDS_TO_CONNECT) as connection:
            if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
                _check_greeting(connection)
    except OSError as error:
        raise CalibrantError(
            f"Cannot connect to a Ray cluster at {address!r}: {error}. Is it running, and is the "
            "port right (6379 of the head node, or ray://HOST:10001 from outside)?"
        ) from error


def _check_greeting(connection: socket.socket) -> None:
    """Raise an `OSError` if a server is silent, or speaks another protocol than Ray's."""
    connection.sendall(_HTTP2_PREFACE)
    header = connection.recv(9)
    if len(header) < 4 or header[3] != _SETTINGS:
        raise OSError("what answers there is not Ray")

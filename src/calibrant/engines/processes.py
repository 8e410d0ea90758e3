"""Items side by side in worker processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")
_ATTEMPTS = 2  # of an item whose process dies


def run_in_processes(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int
) -> Iterator[tuple[Item, Result | None]]:
    """Call the function with each item, at most `workers` at once.

    Parameters
    ----------
    function : callable
        Takes one item. It is pickled, so it must be defined at the top level of a module.
    items : iterable
    workers : int

    Yields
    ------
    item, result : pair
        The result is None if the process died twice.
    """
    pending, retries = iter(items), deque[tuple[Item, int]]()
    running: dict[Future[Result], tuple[ProcessPoolExecutor, Item, int]] = {}
    # One pool per worker: a process that dies breaks its pool, and the other pools continue.
    pools = [_pool() for _ in range(workers)]
    idle = list(pools)
    try:
        while True:
            while idle and (ready := _next(pending, retries)) is not None:
                pool = idle.pop()
                running[pool.submit(function, ready[0])] = (pool, *ready)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, item, attempt = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    # Usually out of memory: continue with one worker less, but at least one.
                    pools.remove(pool)
                    if not pools:
                        pools.append(_pool())
                        idle.append(pools[0])
                    if attempt < _ATTEMPTS:
                        retries.append((item, attempt + 1))
                    else:
                        yield item, None
                else:
                    idle.append(pool)
                    yield item, result
    finally:
        for pool in pools:
            pool.shutdown(wait=True, cancel_futures=True)


def _next(pending: Iterator[Item], retries: deque[tuple[Item, int]]) -> tuple[Item, int] | None:
    """Next item and the number of its attempt; retries come last."""
    for item in pending:
        return item, 1
    return retries.popleft() if retries else None


def _pool() -> ProcessPoolExecutor:
    # CUDA and threads do not survive a fork.
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_start_worker)


def _start_worker() -> None:
    """Limit the worker to one core and stop it when its parent dies.

    A worker whose parent was killed would otherwise wait for work forever.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are loaded later
    threadpool_limits(1)
    torch.set_num_threads(1)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

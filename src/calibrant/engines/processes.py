"""Items side by side in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_in_processes(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    workers: int,
    attempts: int = 2,
) -> Iterator[tuple[Item, Result | None]]:
    """Call the function with each item, at most `workers` at once.

    Parameters
    ----------
    function : callable
        Of one item, at the top level of a module: it travels to another process.
    items : iterable
    workers : int
    attempts : int
        How often an item is tried whose process dies.

    Yields
    ------
    item, result : pair
        The result is None if all attempts ended with a dead process.
    """
    coming, again = iter(items), deque[tuple[Item, int]]()
    running: dict[Future[Result], tuple[ProcessPoolExecutor, Item, int]] = {}
    # Pools of one: when a process dies, its pool is broken and the others go on.
    pools = [_pool() for _ in range(workers)]
    idle = list(pools)
    try:
        while True:
            while idle and (ready := _next(coming, again)) is not None:
                pool = idle.pop()
                running[pool.submit(function, ready[0])] = (pool, *ready)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, item, attempt = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    # Mostly for lack of memory: go on with one worker less while there is another.
                    pools.remove(pool)
                    if not pools:
                        pools.append(_pool())
                        idle.append(pools[0])
                    if attempt < attempts:
                        again.append((item, attempt + 1))
                    else:
                        yield item, None
                else:
                    idle.append(pool)
                    yield item, result
    finally:
        for pool in pools:
            pool.shutdown(wait=True, cancel_futures=True)


def _next(coming: Iterator[Item], again: deque[tuple[Item, int]]) -> tuple[Item, int] | None:
    """An item with the number of its attempt; those that failed once come last."""
    for item in coming:
        return item, 1
    return again.popleft() if again else None


def _pool() -> ProcessPoolExecutor:
    # CUDA and threads do not survive a fork.
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)


def _begin() -> None:
    """Work on one core, for others work beside, and end with the parent.

    A worker whose parent was killed would wait for work for ever.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

"""Functions for the engines to run, at the top level of a module so that they can be pickled."""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from pathlib import Path

from calibrant.errors import DataError


def square(folder: str, item: int) -> int:
    """Record the call and square the item; the first call of 2 and every call of 3 are killed."""
    calls = Path(folder)
    before = len(list(calls.glob(f"{item}-*")))
    (calls / f"{item}-{uuid.uuid4()}").touch()
    if item == 3 or (item == 2 and not before):
        time.sleep(0.2)  # the other items have started by now
        os.kill(os.getpid(), signal.SIGKILL)
    return item**2


def wait_forever(folder: str) -> None:
    made = Path(folder) / "made"
    made.write_text(str(os.getpid()))
    made.rename(made.with_name("worker"))  # complete as soon as it exists
    time.sleep(600)


def threads(_: int) -> set[int]:
    """Threads of torch and of every native library of this process."""
    import numpy  # noqa: F401
    import torch
    from threadpoolctl import threadpool_info

    return {torch.get_num_threads(), *(each["num_threads"] for each in threadpool_info())}


def refuse(item: int) -> None:
    raise DataError(f"{item} is refused.")


def calls(folder: Path, item: int) -> int:
    return len(list(folder.glob(f"{item}-*")))


if __name__ == "__main__":
    from calibrant.engines import run_in_processes

    list(run_in_processes(wait_forever, sys.argv[1:], workers=1))

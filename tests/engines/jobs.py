"""Work for engines, at the top level of a module: it travels to other processes."""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from pathlib import Path


def square(folder: str, item: int) -> int:
    """Note the call and square the item; of 2 the first call, of 3 every call is killed."""
    calls = Path(folder)
    before = len(list(calls.glob(f"{item}-*")))
    (calls / f"{item}-{uuid.uuid4()}").touch()
    if item == 3 or (item == 2 and not before):
        time.sleep(0.2)  # others are at work by now
        os.kill(os.getpid(), signal.SIGKILL)
    return item**2


def wait_for_ever(folder: str) -> None:
    made = Path(folder) / "made"
    made.write_text(str(os.getpid()))
    made.rename(made.with_name("worker"))  # whole when it is there
    time.sleep(600)


def calls(folder: Path, item: int) -> int:
    return len(list(folder.glob(f"{item}-*")))


if __name__ == "__main__":
    from calibrant.engines import run_in_processes

    list(run_in_processes(wait_for_ever, sys.argv[1:], workers=1))

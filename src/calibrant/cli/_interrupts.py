"""Ctrl-C: a result is written completely or not at all, and the user is told which."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_kept: list[str] = []


@contextmanager
def uninterrupted(*paths: Path) -> Iterator[None]:
    """Write results without being interrupted; an interrupt waits until they are complete.

    For the short last step only. Outside the main thread signals do not arrive anyway.

    Parameters
    ----------
    *paths : Path
        What is written; an interrupted command tells that it was kept.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        _kept.extend(map(str, paths))
        return
    arrived: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
        _kept.extend(map(str, paths))
    finally:
        signal.signal(signal.SIGINT, before)
    if arrived:
        raise KeyboardInterrupt


def forget_kept() -> None:
    """Begin a new command."""
    _kept.clear()


def what_was_kept() -> str:
    """Say what an interrupted command leaves behind."""
    return f"complete and kept: {', '.join(_kept)}." if _kept else "nothing was written."

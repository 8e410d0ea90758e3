"""Many cells being run: a bar for those who watch, a line a cell for those who read a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from calibrant.cli._output import Voice, console, report_error

if TYPE_CHECKING:
    from calibrant.experiments import Outcome


@contextmanager
def watched(total: int, voice: Voice) -> Iterator[Callable[[Outcome], None]]:
    """Give a function to be told of every cell that ends."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not voice.shows_progress,
    ) as bar:
        task = bar.add_task("cells", total=total)

        def tell(outcome: Outcome) -> None:
            bar.update(task, advance=1, description=str(outcome.cell))
            if outcome.status != "done" or not voice.shows_progress:
                detail = outcome.message or f"{outcome.seconds:.1f} s"
                voice.say(f"{outcome.cell}: {outcome.status}, {detail}")

        yield tell


@contextmanager
def resumable(out: Path, total: int, count_missing: Callable[[], int]) -> Iterator[None]:
    """Say how many results are where when interrupted, and leave nothing else behind.

    Parameters
    ----------
    out : path
        Folder of the store.
    total : int
        Cells that the command wants.
    count_missing : callable
        How many of them have no result in the store.
    """
    locks = out / ".locks"
    made = [folder for folder in (locks, out) if not folder.exists()]
    try:
        yield
    except KeyboardInterrupt as error:
        _remove_idle(locks)
        for folder in made:
            with suppress(OSError):  # it holds something
                folder.rmdir()
        kept = total - count_missing()
        words = (
            f"{kept} of {total} cells are kept in {out}; the same command continues there."
            if kept
            else f"none of {total} cells was finished; the same command starts again."
        )
        report_error(words, title="Interrupted")
        raise typer.Exit(130) from error


def _remove_idle(locks: Path) -> None:
    """Remove the locks that no run holds.

    Each is removed by its holder: a run that opened the file before and gets the lock after sees
    that the file has no name any more. At worst two runs compute one cell, and write the same.
    """
    from filelock import FileLock, Timeout

    for path in locks.glob("*"):
        with suppress(Timeout, OSError), FileLock(path, timeout=0):
            path.unlink()


def names(text: str | None) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]

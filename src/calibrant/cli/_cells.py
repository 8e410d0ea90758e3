"""Progress of many cells: a bar in a terminal, one line per cell in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli._output import Messages, console, reporting_interrupts

if TYPE_CHECKING:
    from calibrant.experiments import Outcome


@contextmanager
def cell_progress(total: int, messages: Messages) -> Iterator[Callable[[Outcome], None]]:
    """Yield a function to call with the outcome of every cell."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not messages.shows_progress,
    ) as bar:
        task = bar.add_task("cells", total=total)

        def show(outcome: Outcome) -> None:
            bar.update(task, advance=1, description=str(outcome.cell))
            if outcome.status != "done" or not messages.shows_progress:
                detail = outcome.message or f"{outcome.seconds:.1f} s"
                messages.say(f"{outcome.cell}: {outcome.status}, {detail}")

        yield show


@contextmanager
def resumable(out: Path, total: int, count_missing: Callable[[], int]) -> Iterator[None]:
    """Report which results are kept after an interrupt, and remove a folder without any.

    Parameters
    ----------
    out : path
        Folder of the store.
    total : int
        Number of cells of the command.
    count_missing : callable
        Returns how many of them have no result in the store.
    """
    is_new = not out.exists()

    def kept() -> str:
        finished = total - count_missing()
        if finished:
            return (
                f"{finished} of {total} cells are kept in {out}; the same command continues there."
            )
        if is_new:
            from calibrant.experiments import Store

            Store(out).remove_if_empty()
        return f"none of {total} cells was finished; the same command starts again."

    with reporting_interrupts(kept):
        yield


def split_names(text: str | None) -> list[str]:
    """Split names at commas and keep each once."""
    found = (name.strip() for name in (text or "").split(","))
    return list(dict.fromkeys(name for name in found if name))

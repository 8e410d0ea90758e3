"""Many cells being run: a bar for those who watch, a line a cell for those who read a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
def resumable(out: Path) -> Iterator[None]:
    """Say where the results are when interrupted."""
    try:
        yield
    except KeyboardInterrupt as error:
        report_error(
            f"finished cells are in {out}; the same command continues there.", title="Interrupted"
        )
        raise typer.Exit(130) from error


def names(text: str | None) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]

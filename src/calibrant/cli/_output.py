"""Messages go to standard error, so that standard output carries results only."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from calibrant.cli._interrupts import what_was_kept
from calibrant.errors import CalibrantWarning

if TYPE_CHECKING:
    import pandas as pd

console = Console(stderr=True, highlight=False)


def report_error(sentence: str, *, title: str = "Error") -> None:
    """Print one sentence about what went wrong."""
    _say(Text.assemble((f"{title}: ", "bold red"), " ".join(sentence.split())))


@contextmanager
def reporting_interrupts(kept: Callable[[], str] = what_was_kept) -> Iterator[None]:
    """Turn an interrupt into a sentence about what was kept and the exit code 130, as shells do."""
    try:
        yield
    except KeyboardInterrupt as error:
        report_error(kept(), title="Interrupted")
        raise typer.Exit(130) from error


class Messages:
    """Notes and progress for the user, unless asked to be quiet.

    Parameters
    ----------
    quiet : bool
        Print nothing and show no progress.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    @property
    def shows_progress(self) -> bool:
        """Whether to draw progress bars: in a terminal only, in a log file they are noise."""
        return _in_terminal() and not self._quiet

    def note(self, sentence: str) -> None:
        """Print what the user may want to know about the data."""
        if not self._quiet:
            _say(Text.assemble(("Note: ", "yellow"), sentence))

    def say(self, text: str) -> None:
        """Print a plain message."""
        if not self._quiet:
            _say(Text(text))

    @contextmanager
    def warnings_as_notes(self, but: type[Warning] | None = None) -> Iterator[None]:
        """Print warnings of this library as notes, each once; leave others to Python.

        Parameters
        ----------
        but : type of warning, optional
            What the user has been told already.
        """
        said: set[str] = set()
        with warnings.catch_warnings():
            warnings.simplefilter("always", CalibrantWarning)
            if but is not None:
                warnings.simplefilter("ignore", but)
            shown_by_python = warnings.showwarning

            def show(
                message: Warning | str,
                category: type[Warning],
                filename: str,
                lineno: int,
                file: TextIO | None = None,
                line: str | None = None,
            ) -> None:
                if not issubclass(category, CalibrantWarning):
                    shown_by_python(message, category, filename, lineno, file, line)
                elif str(message) not in said:
                    said.add(str(message))
                    self.note(str(message))

            warnings.showwarning = show
            yield


def _say(text: Text) -> None:
    # In a pipe a sentence stays on one line, where grep finds it.
    console.print(text, soft_wrap=not _in_terminal())


def _in_terminal() -> bool:
    # Not console.is_terminal: FORCE_COLOR asks for colours in a pipe, not for moving bars.
    return sys.stderr.isatty() and not console.is_dumb_terminal


def write_out(text: str) -> None:
    """Write data to standard output, ending in a line break."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()  # a closed pipe is noticed here, where typer handles it


def write_heading(text: str) -> None:
    """Write a heading to standard output, bold in a terminal."""
    Console(highlight=False).print(Text(text, style="bold"))


def write_csv(table: pd.DataFrame) -> None:
    """Write a table to standard output as CSV: all digits, but six in a terminal."""
    digits = "%.6g" if sys.stdout.isatty() else None
    write_out(table.to_csv(index=False, lineterminator="\n", float_format=digits))


def write_json(value: Any) -> None:
    """Write a value to standard output as JSON."""
    write_out(json.dumps(value, indent=2, allow_nan=False))

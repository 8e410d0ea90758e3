"""Suggestions for mistyped names, and for a target that is not named."""

from __future__ import annotations

import difflib
import re
import shlex
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from calibrant.errors import CalibrantWarning, ParameterError


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to a mistyped one, ignoring case, or None if none is close."""
    by_letters = {str(other).lower(): str(other) for other in known}
    close = difflib.get_close_matches(name.lower(), by_letters, n=1)
    return by_letters[close[0]] if close else None


def with_hint(message: str) -> str:
    """Add the closest choice to the parser's message about the value of an option."""
    plain = message.removeprefix("Value error, ")  # the parser's prefix, of no use to users
    choice = re.fullmatch(r"'(?P<name>.*)' is not one of (?P<known>.*)\.", plain, flags=re.S)
    if choice is None:
        return plain
    close = did_you_mean(choice["name"], re.findall("'([^']*)'", choice["known"]))
    return plain if close is None else f"{plain} Did you mean {close!r}?"


def listing(columns: Collection[str]) -> str:
    """Name the columns of a table, the first ten if there are more."""
    names = [str(name) for name in columns]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"Its columns are: {', '.join(names[:10])}{more}."


@contextmanager
def columns_for_a_missing_target() -> Iterator[None]:
    """Answer a command without ``--target`` with the columns of its table."""
    try:
        yield
    except typer.BadParameter as error:
        if error.param is None or error.param.name != "target" or error.ctx is None:
            raise
        known = error.ctx.command.params
        arguments = [each.name for each in known if each.param_type_name == "argument"]
        tables = [error.ctx.params.get(str(name)) for name in arguments]
        if not tables or not isinstance(tables[0], Path):
            raise
        names = _columns(tables[0])
        raise ParameterError(
            f"Missing --target, the column to predict in {tables[0]}. {listing(names)} For the "
            f"last one: --target {shlex.quote(names[-1])}"
        ) from error


def _columns(path: Path) -> list[str]:
    """Names of the columns of a table."""
    from calibrant.cli._streams import parquet_source
    from calibrant.tables import read_table

    source = parquet_source(path)
    if source is not None:
        return list(source.schema.names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        return [str(name) for name in read_table(path)]

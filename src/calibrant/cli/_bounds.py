"""Bounds of one or several targets: ``--lower 0``, or ``--lower count=0`` for one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from calibrant.cli import _options as option
from calibrant.cli._hints import did_you_mean
from calibrant.errors import ParameterError

Bounds = tuple[float | None, float | None] | None

Lowers = Annotated[
    list[str] | None,
    typer.Option("--lower", help="Lower bound of the target, or of one: COL=X.", metavar="X"),
]
Uppers = Annotated[
    list[str] | None,
    typer.Option("--upper", help="Upper bound of the target, or of one: COL=X.", metavar="X"),
]


def bounds_by_target(
    lower: Sequence[str] | None, upper: Sequence[str] | None, targets: Sequence[str]
) -> dict[str, Bounds]:
    """Return the bounds of every target; those without a name are for all others."""
    lows, highs = _by_target(lower, "--lower", targets), _by_target(upper, "--upper", targets)
    return {target: option.bounds_of(lows[target], highs[target]) for target in targets}


def _by_target(
    values: Sequence[str] | None, flag: str, targets: Sequence[str]
) -> dict[str, float | None]:
    common: float | None = None
    named: dict[str, float] = {}
    for text in values or ():
        target, is_named, number = text.rpartition("=")
        if is_named and target not in targets:
            close = did_you_mean(target, targets)
            hint = "" if close is None else f" Did you mean {close!r}?"
            raise ParameterError(f"{flag} {text}: {target!r} is not a --target.{hint}")
        try:
            bound = float(number)
        except ValueError as cause:
            raise ParameterError(
                f"{flag} must be a number, or COL=NUMBER for one target, got {text!r}."
            ) from cause
        if is_named:
            named[target] = bound
        else:
            common = bound
    return {target: named.get(target, common) for target in targets}

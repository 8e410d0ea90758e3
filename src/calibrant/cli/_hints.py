"""Suggestions for mistyped names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


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

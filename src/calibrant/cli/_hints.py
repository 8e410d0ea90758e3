"""What a mistyped name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Known name that is closest to a mistyped one, capitals aside; None where none is close."""
    by_letters = {str(other).lower(): str(other) for other in known}
    close = difflib.get_close_matches(name.lower(), by_letters, n=1)
    return by_letters[close[0]] if close else None

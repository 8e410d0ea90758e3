"""Column names of text files: without spaces around them, and each one once."""

from __future__ import annotations

from collections.abc import Sequence


def repeated_names(header: Sequence[str]) -> list[str]:
    """Names that stand above more than one column.

    Examples
    --------
    >>> repeated_names(["a", "b ", "", "b", ""])
    ['b']
    """
    plain = [name.strip() for name in header]
    return [name for name in dict.fromkeys(plain) if name and plain.count(name) > 1]


def plain_names(names: Sequence[str]) -> list[str]:
    """Names without spaces around them; a repeated one gets a number, as in pandas.

    Examples
    --------
    >>> plain_names([" price", "z", "z.1", "z "])
    ['price', 'z', 'z.1', 'z.2']
    """
    found: list[str] = []
    for name in names:
        plain, count = name.strip(), 0
        while plain in found:
            count += 1
            plain = f"{name.strip()}.{count}"
        found.append(plain)
    return found

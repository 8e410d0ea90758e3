"""One item after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_serial(
    function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | None]]:
    """Call the function with each item, in order.

    Examples
    --------
    >>> from calibrant.engines import run_serial
    >>> list(run_serial(abs, [-1, 2]))
    [(-1, 1), (2, 2)]
    """
    for item in items:
        yield item, function(item)

"""The option ``--seed``."""

from __future__ import annotations

from calibrant.errors import ParameterError

_LARGEST = 2**31  # generators take twice as much, and folds count on from it


def check_seed(seed: int) -> int:
    """Complain about a seed that no generator takes.

    As a callback: a range in the option itself fills a third of the help.
    """
    if not 0 <= seed <= _LARGEST:
        raise ParameterError(f"--seed must lie between 0 and {_LARGEST}, got {seed}.")
    return seed

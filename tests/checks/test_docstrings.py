"""The examples in the docstrings run and print what they say."""

from __future__ import annotations

import doctest

from calibrant.checks import arrays, levels


def test_examples() -> None:
    for module in (arrays, levels):
        result = doctest.testmod(module)
        assert result.attempted
        assert not result.failed

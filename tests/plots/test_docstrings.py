"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from calibrant import plots

MODULES = [module.name for module in pkgutil.iter_modules(plots.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"calibrant.plots.{name}")).failed == 0

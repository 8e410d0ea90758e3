"""The examples in the docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from calibrant import calibration

MODULES = [module.name for module in pkgutil.iter_modules(calibration.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"calibrant.calibration.{name}")).failed == 0

"""The examples in the docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from calibrant import datasets

MODULES = [module.name for module in pkgutil.iter_modules(datasets.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALIBRANT_CACHE", raising=False)
    module = importlib.import_module(f"calibrant.datasets.{name}")
    assert doctest.testmod(module).failed == 0

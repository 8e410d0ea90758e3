"""The examples in the docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from calibrant import distributions

MODULES = [module.name for module in pkgutil.iter_modules(distributions.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    if name == "to_skpro":
        pytest.importorskip("skpro")
    module = importlib.import_module(f"calibrant.distributions.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", distributions.__all__)
def test_every_public_family_has_an_example(name: str) -> None:
    if name != "Distribution":
        assert ">>>" in getattr(distributions, name).__doc__

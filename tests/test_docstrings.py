"""The examples in the docstrings run and print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from importlib.util import find_spec

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from tests.documents import ROOT

from calibrant import distributions

SOURCES = ROOT / "src"
SLOW = {"calibrant.estimators.mmd"}  # trains the default
# The environment of `make test-sktime` runs these.
NEEDS = {"calibrant.adapters.skpro": "skpro", "calibrant.adapters.sktime": "sktime"}
MODULES = [
    ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCES.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


MODULES = [name for name in MODULES if name not in NEEDS or find_spec(NEEDS[name])]


def marked(name: str) -> object:
    return pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])


@pytest.mark.parametrize("name", map(marked, MODULES))
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALIBRANT_CACHE", raising=False)
    mpl.use("Agg")
    result = doctest.testmod(import_module(name))
    plt.close("all")
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("name", distributions.__all__)
def test_every_public_distribution_has_an_example(name: str) -> None:
    if name != "Distribution":
        assert ">>>" in getattr(distributions, name).__doc__

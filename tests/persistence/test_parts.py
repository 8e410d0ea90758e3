"""Parts of a model as JSON and arrays, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calibrant.errors import ModelFileError, ParameterError
from calibrant.persistence import pack, savable_part, unpack
from calibrant.persistence import parts as parts_module


@pytest.fixture
def parts(monkeypatch):
    """Two registered classes, forgotten after the test."""
    monkeypatch.setattr(parts_module, "_PARTS", {})

    @savable_part
    @dataclass
    class Step:
        numbers: np.ndarray
        inner: Any = None

    @savable_part
    class Search:
        """Neither its tree nor a copy of its rows is saved."""

        def __init__(self, rows: np.ndarray) -> None:
            self.rows, self.tree = rows, object()

        def saved_fields(self) -> dict[str, Any]:
            return {"rows": self.rows}

    return Step, Search


def test_nested_parts_come_back(parts) -> None:
    step, search = parts
    arrays: dict[str, np.ndarray] = {}
    value = {"a": step(np.arange(3.0), inner=(1, None, search(np.eye(2)))), "b": "text"}
    content = pack(value, arrays, "model")
    assert sorted(arrays) == ["model.a.inner.2.rows", "model.a.numbers"]
    again = unpack(json.loads(json.dumps(content)), arrays)
    assert (type(again["a"]), type(again["a"].inner[2]), again["b"]) == (step, search, "text")
    np.testing.assert_array_equal(again["a"].numbers, np.arange(3.0))
    np.testing.assert_array_equal(again["a"].inner[2].rows, np.eye(2))
    assert again["a"].inner[:2] == (1, None)


def test_a_class_that_is_not_registered_is_not_saved(parts) -> None:
    @dataclass
    class Step:  # of the same name as a registered one
        numbers: int

    for value in (Step(1), object(), [Step(1)], {"inside": Step(1)}):
        with pytest.raises(ParameterError, match=r"can't be saved.*savable_part marks"):
            pack(value, {}, "model")


@pytest.mark.parametrize("name", ["System", "os.system", "MMDRegressor"])
def test_a_class_that_is_not_registered_is_not_made(parts, name: str) -> None:
    inside = {"part": "Step", "fields": {"numbers": {"part": name, "fields": {}}}}
    for content in ({"part": name, "fields": {"x": 1}}, inside, [inside]):
        with pytest.raises(ModelFileError, match=f"does not know a '{name}'"):
            unpack(content, {})


def test_what_the_user_gives_is_not_stored() -> None:
    module = object()
    content = pack({"body": module, "width": 3}, {}, "model", given={"network": module})
    assert content["fields"] == {"body": {"given": "network"}, "width": 3}
    other = object()
    assert unpack(content, {}, given={"network": other}) == {"body": other, "width": 3}
    with pytest.raises(KeyError):
        unpack(content, {})

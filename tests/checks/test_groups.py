"""Group labels by column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrant.checks import group_columns
from calibrant.errors import DataError


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (["a", "b"], ["group"]),
        (np.array([["a"], ["b"]]), ["group"]),
        (np.array([["a", "x"], ["b", "y"]]), ["group 1", "group 2"]),
        (pd.Series(["a", "b"], name="zone"), ["zone"]),
        (pd.DataFrame({"zone": ["a", "b"], 3: [1, 2]}), ["zone", "3"]),
        ({"zone": ["a", "b"]}, ["zone"]),
    ],
)
def test_every_form(groups: object, names: list[str]) -> None:
    found = group_columns(groups, 2)
    assert list(found) == names
    assert found[names[0]].tolist() == ["a", "b"]


def test_one_label_per_row() -> None:
    with pytest.raises(DataError, match=r"one label for each of the 3 rows, got shape \(2,\)"):
        group_columns({"zone": ["a", "b"]}, 3)

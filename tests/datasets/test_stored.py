"""The stored data sets themselves, where the files are at hand."""

from __future__ import annotations

import os

import numpy as np
import pytest

from calibrant.datasets import load
from calibrant.datasets._registry import STORED

needs_data = pytest.mark.skipif(
    not os.environ.get("CALIBRANT_DATA"),
    reason="CALIBRANT_DATA is not set: it names the folder of the stored data sets",
)

SHAPES = {
    "power_plant": (9568, 4),
    "protein": (45730, 9),
    "naval": (11934, 16),
    "wine": (4898, 11),
}


def test_every_entry_is_covered() -> None:
    assert set(SHAPES) == set(STORED)


@pytest.mark.parametrize("spec", STORED.values(), ids=STORED)
def test_every_entry_is_complete(spec: object) -> None:
    assert len(spec.sha256) == 64
    assert spec.file.endswith(".csv.gz")
    assert spec.page.startswith("https://")
    assert spec.licence
    assert spec.target not in spec.drop


@needs_data
@pytest.mark.parametrize(("name", "shape"), SHAPES.items())
def test_shapes(name: str, shape: tuple[int, int]) -> None:
    data = load(name)
    assert data.X.shape == shape
    assert data.y.shape == shape[:1]
    assert np.isfinite(data.frame.to_numpy(dtype="float64")).all()


@needs_data
def test_naval_leaves_the_other_target_out_and_keeps_its_flaws() -> None:
    data = load("naval")
    assert "GT_Turbine_decay" not in data.frame
    assert data.X["T1"].nunique() == data.X["P1"].nunique() == 1
    assert (data.X["Tp"] == data.X["Ts"]).all()
    assert len(np.unique(data.y)) == 51


@needs_data
def test_wine_has_seven_scores_and_repeated_rows() -> None:
    data = load("wine")
    assert set(data.y) == set(range(3, 10))
    assert data.frame.duplicated().sum() == 937

"""What `fit` makes of weights, groups, targets and bounds at the edge of what can be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import MMDRegressor, Training
from calibrant.errors import CalibrantError, DataError, DataWarning, ParameterError
from calibrant.tables import TableEncoder

ROWS = 60


def make_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 2))
    return X, X[:, 0] + 0.2 * rng.standard_normal(ROWS)


def make_model(**parameters: Any) -> MMDRegressor:
    """A model that trains in a fraction of a second."""
    return MMDRegressor(quality="fast", epochs=3, device="cpu", random_state=0, **parameters)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.r_[np.full(3, np.nan), np.ones(ROWS - 3)], "3 of 60 targets are missing"),
        (np.r_[np.inf, np.ones(ROWS - 1)], "infinity.*Leave these rows out"),
        (np.linspace(1, 2, ROWS) * 1e200, "2e.200 in size.*Change the unit"),
        (np.linspace(1, 2, ROWS) * 1e-200, "2e-200 in size.*Change the unit"),
        (pd.date_range("2026", periods=ROWS), "must be numeric, got datetime64.*such as days"),
        (np.array(["high"] * ROWS, dtype=object), "y must hold numbers, but row 1 has 'high'"),
        (np.ones(ROWS - 1), "X and y must have the same rows"),
    ],
)
def test_targets_that_cannot_be_used_are_named(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_model().fit(make_data()[0], y)


def test_targets_may_be_written_as_text() -> None:
    X, y = make_data()
    expected = make_model().fit(X, (100 * y).round(1)).predict(X)
    written = pd.Series([f"{100 * value:.1f} kg".replace(".", ",") for value in y], name="weight")
    with pytest.warns(DataWarning, match="weight: numbers with decimal commas in kg"):
        model = make_model().fit(pd.DataFrame(X), written)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
    with (
        pytest.warns(DataWarning, match="one cell is not a number .* in kg .* gap: 'n/a'"),
        pytest.raises(DataError, match="1 of 60 targets are missing"),
    ):
        make_model().fit(X, written.mask(written.index == 3, "n/a"))
    mixed = [*y[:50].astype(str), *["heavy"] * 10]
    with pytest.raises(DataError, match="y must hold numbers, but row 51 has 'heavy'"):
        make_model().fit(X, mixed)


def test_a_series_in_place_of_a_table() -> None:
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = make_model().fit(frame, y)
    assert model.predict(frame.iloc[[0]]).shape == (1,)
    with pytest.raises(DataError, match=r"table \(n, d\), got a Series.*pass X\.iloc\[\[0\]\]"):
        model.predict(frame.iloc[0])
    for call in (lambda: model.predict(frame["a"]), lambda: make_model().fit(frame["a"], y)):
        with pytest.raises(DataError, match=r"got a Series.*pass X\[\['name'\]\]"):
            call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_weight": 2.0}, r"one number per row, \(60,\), got \(\)"),
        ({"sample_weight": ["a"] * ROWS}, "could not convert"),
        ({"groups": [None, *"ab" * 29, "a"]}, "1 of 60 are missing"),
        ({"groups": np.r_[np.nan, np.arange(ROWS - 1.0)]}, "1 of 60 are missing"),
        ({"groups": np.array([1, "a"] * 30, dtype=object)}, "labels of one type"),
        ({"validation_data": 3}, "got int"),
    ],
)
def test_other_arguments_that_cannot_be_used_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(CalibrantError, match=message):
        make_model().fit(*make_data(), **arguments)


@pytest.mark.parametrize(
    "bounds", [(0,), (0, 1, 2), ("a", None), (np.nan, None), (np.inf, None), (1, 0)]
)
def test_bounds_are_two_numbers_in_order_or_none(bounds: Any) -> None:
    with pytest.raises(ParameterError, match="with low < high"):
        make_model(bounds=bounds).fit(*make_data())


@pytest.mark.parametrize("unit", [1e-310, 1e-300, 1e300])
def test_only_ratios_of_weights_matter(unit: float) -> None:
    X, y = make_data()
    weight = 2.0 ** np.random.default_rng(1).integers(0, 5, ROWS)
    one, other = (make_model().fit(X, y, factor * weight) for factor in (1.0, unit))
    if unit > 1e-305:  # smaller numbers have fewer digits
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6)
    assert np.isfinite(other.predict_quantiles(X)).all()


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_huge_and_tiny_targets_and_inputs_are_a_matter_of_units(unit: float) -> None:
    X, y = make_data()
    one, other = make_model().fit(X, y), make_model().fit(unit * X, unit * y)
    apart = other.predict_quantiles(unit * X) / unit - one.predict_quantiles(X)
    assert abs(apart).max() < 1e-4


def test_one_code_for_a_gap_does_not_set_the_unit() -> None:
    """Some files fill gaps with 1e36: all other values would then be equal."""
    X, y = make_data()
    wild_X, wild_y = X.copy(), y.copy()
    wild_X[0], wild_y[1] = 1e36, 1e36
    model = make_model(training=Training(scaling="robust"))
    plan, wild = model.plan(X, y), model.plan(wild_X, wild_y)
    np.testing.assert_allclose(wild.features.scaler.scale, plan.features.scaler.scale, rtol=0.2)
    np.testing.assert_allclose(wild.target.scale, plan.target.scale, rtol=0.2)


def test_no_frame_is_encoded_with_columns_that_turn_out_to_be_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"shop": rng.integers(0, 40, 1500), "size": rng.normal(size=1500)})
    y = 3.0 * rng.standard_normal(40)[frame["shop"]]
    seen: list[bool] = []
    transform = TableEncoder.transform

    def watched(self: TableEncoder, rows: pd.DataFrame) -> Any:
        seen.append("categories" in str(self.describe()))
        return transform(self, rows)

    monkeypatch.setattr(TableEncoder, "transform", watched)
    make_model().fit(frame, y)
    assert seen == [False, True]  # a sample, to tell which columns are codes, then all rows

"""Whole numbers that are codes become categories; quantities, counts and times stay numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrant import HeteroscedasticRegressor
from calibrant.tables import TableEncoder

N = 1500


def read(frame: pd.DataFrame, y: np.ndarray) -> dict[str, list[str]]:
    """Categories by column, after the targets were seen."""
    return TableEncoder().fit(frame).with_codes(frame, y).categories_


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_codes_of_shops_become_categories(rng: np.random.Generator) -> None:
    shop, size = rng.integers(1, 31, N), rng.uniform(0, 5, N)
    y = rng.normal(size=31)[shop] + size + 0.5 * rng.standard_normal(N)
    assert list(read(pd.DataFrame({"shop": shop, "size": size}), y)) == ["shop"]
    with_gaps = pd.Series(shop, dtype=float).mask(rng.random(N) < 0.1)
    found = read(pd.DataFrame({"shop": with_gaps, "size": size}), y)
    assert list(found) == ["shop"]
    assert "(missing)" in found["shop"]
    assert "7" in found["shop"]


def test_decimals_and_times_stay_numbers(rng: np.random.Generator) -> None:
    code = rng.integers(1, 31, N)
    y = rng.normal(size=31)[code] + 0.5 * rng.standard_normal(N)
    size = rng.uniform(0, 5, N)
    assert not read(pd.DataFrame({"shop": code.astype(float), "size": size}), y)
    assert not read(pd.DataFrame({"order_week": code, "size": size}), y)


@pytest.mark.parametrize("quantity", ["smooth", "waves", "count", "unrelated", "few"])
def test_quantities_stay_numbers(quantity: str, rng: np.random.Generator) -> None:
    noise = 0.3 * rng.standard_normal(N)
    values = rng.integers(1, 61, N)
    if quantity == "smooth":
        y = np.sqrt(values) + noise
    elif quantity == "waves":
        y = np.sin(values / 4.0) + noise
    elif quantity == "count":  # mostly 0 to 3; an effect that is not linear
        values = rng.poisson(rng.gamma(0.5, 4.0, N))
        y = np.log1p(values) + noise
    elif quantity == "unrelated":
        y = noise
    else:
        values = rng.integers(1, 7, N)
        y = rng.normal(size=7)[values] + noise
    assert not read(pd.DataFrame({"items": values, "size": rng.uniform(0, 5, N)}), y)


def test_fit_reads_codes_and_predicts_new_ones(rng: np.random.Generator) -> None:
    shop, size = rng.integers(1, 31, N), rng.uniform(0, 5, N)
    effect = 3.0 * rng.normal(size=31)
    y = effect[shop] + size + 0.3 * rng.standard_normal(N)
    frame = pd.DataFrame({"shop": shop, "size": size})
    model = HeteroscedasticRegressor(hidden=(32,), epochs=20, lr=1e-2, random_state=0)
    model.fit(frame[:1200], y[:1200])
    assert model.encoder_ is not None
    assert "one-hot, 30 categories" in model.encoder_.describe()
    assert model.n_features_in_ == 2
    error = model.predict(frame[1200:]) - y[1200:]
    assert np.sqrt(np.mean(error**2)) < 1.0  # 3 from the size alone
    with pytest.warns(UserWarning, match="not in the training data"):
        model.predict(pd.DataFrame({"shop": [99], "size": [1.0]}))

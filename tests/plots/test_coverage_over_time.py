"""Moving coverage with its band."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from calibrant.distributions import Normal
from calibrant.errors import CalibrantError
from calibrant.plots import coverage_over_time


def forecast(n: int = 200) -> tuple[Normal, np.ndarray]:
    dist = Normal(np.zeros(n), np.ones(n))
    return dist, np.random.default_rng(0).normal(size=n)


def test_the_curve_is_the_share_inside_over_the_last_rows() -> None:
    dist, y = forecast()
    ax = coverage_over_time(dist, y, coverage=0.8, window=50)
    low, high = dist.interval(0.8).T
    inside = pd.Series((low <= y) & (y <= high)).rolling(50).mean().dropna()
    line = ax.get_lines()[-1]
    np.testing.assert_allclose(line.get_ydata(), inside)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(49, 200))


def test_the_band_is_binomial() -> None:
    ax = coverage_over_time(*forecast(), coverage=0.8, window=50, band=0.9)
    (band,) = ax.patches
    box = band.get_bbox()  # type: ignore[attr-defined]
    assert (box.y0, box.y1) == pytest.approx(tuple(binom.ppf([0.05, 0.95], 50, 0.8) / 50))
    assert not coverage_over_time(*forecast(), band=None).patches


def test_back_tests_bring_their_own_targets_and_times() -> None:
    dist, y = forecast()
    index = pd.date_range("2024-01-01", periods=200, freq="h")
    periods = SimpleNamespace(dist=dist, y_true=y, index=index.to_period("h"))
    keys = pd.MultiIndex.from_arrays([["a"] * 200, index])
    panel = SimpleNamespace(dist=dist, y_true=y, index=keys)
    ax = coverage_over_time({"one": periods, "two": panel})
    assert ax.get_lines()[1].get_xdata()[-1] == index[-1].to_datetime64()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[2].startswith("one (9")
    assert labels[3].startswith("two (9")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window must lie between 1 and 200"),
        ({"window": 201}, "window must lie between 1 and 200"),
        ({"coverage": 1.0}, "coverage must be"),
        ({"band": 1.0}, "band must be"),
        ({"y": None}, "needs the observed targets"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    dist, y = forecast()
    with pytest.raises(CalibrantError, match=message):
        coverage_over_time(dist, **({"y": y} | options))  # type: ignore[arg-type]
    with pytest.raises(CalibrantError, match="at least one forecast"):
        coverage_over_time({})


def test_dates_are_written_short() -> None:
    dist, y = forecast()
    ax = coverage_over_time(dist, y, x=pd.date_range("2024-01-01", periods=200, freq="h"))
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert max(map(len, labels)) <= 6, labels

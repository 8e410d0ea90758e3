from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from calibrant.distributions import Normal
from calibrant.errors import DataError, ParameterError
from calibrant.plots import intervals

N = 80
RNG = np.random.default_rng(0)
DIST = Normal(RNG.normal(size=N), RNG.uniform(0.5, 2, size=N))
Y = DIST.sample(random_state=1)[:, 0]


def line(ax: Axes, label: str) -> Line2D:
    (found,) = [line for line in ax.get_lines() if line.get_label() == label]
    return found


def test_rows_sorted_by_median() -> None:
    ax = intervals(DIST, Y)
    order = np.argsort(DIST.median)
    median = line(ax, "median")
    assert np.array_equal(median.get_xdata(), np.arange(N))
    assert np.array_equal(median.get_ydata(), DIST.median[order])
    assert "sorted by predicted median" in ax.get_xlabel()
    assert "units" in ax.get_ylabel()


def test_bands_are_the_intervals_widest_first() -> None:
    ax = intervals(DIST, Y, coverage=[0.9, 0.5])
    wide, narrow = ax.collections
    assert (wide.get_label(), narrow.get_label()) == ("90% interval", "50% interval")
    for band, share in ((wide, 0.9), (narrow, 0.5)):
        drawn = band.get_paths()[0].vertices[:, 1]
        assert np.isin(DIST.interval(share).ravel(), drawn).all()
    assert not np.allclose(wide.get_facecolor(), narrow.get_facecolor())


def test_targets_outside_the_widest_interval_are_marked() -> None:
    ax = intervals(DIST, Y, coverage=(0.5, 0.9))
    lower, upper = DIST.interval(0.9).T
    inside = (lower <= Y) & (upper >= Y)
    assert 0 < inside.sum() < N
    assert np.array_equal(
        np.sort(line(ax, "observed, outside 90%").get_ydata()), np.sort(Y[~inside])
    )
    assert np.array_equal(np.sort(line(ax, "observed").get_ydata()), np.sort(Y[inside]))


def test_over_a_feature_in_its_order() -> None:
    x = pd.Series(RNG.permutation(N).astype(float), name="temperature (C)")
    ax = intervals(DIST, Y, x=x, coverage=0.8)
    median = line(ax, "median")
    assert np.array_equal(median.get_xdata(), np.sort(x))
    assert np.array_equal(median.get_ydata(), DIST.median[np.argsort(x)])
    assert ax.get_xlabel() == "temperature (C)"


def test_over_dates() -> None:
    days = pd.date_range("2024-01-01", periods=N)
    ax = intervals(DIST, x=days)
    assert np.array_equal(line(ax, "median").get_xdata(orig=True), days.to_numpy())
    assert ax.get_xlabel() == "time"
    assert intervals(DIST, x=np.arange(N)).get_xlabel() == "x"


def test_without_targets() -> None:
    assert len(intervals(DIST).get_lines()) == 1


def test_many_rows_are_thinned_evenly() -> None:
    big = Normal(np.arange(5000.0), np.ones(5000))
    at = np.asarray(line(intervals(big, max_rows=101), "median").get_xdata())
    assert len(at) == 101
    assert (at[0], at[-1]) == (0, 4999)
    assert np.ptp(np.diff(at)) <= 1


def test_draws_where_it_is_told() -> None:
    ax = Figure().subplots()
    assert intervals(DIST, Y, ax=ax) is ax
    assert plt.get_fignums() == []


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match=r"coverage must be .*in \(0, 1\), got"):
        intervals(DIST, coverage=1.5)
    with pytest.raises(ParameterError, match="max_rows must be at least 2, got 1"):
        intervals(DIST, max_rows=1)
    with pytest.raises(DataError, match="x must have one value for each of the 80 rows"):
        intervals(DIST, x=[1.0, 2.0])
    with pytest.raises(DataError, match="x must hold numbers or dates"):
        intervals(DIST, x=["a"] * N)
    with pytest.raises(ParameterError, match="Expected a predictive distribution"):
        intervals(np.zeros(3))  # type: ignore[arg-type]

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrant.distributions import Normal
from calibrant.errors import DataError, ParameterError
from calibrant.plots import fan_chart

N = 12
DIST = Normal(np.arange(N, dtype=float), np.sqrt(np.arange(1, N + 1)))
PAST = np.array([3.0, 1.0, 2.0])


def lines(ax) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {
        line.get_label(): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
        for line in ax.get_lines()
    }


def test_bands_are_central_intervals_widest_first() -> None:
    ax = fan_chart(DIST, coverage=[0.5, 0.9])
    assert [band.get_label() for band in ax.collections] == ["90%", "50%"]
    for band, share in zip(ax.collections, (0.9, 0.5), strict=True):
        assert np.isin(DIST.interval(share), band.get_paths()[0].vertices[:, 1]).all()


def test_past_median_and_what_came() -> None:
    y = DIST.sample(random_state=0)[:, 0]
    drawn = lines(fan_chart(DIST, y, past=PAST))
    assert np.array_equal(drawn["observed"], ([-2, -1, 0], PAST))
    assert np.array_equal(drawn["median"], (np.arange(1, N + 1), DIST.median))
    assert np.array_equal(drawn["observed later"][1], y)


def test_dates() -> None:
    days = pd.date_range("2024-01-01", periods=N + 3, name="day")
    ax = fan_chart(DIST, past=PAST, x=days)
    assert ax.get_xlabel() == "day"
    assert len(lines(ax)["median"][0]) == N
    assert fan_chart(DIST, past=PAST, x=days.to_numpy()).get_xlabel() == "time"


def test_bad_input() -> None:
    with pytest.raises(DataError, match=r"3 past and 12 forecast steps, shape \(15,\), got"):
        fan_chart(DIST, past=PAST, x=np.arange(12))
    with pytest.raises(DataError, match="past must be finite"):
        fan_chart(DIST, past=[1.0, np.nan])
    with pytest.raises(ParameterError, match="coverage must be"):
        fan_chart(DIST, coverage=[0.5, 1.0])

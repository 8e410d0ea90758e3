"""The synthetic series and its truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calibrant.datasets import series
from calibrant.distributions import Mixture
from calibrant.errors import ParameterError


@pytest.mark.parametrize("horizon", [1, 2, 24])
def test_seasonal_truth(horizon: int) -> None:
    data = series.seasonal(20_000, random_state=0, horizon=horizon)
    pit = Mixture(**data.truth).cdf(data.y)
    # Forecasts `horizon` hours apart share no shock: a thinned series of PITs is independent.
    for start in range(min(horizon, 4)):
        thinned = pit[start::horizon]
        assert stats.kstest(thinned, "uniform").pvalue > 1e-3
        n = len(thinned)
        correlation = np.corrcoef(thinned[1:], thinned[:-1])[0, 1]
        assert abs(correlation) < 3.3 / np.sqrt(n)
    for hours in (range(6), range(6, 12), range(12, 18)):
        at = np.isin(data.time.hour, list(hours))
        assert abs(np.mean(np.abs(pit[at] - 0.5) < 0.25) - 0.5) < 0.05


def test_seasonal_series_does_not_depend_on_the_horizon() -> None:
    one, day = series.seasonal(100), series.seasonal(100, horizon=24)
    assert one.frame.equals(day.frame)
    assert (day.truth["scales"] > one.truth["scales"]).all()
    assert len(one.time) == 100
    assert (np.diff(one.time.to_numpy()) == np.timedelta64(1, "h")).all()


@pytest.mark.parametrize("horizon", [0, 337, 1.5, "day"])
def test_bad_horizons_are_refused(horizon: object) -> None:
    with pytest.raises(ParameterError, match="horizon must be a whole number from 1 to 336"):
        series.seasonal(10, horizon=horizon)

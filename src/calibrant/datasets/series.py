"""A synthetic time series whose true predictive distribution is known exactly."""

from __future__ import annotations

import numpy as np

from calibrant.datasets._dataset import Dataset, DatasetInfo
from calibrant.datasets._draws import GENERATED, RandomState, generator, row_count
from calibrant.errors import ParameterError

_AUTOCORRELATION = 0.7  # of the noise, from one hour to the next
_WARM_UP = 24 * 14


def seasonal(n: int = 2000, random_state: RandomState = 0, horizon: int = 1) -> Dataset:
    r"""An hourly series with daily and weekly seasons, an input and autocorrelated noise.

    With s_t the sum of the two seasons and the effect of the input `temperature`,

    .. math:: y_t = s_t + e_t, \quad e_t = 0.7\, e_{t-1} + \sigma_t z_t, \quad z_t \sim N(0, 1),

    where the scale sigma_t is three times larger at noon than at midnight. Given the past up to
    hour t - h and the input, y_t is normal with mean s_t + 0.7^h e_{t-h} and variance
    sum over j < h of 0.49^j sigma_{t-j}^2.

    Parameters
    ----------
    n : int
        Number of hours.
    random_state : int, numpy.random.Generator or None
        Seed or source of the draws; None is a fresh seed.
    horizon : int
        The h of the truth, from 1 to 336. The series itself does not depend on it.

    Returns
    -------
    Dataset
        With a DatetimeIndex and ``truth`` of K = 1 component: the best forecast of each hour made
        h hours before.

    Examples
    --------
    >>> data = seasonal(48)
    >>> data.task, data.truth["locs"].shape, str(data.time[0])
    ('forecasting', (48, 1), '2020-01-06 00:00:00')
    """
    import pandas as pd

    rows, ahead = row_count(n), _horizon(horizon)
    rng = generator(random_state)
    # The truth of the first row depends on hours before it, and the noise must forget its start.
    warm = _WARM_UP
    hours = np.arange(-warm, rows)
    month = 2 * np.pi * hours / (24 * 30)
    temperature = np.sin(month) + 0.1 * rng.standard_normal(len(hours))
    day, week = 2 * np.pi * hours / 24, 2 * np.pi * hours / (24 * 7)
    level = 10.0 - 3.0 * np.cos(day) + np.sin(2 * day) + 1.5 * np.cos(week) + 2.0 * temperature
    scale = 0.25 * (2.0 - np.cos(day))  # 0.25 at midnight, 0.75 at noon
    shocks = scale * rng.standard_normal(len(hours))
    noise = np.empty(len(hours))
    previous = 0.0
    for t, shock in enumerate(shocks):
        previous = noise[t] = _AUTOCORRELATION * previous + shock
    y = level + noise
    now = slice(warm, None)
    locs = level[now] + _AUTOCORRELATION**ahead * noise[warm - ahead : len(hours) - ahead]
    variance = sum(
        _AUTOCORRELATION ** (2 * j) * scale[warm - j : len(hours) - j] ** 2 for j in range(ahead)
    )
    time = pd.date_range("2020-01-06", periods=rows, freq="h", name="time")  # a Monday
    info = DatasetInfo(
        name="seasonal",
        title="seasonal",
        description="An hourly series with a daily and a weekly season, one input, and "
        "autocorrelated noise that is largest at noon.",
        target="y",
        rows=rows,
        columns=2,
        task="forecasting",
        licence=GENERATED,
    )
    frame = pd.DataFrame({"temperature": temperature[now], "y": y[now]}, index=time)
    truth = {
        "weights": np.ones((rows, 1)),
        "locs": locs[:, None],
        "scales": np.sqrt(variance)[:, None],
    }
    return Dataset(info, frame, truth)


def _horizon(horizon: int) -> int:
    if isinstance(horizon, int | np.integer) and 1 <= horizon <= _WARM_UP:
        return int(horizon)
    raise ParameterError(f"horizon must be a whole number from 1 to {_WARM_UP}; got {horizon!r}.")


GENERATORS = (seasonal,)  # what `load` knows by name

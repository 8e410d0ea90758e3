"""The blocks of time of a back-test: which times are forecast by which trained model."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting.series_frame import SeriesFrame

Policy = Literal["update", "refit", "static"]

_REFITS = 10  # by default


@dataclass(frozen=True)
class Block:
    """Consecutive origins from which one trained model forecasts.

    Attributes
    ----------
    first : int
        Tick of the first time to forecast: the model is trained on the rows before it.
    since, until : float
        Ticks of the origins, from `since` on and before `until`.
    end : float
        Tick before which all forecast times lie. It is beyond `until`, where the training of the
        next block must not look.
    """

    first: int
    since: float
    until: float
    end: float


def blocks_from(
    start: Any, series: SeriesFrame, horizon: int, policy: Policy, every: int | None
) -> list[Block]:
    """Blocks from `start` to the end of the series; see `backtest` for the parameters."""
    times, step = np.unique(series.tick), series.clock.step
    start_at = _position(start, series.clock.stamps(times))
    _check_reach(times[start_at:] // step, horizon)
    n = len(times)
    blocks = []
    for begin, stop in _positions(start_at, n, policy, every):
        reach = stop + horizon - 1
        blocks.append(
            Block(
                first=times[begin],
                since=times[begin] - step,
                until=times[stop] - step if stop < n else np.inf,
                end=times[reach] if reach < n else np.inf,
            )
        )
    return blocks


def _positions(first: int, n: int, policy: Policy, every: int | None) -> Iterator[tuple[int, int]]:
    """Begin and end of each block among n times."""
    if every is not None and (policy != "refit" or every < 1):
        raise ParameterError(
            'every is the number of time stamps between trainings of policy="refit", at least 1; '
            f"got {every!r} with {policy!r}."
        )
    size = n - first
    if policy == "refit":
        size = max(1, -(-size // _REFITS)) if every is None else every
    for begin in range(first, n, size):
        yield begin, min(n, begin + size)


def _check_reach(steps: Ticks, horizon: int) -> None:
    """Check that the rows to forecast are as many as the steps ahead."""
    if (reach := int(steps[-1] - steps[0]) + 1) < horizon:
        raise DataError(
            f"A horizon of {horizon} needs as many rows from `start` on, but there are {reach}. "
            "Choose an earlier start or a smaller horizon."
        )


def _position(start: Any, times: pd.Index[Any]) -> int:
    """Position of the first time to forecast."""
    dated = isinstance(times, pd.DatetimeIndex | pd.PeriodIndex)
    try:
        position = operator.index(start)
        position += len(times) if position < 0 else 0
    except TypeError:
        if not dated:
            raise ParameterError(
                f"start must be a position, a whole number: got {start!r}."
            ) from None
        try:
            position = int(times.searchsorted(_stamp(start, times)))
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"start must be a position or a time stamp, got {start!r}: {error}"
            ) from error
    if not 0 < position < len(times):
        raise DataError(
            f"start={start!r} must leave rows on both sides: the series has {len(times)} time "
            f"stamps from {times[0]} to {times[-1]}."
        )
    return position


def _stamp(start: Any, times: Any) -> Any:
    if isinstance(times, pd.PeriodIndex):
        return pd.Period(start, times.freqstr)
    stamp = pd.Timestamp(start)
    return stamp.tz_localize(times.tz) if times.tz is not None and stamp.tz is None else stamp

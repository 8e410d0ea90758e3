"""Forecasts of a series from one origin, with what came before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from calibrant.checks import Array
from calibrant.distributions import Distribution


@dataclass(frozen=True, eq=False)
class Fan:
    """Forecasts of one series from one origin, to be drawn after what was known there.

    Attributes
    ----------
    name : str
        What the page calls it.
    dist : Distribution of h rows
        Of consecutive times.
    times : pandas index of h rows
        Dates, periods or whole numbers.
    past : pandas Series
        Values up to the origin by their times; may be empty.
    observed : array of shape (h,) or None
        Outcomes, nan where there is none yet.
    """

    name: str
    dist: Distribution
    times: pd.Index[Any]
    past: pd.Series[Any]
    observed: Array | None = None

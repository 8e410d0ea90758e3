"""From the published table to the one that `load` returns.

Only what is certain is done here: columns that reveal the target or number the rows are dropped,
codes for "not measured" become gaps, text becomes a category and the time of a row its index.
Gaps are not filled and implausible values are not repaired; the registry lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

Prepare = Callable[["pd.DataFrame"], "pd.DataFrame"]


def as_published(raw: pd.DataFrame) -> pd.DataFrame:
    """Keep every column."""
    return raw


def naval(raw: pd.DataFrame) -> pd.DataFrame:
    """Leave out the second target: both follow from one simulation state."""
    return raw.drop(columns="GT_Turbine_decay")


def bike_sharing(raw: pd.DataFrame) -> pd.DataFrame:
    """Leave out `casual` and `registered`, whose sum is the target, and the row number."""
    import pandas as pd

    time = pd.to_datetime(raw["dteday"]) + pd.to_timedelta(raw["hr"], unit="h")
    return _timed(raw.drop(columns=["instant", "dteday", "casual", "registered"]), time)


def pickups(raw: pd.DataFrame) -> pd.DataFrame:
    """One row per hour and borough; `NA` is the borough of pick-ups at an unknown location."""
    import pandas as pd

    frame = raw.drop(columns="pickup_dt").astype({"borough": "category", "hday": "category"})
    return _timed(frame, pd.to_datetime(raw["pickup_dt"]))


def pickups_total(raw: pd.DataFrame) -> pd.DataFrame:
    """One row per hour: pick-ups summed over the boroughs, which share their weather."""
    import pandas as pd

    frame = raw.assign(hday=(raw["hday"] == "Y").astype("int64")).drop(columns="borough")
    rules = dict.fromkeys(frame.columns.drop("pickup_dt"), "first") | {"pickups": "sum"}
    hourly = frame.groupby("pickup_dt", sort=True).agg(rules)
    time = pd.Series(pd.to_datetime(hourly.index))
    inputs = [name for name in hourly.columns if name != "pickups"]
    return _timed(hourly[[*inputs, "pickups"]], time)


def pm25(raw: pd.DataFrame) -> pd.DataFrame:
    """Leave out the row number; the calendar stays, as the publisher's inputs."""
    import pandas as pd

    time = pd.to_datetime(raw[["year", "month", "day", "hour"]])
    return _timed(raw.drop(columns="No").astype({"cbwd": "category"}), time)


def metro_traffic(raw: pd.DataFrame) -> pd.DataFrame:
    """Keep every row, also repeated hours: which one to keep is the user's decision."""
    import pandas as pd

    text = ["holiday", "weather_main", "weather_description"]
    frame = raw.drop(columns="date_time").astype(dict.fromkeys(text, "category"))
    return _timed(frame, pd.to_datetime(raw["date_time"]))


def air_quality(raw: pd.DataFrame) -> pd.DataFrame:
    """Turn -200, "not measured", into a gap."""
    import pandas as pd

    frame = raw.drop(columns=["Date", "Time"]).astype("float64")
    time = pd.to_datetime(raw["Date"] + " " + raw["Time"], format="%d/%m/%Y %H.%M.%S")
    return _timed(frame.mask(frame == -200.0), time)


def _timed(frame: pd.DataFrame, time: pd.Series[pd.Timestamp]) -> pd.DataFrame:
    import pandas as pd

    return frame.set_axis(pd.DatetimeIndex(time, name="time"), axis="index")

"""Stand-ins for the data sets, so that splits and trials can be tested without files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from calibrant.datasets import Dataset, DatasetInfo
from calibrant.experiments import tasks


def stand_in(name: str, variant: str, data_dir: object = None) -> Dataset:
    """A table of 200 rows with 40 repeats, or a series of 200 hours with repeated ones."""
    rng = np.random.default_rng(len(name))
    frame = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "y"])
    if tasks.TASKS[name].series:
        frame["y"] = np.arange(200.0)  # a row of a series tells its position
        hours = np.repeat(np.arange(100), 2) if name == "metro_traffic" else np.arange(200)
        if variant == "raw":
            frame.index = pd.DatetimeIndex(
                pd.Timestamp("2020-01-01") + pd.to_timedelta(hours, unit="h"), name="time"
            )
    else:
        frame.loc[160:, ["a", "b"]] = frame.loc[:39, ["a", "b"]].to_numpy()
    info = DatasetInfo(
        name=name, title="", description="", target="y", rows=200, columns=3, licence=""
    )
    return Dataset(info, frame)


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_load", stand_in)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)

"""Encoding of the rows of a Ray dataset, which needs no Ray."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calibrant.engines.ray_rows import Encode, Sides
from calibrant.errors import DataError
from calibrant.estimators.scaling import Scaler
from calibrant.tables import TableEncoder


@pytest.mark.parametrize(
    ("name", "said"),
    [("y", "The target 'y' is infinite in some row"), ("a", "contains infinity, in 'a'")],
)
def test_infinite_values_that_no_sample_has_seen_are_refused(name: str, said: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "y"])
    inputs, unit = frame[["a"]], Scaler(np.zeros(1), np.ones(1))
    encode = Encode(
        Sides("y", seed=0, held_out=0.0, sample=1.0),
        TableEncoder().fit(inputs),
        unit,
        unit,
    )
    assert np.isfinite(encode(pa.Table.from_pandas(frame))["y"]).all()
    frame.loc[7, name] = np.inf
    with pytest.raises(DataError, match=said):
        encode(pa.Table.from_pandas(frame))

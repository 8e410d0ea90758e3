from __future__ import annotations

import numpy as np
import pytest

from calibrant.tables import gap_code

SIZES = np.random.default_rng(0).normal(50.0, 5.0, 200)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([*SIZES, *[-200.0] * 10], -200.0),
        ([*SIZES, *[-1.0] * 10], -1.0),  # the only negative value
        ([*SIZES, *[9999.0] * 10, np.nan], 9999.0),
        ([*(SIZES - 50.0), *[-999.0] * 10], -999.0),
        ([*SIZES, -200.0], None),  # an outlier
        ([*SIZES, *[0.0] * 10, *[100.0] * 10], None),
        ([*SIZES, *[-200.5] * 10], None),
        ([*SIZES - 50.0, *[-20.0] * 10], None),  # near the others
        ([*[-1.0, 0.0, 1.0] * 50], None),
        ([np.nan] * 30, None),
    ],
)
def test_which_number_stands_for_a_gap(values, code) -> None:
    assert gap_code(np.array(values)) == code

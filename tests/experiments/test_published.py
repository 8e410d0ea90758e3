from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from calibrant.datasets import names
from calibrant.experiments.published import published, published_cells


def test_all_cells_are_there() -> None:
    cells = published_cells()
    assert len(cells) == 416
    assert len({cell.dataset for cell in cells}) == 9
    assert {cell.dataset for cell in cells} <= set(names())
    by_table = Counter(cell.table for cell in cells)
    assert by_table == {"1": 120, "2": 96, "A2": 60, "A3": 140}
    assert all((cell.std_error is None) == cell.table.startswith("A") for cell in cells)


def test_digits_stay_as_printed() -> None:
    for cell in published_cells():
        assert math.isfinite(cell.mean)
        if cell.printed != "0001":
            assert float(cell.printed) == cell.mean
    assert published("metro_traffic", "mcd", "ecpe").printed == "0.304"
    assert published("air_quality", "hnn", "rmse").printed == "79.60"


def test_the_misprint_is_read_as_meant() -> None:
    cell = published("naval", "deep-ens", "rmse")
    assert (cell.printed, cell.mean) == ("0001", 0.001)


def test_the_first_table_wins() -> None:
    assert published("bike_sharing", "mc-nll", "rmse").mean == pytest.approx(61.57)
    assert published("bike_sharing", "mc-nll", "rmse").table == "1"


@pytest.mark.parametrize("method", ["mmd", "mmd-best", "mmd-as-published"])
def test_the_proposed_method(method: str) -> None:
    assert published("wine", method, "ecpe").printed == "0.008"


def test_what_the_paper_does_not_say() -> None:
    assert published("wine", "hnn", "crps") is None
    assert published("wine", "ngboost", "ecpe") is None


def test_max_over_mean_width_of_gaussian_intervals() -> None:
    """MPIW / EPIW is max z / mean z over 99 levels: the decoded definition of both."""
    from scipy.stats import norm

    z = norm.ppf(0.5 + 0.005 * np.arange(1, 100))
    widest, mean = (published("bike_sharing", "mmd", metric).mean for metric in ("mpiw", "epiw"))
    assert widest / mean == pytest.approx(z.max() / z.mean(), rel=1e-3)

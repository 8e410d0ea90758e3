from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calibrant.experiments.estimates import (
    Estimate,
    estimate,
    margin,
    paired_difference,
    ratio_of_test_rows,
    standard_error,
)

OURS = {0: 1.0, 1: 1.3, 2: 0.9, 3: 1.1}
THEIRS = {0: 1.2, 1: 1.4, 2: 1.3, 3: 1.1, 9: 7.0}


def record(protocol: str, dataset: str, test: int) -> dict[str, object]:
    cell = {"protocol": protocol, "dataset": dataset, "method": "mmd", "trial": 0}
    return {"cell": cell, "rows": {"train": 80, "test": test}}


def test_seeds_on_one_split_are_a_paired_t_test() -> None:
    gap = paired_difference(OURS, THEIRS, test_ratio=0.0)
    shared = [(OURS[t], THEIRS[t]) for t in OURS]
    interval = stats.ttest_rel(*zip(*shared, strict=True)).confidence_interval(0.95)
    assert gap.trials == 4
    assert gap.mean - gap.margin == pytest.approx(interval.low)
    assert gap.mean + gap.margin == pytest.approx(interval.high)


def test_splits_that_share_rows_have_a_larger_error() -> None:
    """Nadeau and Bengio: (1 / J + n_test / n_train) s^2 in place of s^2 / J."""
    gaps = np.array([OURS[t] - THEIRS[t] for t in OURS])
    corrected = paired_difference(OURS, THEIRS, test_ratio=0.25)
    assert corrected.std_error == pytest.approx(np.sqrt((1 / 4 + 0.25) * gaps.var(ddof=1)))


def test_one_shared_trial_has_no_noise_figure() -> None:
    gap = paired_difference({0: 1.0, 1: 2.0}, {1: 1.5}, test_ratio=0.25)
    assert gap == Estimate(0.5, None, 1)
    assert gap.margin is None
    assert str(gap) == "0.5"
    assert paired_difference({0: 1.0}, {1: 1.5}, test_ratio=0.25) is None


@pytest.mark.parametrize(
    ("protocol", "dataset", "ratio"),
    [
        ("shuffled", "wine", 0.25),
        ("shuffled", "pm25", 0.25),
        ("published", "wine", 0.25),
        ("published", "pm25", 0.0),  # trials differ in their seed alone
        ("honest-quick", "pm25", 0.0),
    ],
)
def test_which_trials_have_splits_of_their_own(protocol: str, dataset: str, ratio: float) -> None:
    records = [record(protocol, dataset, test) for test in (16, 24)]
    assert ratio_of_test_rows(records) == pytest.approx(ratio)


def test_rounding_is_no_noise() -> None:
    assert standard_error(np.array([0.1, 0.1 + 1e-17, 0.1 - 1e-16])) == 0.0
    assert str(estimate([0.01333, 0.01333])) == "0.01333 ± 0"


def test_margin_of_independent_errors() -> None:
    assert margin((0.0, 4)) == 0.0
    assert margin((1.0, 4)) == pytest.approx(stats.t.ppf(0.975, 4))

"""Differences of scores against scipy's paired t-test and Holm's rule written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from calibrant.distributions import Normal
from calibrant.errors import DataError
from calibrant.metrics import compare_scores

N = 400
Y = np.random.default_rng(0).normal(size=N)
SCORES = {
    name: Normal(np.full(N, bias), np.full(N, spread)).crps(Y)
    for name, bias, spread in (("a", 0.0, 1.0), ("b", 0.0, 1.02), ("c", 1.0, 1.0))
}


def test_pairs_are_the_paired_t_test_with_holm() -> None:
    raw = {(x, y): ttest_rel(SCORES[x], SCORES[y]) for x, y in ("ab", "ac", "bc")}
    ordered = sorted(raw, key=lambda pair: raw[pair].pvalue)
    expected, largest = {}, 0.0
    for rank, pair in enumerate(ordered):
        largest = max(largest, min(1.0, (3 - rank) * raw[pair].pvalue))
        expected[pair] = largest
    found = compare_scores(SCORES)
    for each in found:
        pair = (each.first, each.second)
        interval = raw[pair].confidence_interval(0.95)
        assert each.p_value == pytest.approx(expected[pair])
        assert (each.low, each.high) == pytest.approx((interval.low, interval.high))
    assert found[1].sentence == "a is better than c"


def test_equal_forecasts_can_not_be_told_apart() -> None:
    (pair,) = compare_scores({"a": SCORES["a"], "same": SCORES["a"]})
    assert (pair.difference, pair.p_value) == (0.0, 1.0)
    assert "can't be told apart" in pair.sentence


def test_nothing_to_compare() -> None:
    assert compare_scores({"a": SCORES["a"]}) == []
    assert compare_scores({"a": [0.1], "b": [0.2]}) == []


@pytest.mark.parametrize("other", [np.zeros(N - 1), np.zeros((N, 1)), 0.1])
def test_other_rows_are_refused(other) -> None:
    with pytest.raises(DataError, match="of one shape"):
        compare_scores({"a": SCORES["a"], "b": other})

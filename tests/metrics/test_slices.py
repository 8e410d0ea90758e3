"""Slices, the worst first."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from calibrant.distributions import Normal
from calibrant.metrics import calibration_by_group, evaluate
from calibrant.metrics.slices import (
    differing_sources,
    rank_slices,
    tolerated_error,
    worst_sentence,
)

N = 1200
GROUPS = np.arange(N) % 6


def slices_of(scale: np.ndarray, shift: np.ndarray):
    y = np.random.default_rng(2).normal(size=N) * scale[GROUPS] + shift[GROUPS]
    dist = Normal(np.zeros(N), np.ones(N))
    return calibration_by_group(dist, y, GROUPS)


def test_p_values_are_binomial_and_adjusted_by_holm() -> None:
    found = slices_of(np.ones(6), np.zeros(6))
    ranked = rank_slices({"shop": found})
    tests = []
    for each in ranked:
        g = found.names.index(each.name)
        share, level = (found.below[g], 0.5) if each.biased else (found.coverage[g], 0.9)
        tails = [
            binomtest(round(share * each.n), each.n, level, alternative=side).pvalue
            for side in ("less", "greater")
        ]
        assert each.p_alone == pytest.approx(min(1.0, 2 * min(tails)))
        tests.append(each.p_alone)
    assert not any(each.clearly_off for each in ranked)
    assert ranked[0].p_value <= min(1.0, 12 * min(tests)) + 1e-12  # six slices, two tests each
    assert "Worst of 6 slices is shop " in worst_sentence(ranked)
    blamed = worst_sentence(ranked, errors_found=True)
    assert blamed.startswith("None of 6 slices is clearly off by itself, worst shop ")
    assert "chance" not in blamed


def test_both_kinds_of_error_are_found() -> None:
    scale, shift = np.ones(6), np.zeros(6)
    scale[1], shift[4] = 1.6, 0.6
    ranked = rank_slices({"shop": slices_of(scale, shift)})
    found = {each.name: each for each in ranked if each.clearly_off}
    assert set(found) == {1, 4}
    assert not found[1].biased
    assert found[4].biased
    assert f"{found[4].below:.1%} of targets lie below the predicted median" in str(found[4])
    assert worst_sentence(ranked).startswith("2 of 6 slices are clearly off, worst shop ")


def test_many_rows_do_not_make_an_alarm_of_a_tiny_error() -> None:
    n = 60_000
    y = np.random.default_rng(3).normal(size=n) * 1.03
    found = calibration_by_group(Normal(np.zeros(n), np.ones(n)), y, np.arange(n) % 2)
    (worst, _) = rank_slices({"shop": found})
    assert worst.p_value < 0.05
    assert abs(worst.coverage - 0.9) < tolerated_error(0.9)
    assert not worst.clearly_off


def test_a_slice_of_few_rows_is_left_out_and_one_slice_is_none() -> None:
    dist = Normal(np.zeros(30), np.ones(30))
    found = calibration_by_group(dist, np.full(30, 5.0), ["few"] * 9 + ["many"] * 21)
    assert [each.name for each in rank_slices({"shop": found})] == ["many"]
    alone = calibration_by_group(dist, np.full(30, 5.0), ["all"] * 30)
    assert rank_slices({"shop": alone}) == []
    assert worst_sentence([]) == ""


def test_groups_that_are_off_like_all_others_need_no_map_of_their_own() -> None:
    y = np.random.default_rng(4).normal(size=N) * 1.5
    dist = Normal(np.zeros(N), np.ones(N))
    alike = evaluate(dist, y, {"shop": GROUPS})
    assert alike.state == "bad"
    assert alike.worst is not None
    assert alike.worst.clearly_off
    assert "groups" not in alike.advice
    y[GROUPS == 2] *= 2.0
    assert 'groups=["shop"]' in evaluate(dist, y, {"shop": GROUPS}).advice
    found = calibration_by_group(dist, y, GROUPS)
    assert differing_sources({"shop": found}, coverage=0.6, below=0.5) == ["shop"]

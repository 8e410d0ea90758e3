from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.distributions import Normal
from calibrant.errors import ParameterError
from calibrant.metrics import calibration_by_group
from calibrant.plots import group_coverage

N = 600
GROUPS = np.repeat(["fine", "narrow", "<b>wide</b>"], N // 3)
Y = np.random.default_rng(0).normal(size=N)
DIST = Normal(np.zeros(N), np.repeat([1.0, 0.5, 1.0], N // 3))
FOUND = calibration_by_group(DIST, Y, GROUPS)


def test_dots_are_the_coverage_and_bars_what_chance_allows() -> None:
    ax = group_coverage(FOUND)
    _, inside, outside = ax.get_lines()
    assert outside.get_label() == "not chance"
    assert FOUND.names[int(outside.get_ydata()[0])] == "narrow"
    drawn = dict(zip([*inside.get_ydata(), *outside.get_ydata()], range(3), strict=True))
    assert set(drawn) == {0, 1, 2}
    assert outside.get_xdata()[0] == FOUND.coverage[FOUND.names.index("narrow")]
    # Bonferroni over three groups, from scipy directly.
    low, high = binom.ppf([0.05 / 6, 1 - 0.05 / 6], N // 3, 0.9) / (N // 3)
    for bar in ax.patches:
        assert bar.get_x() == pytest.approx(low)
        assert bar.get_x() + bar.get_width() == pytest.approx(high)


def test_labels_name_groups_and_sizes() -> None:
    ax = group_coverage(FOUND)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [f"{name} (n = 200)" for name in FOUND.names]
    assert "90% intervals" in ax.get_xlabel()


def test_of_many_groups_the_most_striking_are_drawn() -> None:
    many = calibration_by_group(DIST, Y, np.arange(N) // 10)
    ax = group_coverage(many, max_groups=5)
    assert len(ax.get_yticklabels()) == 5
    assert "60 groups" in ax.patches[0].get_label() or any(
        "60 groups" in text.get_text() for text in ax.get_legend().get_texts()
    )
    drawn = {label.get_text().split(" ")[0] for label in ax.get_yticklabels()}
    distance = np.abs(many.coverage - 0.9)
    assert drawn == {str(many.names[g]) for g in np.argsort(-distance, kind="stable")[:5]}


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="confidence must be in"):
        group_coverage(FOUND, confidence=95)
    with pytest.raises(ParameterError, match="max_groups must be at least 1"):
        group_coverage(FOUND, max_groups=0)

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.errors import DataError
from calibrant.plots import training_history

SCORES = {1: [0.9, 0.7, 0.8], 2: [0.69, 0.65, 0.66, 0.7]}
LOSSES = {1: [3.0, 2.0, 1.0], 2: [4e-3, 2e-3, 1e-3, 0.0]}
KEPT = {1: 2, 2: 2}


def entries() -> list[dict[str, Any]]:
    return [
        {
            "stage": stage,
            "epoch": epoch,
            "train_loss": loss,
            "validation_score": score,
            "best": epoch <= KEPT[stage],  # each improvement is flagged: the last one counts
        }
        for stage in (1, 2)
        for epoch, (score, loss) in enumerate(zip(SCORES[stage], LOSSES[stage], strict=True), 1)
    ]


def test_both_stages_in_a_row_with_the_kept_epochs() -> None:
    ax = training_history(entries())
    curves = [line for line in ax.get_lines() if len(np.atleast_1d(line.get_xdata())) > 2]
    assert [list(line.get_xdata()) for line in curves] == [[1, 2, 3], [4, 5, 6, 7]]
    assert [list(line.get_ydata()) for line in curves] == [SCORES[1], SCORES[2]]
    stars = [line for line in ax.get_lines() if line.get_marker() == "*"]
    points = [(float(*s.get_xdata()), float(*s.get_ydata())) for s in stars]
    assert points == [(2.0, 0.7), (5.0, 0.65)]
    assert [s.get_label() for s in stars] == ["kept: stage 1, epoch 2", "kept: stage 2, epoch 2"]
    assert [text.get_text().strip() for text in ax.texts] == ["stage 1", "stage 2"]
    assert "validation score" in ax.get_ylabel()
    assert "epoch" in ax.get_xlabel()


def test_a_history_that_starts_with_epoch_0() -> None:
    history = [{**entry, "epoch": entry["epoch"] - 1} for entry in entries()[:3]]
    curve, star = training_history(history).get_lines()
    assert list(curve.get_xdata()) == [0, 1, 2]
    assert list(star.get_xdata()) == [1]  # where its label says


def test_losses_of_different_size_share_an_axis() -> None:
    ax = training_history(entries())
    (right,) = [other for other in ax.figure.axes if other is not ax]
    first, second = right.get_lines()
    assert np.allclose(first.get_ydata(), [1.0, 0.5, 0.0])
    assert np.allclose(second.get_ydata(), [1.0, 0.5, 0.25, 0.0])


def test_scores_that_were_not_computed_leave_a_gap() -> None:
    history = [{**entry, "validation_score": None, "best": False} for entry in entries()[:3]]
    (curve,) = training_history(history).get_lines()
    assert np.isnan(np.asarray(curve.get_ydata(), dtype=float)).all()


def test_constant_loss() -> None:
    ax = training_history([{**entry, "train_loss": 1.0} for entry in entries()[:3]])
    assert np.allclose(ax.figure.axes[-1].get_lines()[0].get_ydata(), 0.5)


def test_draws_where_it_is_told() -> None:
    ax = Figure().subplots()
    assert training_history(entries(), ax=ax) is ax
    assert plt.get_fignums() == []


def test_bad_history() -> None:
    with pytest.raises(DataError, match="history is empty: fit the model"):
        training_history([])
    with pytest.raises(DataError, match="Entry 1 of the training history has no train_loss, best"):
        training_history([entries()[0], {"stage": 1, "epoch": 2, "validation_score": 0.1}])

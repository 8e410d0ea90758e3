from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from calibrant import Matching, MMDRegressor
from calibrant.errors import DataError
from calibrant.plots import training_history

SCORES = {1: [0.9, 0.7, 0.8], 2: [0.69, 0.65, 0.66, 0.7]}
LOSSES = {1: [3.0, 2.0, 1.0], 2: [4e-3, 2e-3, 1e-3, 0.0]}
KEPT = {1: 2, 2: 2}


NLL_THEN_CRPS = {1: "NLL", 2: "CRPS"}


def entries(names: dict[int, str] | None = None) -> list[dict[str, Any]]:
    return [
        {
            "stage": stage,
            "epoch": epoch,
            "train_loss": loss,
            "validation_score": score,
            "best": epoch == KEPT[stage],
        }
        | ({"score_name": names[stage]} if names else {})
        for stage in (1, 2)
        for epoch, (score, loss) in enumerate(zip(SCORES[stage], LOSSES[stage], strict=True), 1)
    ]


def curves(ax: Axes) -> list[Line2D]:
    return [line for line in ax.get_lines() if len(np.atleast_1d(line.get_xdata())) > 2]


def stars(ax: Axes) -> list[Line2D]:
    return [line for line in ax.get_lines() if line.get_marker() == "*"]


def axes_of(ax: Axes, label: str) -> Axes:
    """The one of all twins whose axis is called so."""
    (found,) = [each for each in ax.figure.axes if each.get_ylabel().startswith(label)]
    return found


def test_both_stages_in_a_row_with_the_kept_epochs() -> None:
    ax = training_history(entries(NLL_THEN_CRPS))
    second = axes_of(ax, "CRPS")
    assert ax.get_ylabel().startswith("NLL")
    for each, stage, steps in ((ax, 1, [1, 2, 3]), (second, 2, [4, 5, 6, 7])):
        (curve,) = curves(each)
        assert list(curve.get_xdata()) == steps
        assert list(curve.get_ydata()) == SCORES[stage]
        (star,) = stars(each)
        assert list(star.get_xdata()) == [steps[KEPT[stage] - 1]]
        assert list(star.get_ydata()) == [SCORES[stage][KEPT[stage] - 1]]
        assert star.get_label() == f"stage {stage}: kept epoch {KEPT[stage]}"
    assert [text.get_text().strip() for text in ax.texts] == ["stage 1", "stage 2"]
    assert "epoch" in ax.get_xlabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "NLL",
        "CRPS",
        "training loss (share of its range)",
        "stage 1: kept epoch 2",
        "stage 2: kept epoch 2",
    ]


def test_one_score_has_one_axis() -> None:
    ax = training_history(entries({1: "CRPS", 2: "CRPS"}))
    assert [list(line.get_ydata()) for line in curves(ax)] == [SCORES[1], SCORES[2]]
    assert len(stars(ax)) == 2
    assert [each.get_ylabel() for each in ax.figure.axes if each.axison] == [ax.get_ylabel()]


def test_scores_without_a_name_are_not_compared() -> None:
    ax = training_history(entries())
    assert ax.get_ylabel().startswith("score of stage 1")
    assert list(curves(axes_of(ax, "score of stage 2"))[0].get_ydata()) == SCORES[2]


def test_a_stage_that_went_back_to_its_start() -> None:
    history = entries(NLL_THEN_CRPS)
    for entry in history[3:]:
        entry |= {"epoch": entry["epoch"] - 1, "best": entry["epoch"] == 1}
    (star,) = stars(axes_of(training_history(history), "CRPS"))
    assert list(star.get_xdata()) == [4]
    assert star.get_label() == "stage 2: rolled back to its start"


def test_every_network_has_kept_an_epoch() -> None:
    history = [{**entry, "best": entry["epoch"] != 2} for entry in entries()[:3]]
    (star,) = stars(training_history(history))
    assert list(star.get_xdata()) == [1, 3]
    assert star.get_label() == "stage 1: kept epochs 1 to 3"
    back = [{**entry, "epoch": entry["epoch"] - 1} for entry in history]
    (star,) = stars(training_history(back))
    assert star.get_label() == "stage 1: kept epochs 0 to 2, some rolled back to its start"


def test_history_of_a_model() -> None:
    X = np.linspace(-1, 1, 60)[:, None]
    model = MMDRegressor(quality="fast", epochs=2, matching=Matching(epochs=1), random_state=0)
    ax = training_history(model.fit(X, X[:, 0]).history_)
    assert ax.get_ylabel().startswith("NLL")
    axes_of(ax, "CRPS")


def test_a_history_that_starts_with_epoch_0() -> None:
    history = [{**entry, "epoch": entry["epoch"] - 1} for entry in entries()[:3]]
    curve, star = training_history(history).get_lines()
    assert list(curve.get_xdata()) == [0, 1, 2]
    assert list(star.get_xdata()) == [1]  # where its label says


def test_losses_of_different_size_share_an_axis() -> None:
    ax = training_history(entries())
    (behind,) = [other for other in ax.figure.axes if not other.axison]
    first, second = behind.get_lines()
    assert np.allclose(first.get_ydata(), [1.0, 0.5, 0.0])
    assert np.allclose(second.get_ydata(), [1.0, 0.5, 0.25, 0.0])


def test_scores_that_were_not_computed_leave_a_gap() -> None:
    history = [{**entry, "validation_score": None, "best": False} for entry in entries()[:3]]
    (curve,) = training_history(history).get_lines()
    assert np.isnan(np.asarray(curve.get_ydata(), dtype=float)).all()


def test_constant_loss() -> None:
    ax = training_history([{**entry, "train_loss": 1.0} for entry in entries()[:3]])
    assert np.allclose(ax.figure.axes[1].get_lines()[0].get_ydata(), 0.5)


def test_draws_where_it_is_told() -> None:
    ax = Figure().subplots()
    assert training_history(entries(), ax=ax) is ax
    assert plt.get_fignums() == []


def test_bad_history() -> None:
    with pytest.raises(DataError, match="history is empty: fit the model"):
        training_history([])
    with pytest.raises(DataError, match="Entry 1 of the training history has no train_loss, best"):
        training_history([entries()[0], {"stage": 1, "epoch": 2, "validation_score": 0.1}])

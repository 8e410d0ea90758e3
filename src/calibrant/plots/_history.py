"""Training history: both stages and the epoch that was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import DataError
from calibrant.metrics._inputs import Array
from calibrant.plots._style import BLUE, GREY, VERMILLION, axes_or_new, legend_above, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = ("stage", "epoch", "train_loss", "validation_score", "best")


def training_history(history: Sequence[Mapping[str, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw validation score and training loss over the epochs, stage after stage.

    The validation score is drawn in its own units. The stages minimise different losses, so the
    training loss is drawn as a share of its range within the stage, on an axis at the right. A
    star marks the epoch each stage went back to.

    Parameters
    ----------
    history : sequence of mappings, one an epoch
        With the keys stage (int), epoch (int), train_loss, validation_score (lower is better;
        None or nan where not computed) and best (bool; of several in a stage the last counts).
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
        The one with the validation score.

    Examples
    --------
    >>> from calibrant.plots import training_history
    >>> epochs = [
    ...     {"stage": 1, "epoch": e, "train_loss": 1 / e, "validation_score": s, "best": e == 2}
    ...     for e, s in [(1, 0.9), (2, 0.7), (3, 0.8)]
    ... ]
    >>> ax = training_history(epochs)
    """
    _check(history)
    stage = np.array([entry["stage"] for entry in history])
    score = _numbers(history, "validation_score")
    loss = _numbers(history, "train_loss")
    # Epochs restart in each stage; the axis does not. Epoch 0 is the network before training.
    step = np.arange(len(history)) + int(history[0]["epoch"])

    ax = axes_or_new(ax, (6.4, 3.6))
    right = ax.twinx()
    for number in dict.fromkeys(stage.tolist()):
        rows = np.flatnonzero(stage == number)
        first = rows[0] == 0  # one legend entry for all stages
        right.plot(
            step[rows],
            _share_of_range(loss[rows]),
            color=GREY,
            linewidth=1,
            linestyle="--",
            label="training loss" if first else None,
        )
        label = "validation score" if first else None
        ax.plot(step[rows], score[rows], color=BLUE, linewidth=1.8, label=label)
        if not first:
            ax.axvline(step[rows[0]] - 0.5, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(
            f" stage {number}",
            (step[rows[0]] - 0.5, 1.0),
            xycoords=("data", "axes fraction"),
            va="top",
            color=GREY,
            fontsize="small",
        )
        _mark_best(ax, history, rows, step, score)
    ax.set(xlabel="epoch, counted through all stages", ylabel="validation score (lower is better)")
    ax.set_xlim(step[0] - 0.5, step[-1] + 0.5)
    right.set_ylabel("training loss (share of its range)", color=GREY)
    right.set_ylim(-0.05, 1.15)
    ax.set_zorder(right.get_zorder() + 1)  # the score in front of the loss
    ax.patch.set_visible(False)
    lines = [*ax.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    legend_above(ax, handles=lines, ncols=2)
    tidy(ax)
    right.spines["top"].set_visible(False)
    return ax


def _mark_best(
    ax: Axes, history: Sequence[Mapping[str, Any]], rows: Any, step: Any, score: Array
) -> None:
    flagged = [row for row in rows if history[row]["best"]]
    if flagged:
        row = flagged[-1]
        label = f"kept: stage {history[row]['stage']}, epoch {history[row]['epoch']}"
        ax.plot(step[row], score[row], "*", color=VERMILLION, markersize=12, label=label)


def _share_of_range(values: Array) -> Array:
    finite = values[np.isfinite(values)]
    if not len(finite) or np.ptp(finite) == 0:
        return np.where(np.isfinite(values), 0.5, np.nan)
    low, high = float(finite.min()), float(finite.max())
    return (values - low) / (high - low)


def _numbers(history: Sequence[Mapping[str, Any]], key: str) -> Array:
    return np.array([entry[key] for entry in history], dtype=np.float64)  # None becomes nan


def _check(history: Sequence[Mapping[str, Any]]) -> None:
    if not history:
        raise DataError("The training history is empty: fit the model for at least one epoch.")
    for row, entry in enumerate(history):
        missing = [key for key in _KEYS if key not in entry]
        if missing:
            raise DataError(f"Entry {row} of the training history has no {', '.join(missing)}.")

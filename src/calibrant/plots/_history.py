"""Training history: all stages, and the epoch that each kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.errors import DataError
from calibrant.plots.style import BLUE, GREEN, GREY, VERMILLION, axes_or_new, legend_above, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = ("stage", "epoch", "train_loss", "validation_score", "best")
_COLOURS = (BLUE, GREEN)  # of the scores; the star has its own


def training_history(history: Sequence[Mapping[str, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw validation score and training loss over the epochs, stage after stage.

    Stages validated by different scores, such as NLL and CRPS, which can't be compared, have an
    axis each, the first on the left. The training loss differs between stages too and is drawn as
    a share of its range within the stage. A star marks the epoch that each stage returned to.

    Parameters
    ----------
    history : sequence of mappings, one per epoch
        Such as ``history_`` of a fitted model. With the keys stage (int), epoch (int),
        train_loss, validation_score (lower is better; None or nan if not computed) and best
        (bool: the epoch was kept; epoch 0 is the start of the stage, kept if it was rolled
        back). The key score_name (str) is optional: without it every stage has its own axis.

    Returns
    -------
    matplotlib Axes
        The one with the score of the first stage.

    Examples
    --------
    >>> from calibrant.plots import training_history
    >>> epochs = [
    ...     {"stage": 1, "epoch": e, "train_loss": 1 / e, "validation_score": s, "best": e == 2}
    ...     for e, s in [(1, 0.9), (2, 0.7), (3, 0.8)]
    ... ]
    >>> ax = training_history([{**epoch, "score_name": "CRPS"} for epoch in epochs])
    """
    _check(history)
    stage = np.array([entry["stage"] for entry in history])
    score = _numbers(history, "validation_score")
    loss = _numbers(history, "train_loss")
    # Epochs restart in each stage; the axis does not. Epoch 0 is the network before training.
    step = np.arange(len(history)) + int(history[0]["epoch"])

    ax = axes_or_new(ax, (6.4, 3.6))
    behind = _axes_of_losses(ax)
    scores: dict[str, Axes] = {}
    for number in dict.fromkeys(stage.tolist()):
        rows = np.flatnonzero(stage == number)
        first = rows[0] == 0  # one legend entry for all stages
        behind.plot(
            step[rows],
            _share_of_range(loss[rows]),
            color=GREY,
            linewidth=1,
            linestyle="--",
            label="training loss (share of its range)" if first else None,
        )
        name = _score_of(history[rows[0]])
        label = None if name in scores else name
        if name not in scores:
            scores[name] = _axes_of_score(ax, name, len(scores))
        own, colour = scores[name], scores[name].yaxis.label.get_color()
        own.plot(step[rows], score[rows], color=colour, linewidth=1.8, label=label)
        if not first:
            ax.axvline(step[rows[0]] - 0.5, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(
            f" stage {number}",
            (step[rows[0]] - 0.5, 1.0),
            xycoords=("data", "axes fraction"),
            va="top",
            color=GREY,
            fontsize="x-small",  # ten epochs of stage 1 are narrow
        )
        _mark_best(own, history, rows, step, score)
    ax.set_xlabel("epoch, counted through all stages")
    ax.set_xlim(step[0] - 0.5, step[-1] + 0.5)
    parts = [*scores.values(), behind]
    handles = [handle for part in parts for handle in part.get_legend_handles_labels()[0]]
    handles.sort(key=lambda handle: str(handle.get_label()).startswith("stage"))
    legend_above(ax, handles=handles, ncols=2)
    return ax


def _axes_of_losses(ax: Axes) -> Axes:
    """Axes behind the others, without ticks: a share has no unit."""
    behind = ax.twinx()
    behind.set_ylim(-0.05, 1.15)
    behind.set_axis_off()
    behind.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
    return behind


def _axes_of_score(ax: Axes, name: str, count: int) -> Axes:
    """Axes of a score: the given ones for the first, twins for the others."""
    own = ax if count == 0 else ax.twinx()
    tidy(own)
    colour = _COLOURS[count % len(_COLOURS)]
    own.set_ylabel(f"{name}, held out (lower is better)", color=colour)
    if count:
        own.spines["left"].set_visible(False)
        own.spines["right"].set_visible(True)
        own.spines["right"].set_position(("axes", 1.0 + 0.18 * (count - 1)))
    return own


def _score_of(entry: Mapping[str, Any]) -> str:
    return str(entry.get("score_name") or f"score of stage {entry['stage']}")


def _mark_best(
    ax: Axes,
    history: Sequence[Mapping[str, Any]],
    rows: NDArray[np.intp],
    step: NDArray[np.intp],
    score: Array,
) -> None:
    kept = [row for row in rows if history[row]["best"]]
    if not kept:
        return
    epochs = [int(history[row]["epoch"]) for row in kept]
    if epochs == [0]:
        label = f"stage {history[kept[0]]['stage']}: rolled back to its start"
    elif len(epochs) == 1:
        label = f"stage {history[kept[0]]['stage']}: kept epoch {epochs[0]}"
    else:  # several networks, each with its own epoch
        back = ", some rolled back to its start" if epochs[0] == 0 else ""
        label = f"stage {history[kept[0]]['stage']}: kept epochs {epochs[0]} to {epochs[-1]}{back}"
    ax.plot(step[kept], score[kept], "*", color=VERMILLION, markersize=12, label=label)


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

"""HTML summary of a fitted model, shown in notebooks below scikit-learn's diagram."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from calibrant.estimators.calibration_map import CalibrationMap

if TYPE_CHECKING:
    from calibrant.estimators.base import NetworkRegressor

_LEVEL = 0.9


def fit_summary_html(model: NetworkRegressor) -> str:
    """Return a table of what was trained and how it was calibrated; empty before `fit`."""
    if not hasattr(model, "predictor_"):
        return ""
    target = {} if model.target_name_ is None else {"target": model.target_name_}
    calibration = _calibration_in_words(model.predictor_.map, model.n_held_out_)
    lines = target | model.plan_ | {"calibration": calibration}
    rows = "".join(
        f'<tr><th scope="row" style="text-align: left">{escape(name)}</th>'
        f'<td style="text-align: left">{escape(text)}</td></tr>'
        for name, text in lines.items()
    )
    return f"<table><caption>What was fitted</caption><tbody>{rows}</tbody></table>"


def _calibration_in_words(fitted: CalibrationMap | None, n_held_out: int) -> str:
    if fitted is None:
        return "no map: the intervals are those of the networks"
    low, high = fitted.common([(1.0 - _LEVEL) / 2.0, (1.0 + _LEVEL) / 2.0])
    return (
        f"map learned from {n_held_out:,} held-out rows; without it {_LEVEL:.0%} intervals covered "
        f"about {high - low:.0%} of them"
    )

"""Rows that a reader can pick: their distributions, inputs and slices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array, Index
from calibrant.metrics.quantile_pass import GRID, evenly_spaced
from calibrant.report._facts import most_surprising
from calibrant.report._format import Units, cell_text
from calibrant.report._slices import Slicing
from calibrant.report.scored_forecast import ScoredForecast

DRAWN_ROWS = 200
_MOST_COLUMNS = 30


def picked_rows(forecasts: list[ScoredForecast]) -> tuple[Index, int]:
    """Rows to show one by one, (r,), and how many of them, the first ones, charts draw.

    Those that charts draw are evenly spaced in the order of the first model's medians; the largest
    surprises of every model follow.
    """
    quantiles = forecasts[0].scores.quantiles
    by_median = np.argsort(quantiles.median[quantiles.sample], kind="stable")
    drawn = quantiles.sample[by_median[evenly_spaced(len(by_median), DRAWN_ROWS)]]
    surprising = np.concatenate([most_surprising(each.scores.rows)[0] for each in forecasts])
    rest = [row for row in dict.fromkeys(surprising.tolist()) if row not in set(drawn.tolist())]
    return np.concatenate([drawn, np.array(rest, dtype=np.intp)]), len(drawn)


def row_details(
    forecasts: list[ScoredForecast], rows: Index, columns: dict[str, NDArray[Any]], X: Any
) -> dict[str, Any]:
    """Values of the picked rows for the script: label, target, inputs, quantiles by model."""
    y = forecasts[0].scores.rows.y
    units = Units(y)
    shown = dict(list(columns.items())[:_MOST_COLUMNS])
    return {
        "label": [row_label(X, int(row)) for row in rows],
        "y": units.round(y[rows]),
        # Pairs, not a dict: the columns keep their order.
        "inputs": [[name, [cell_text(value) for value in of[rows]]] for name, of in shown.items()],
        "models": [
            {
                "name": each.name,
                "quantiles": [units.round(row) for row in _quantiles(each, rows)],
                # The first coverage that covers a row: central intervals are nested.
                "first": _first_level(each.scores.rows.pit[rows]),
                "pit": np.round(each.scores.rows.pit[rows], 4).tolist(),
            }
            for each in forecasts
        ],
    }


def slices_of_rows(slicing: Slicing, names: list[str], rows: Index) -> list[int]:
    """Position of each row's slice among the names that a chart shows, -1 if it is not there."""
    at = {name: k for k, name in enumerate(names)}
    return [at.get(str(slicing.found.names[code]), -1) for code in slicing.codes[rows]]


def row_label(X: Any, row: int) -> str:
    """Label of a row: that of a pandas frame, or its position."""
    return str(X.index[row]) if hasattr(X, "iloc") else str(row)


def _quantiles(forecast: ScoredForecast, rows: Index) -> Array:
    """Quantiles at the 199 levels of `GRID`, (r, 199); those of the sample are known already."""
    known = forecast.scores.quantiles
    at = np.searchsorted(known.sample, rows)
    found = np.minimum(at, len(known.sample) - 1)
    sampled = known.sample[found] == rows
    lower, upper = known.sample_intervals[found, 0], known.sample_intervals[found, 1]  # (r, 99)
    result = np.concatenate([lower[:, ::-1], known.median[rows, None], upper], axis=1)
    if not sampled.all():
        result[~sampled] = forecast.scores.rows.dist[rows[~sampled]].ppf(GRID)
    return result


def _first_level(pit: Array) -> list[int]:
    levels = np.arange(1, 100) / 100
    first: list[int] = (np.searchsorted(levels, np.abs(2.0 * pit - 1.0)) + 1).tolist()
    return first

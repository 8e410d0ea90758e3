"""Facts for the report: fingerprint of the data, versions, the most surprising rows."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.metrics import RowValues
from calibrant.persistence import installed_version
from calibrant.report._format import Units, tail_text
from calibrant.report.scored_forecast import ScoredForecast

_PACKAGES = ("calibrant", "torch", "scikit-learn", "numpy", "scipy", "pandas", "plotly")
_SURPRISES = 10


def fingerprint(columns: dict[str, NDArray[Any]], y: Array) -> str:
    """SHA-256 of column names and values, in order, and of the targets.

    Numbers count as 64-bit floats and everything else as text, so that a table has the same
    fingerprint whether it came as CSV or Parquet.
    """
    digest = hashlib.sha256()
    for name, values in {**columns, "": y}.items():
        digest.update(repr(name).encode())
        if values.dtype.kind in "iufb":
            digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
        else:
            digest.update(repr([str(value) for value in values]).encode())
    return digest.hexdigest()


def data_facts(columns: dict[str, NDArray[Any]], y: Array, target: str) -> dict[str, str]:
    """Rows, columns, range of the target and fingerprint."""
    units = Units(y)
    low, middle, high = (units.show(float(v)) for v in np.quantile(y, [0.0, 0.5, 1.0]))
    facts = {"rows": f"{len(y):,}", "target": f"{target}: {low} to {high}, median {middle}"}
    if columns:
        names = list(columns)
        more = f" and {len(names) - 30} more" if len(names) > 30 else ""
        facts[f"{len(names)} columns"] = ", ".join(names[:30]) + more
    facts["SHA-256"] = fingerprint(columns, y)
    return facts


def version_facts() -> dict[str, str]:
    """Machine, date and versions."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: installed_version(name) or "not installed" for name in _PACKAGES},
    }


def most_surprising(rows: RowValues) -> tuple[NDArray[np.intp], Array]:
    """Rows whose targets lie furthest in the tails, and their tail probabilities."""
    return _smallest_tails(rows, _SURPRISES)


def surprises(forecast: ScoredForecast) -> list[tuple[int, list[str]]]:
    """The most surprising rows, by position, with what the report says about each."""
    rows = forecast.scores.rows
    y, units = rows.y, Units(rows.y)
    return [
        (
            int(row),
            [
                units.show(y[row]),
                units.show(rows.median[row]),
                f"{units.show(rows.interval[row, 0])} to {units.show(rows.interval[row, 1])}",
                "above" if y[row] > rows.median[row] else "below",
                tail_text(probability),
            ],
        )
        for row, probability in zip(*most_surprising(rows), strict=True)
    ]


def _smallest_tails(rows: RowValues, limit: int) -> tuple[NDArray[np.intp], Array]:
    """Rows with the smallest two-sided tail probabilities, and these, in increasing order."""
    rough = _two_sided(rows.cdf, 1.0 - rows.cdf_left)
    # Near 1 the CDF has lost the digits of 1 - CDF: among the rows that this rounding could move
    # into the list, the upper tail itself decides.
    enough = np.sort(rough)[min(limit, len(rough)) - 1] + 1e-12
    near = np.flatnonzero(rough <= enough)
    atom = rows.cdf[near] - rows.cdf_left[near]
    upper = rows.dist[near].prob_above(rows.y[near]) + atom
    exact = _two_sided(rows.cdf[near], upper)
    order = np.argsort(exact, kind="stable")[:limit]
    return near[order], exact[order]


def _two_sided(lower: Array, upper: Array) -> Array:
    result: Array = np.minimum(1.0, 2.0 * np.minimum(lower, upper))
    return result

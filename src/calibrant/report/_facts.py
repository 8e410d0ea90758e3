"""What the report is about: fingerprint of the data, versions, the rows that surprised most."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics._inputs import Array
from calibrant.report._forecasts import Judged
from calibrant.report._words import Units, tail_text

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
    facts = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    for name in _PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    return facts


def surprises(forecast: Judged, X: Any, y: Array, level: float) -> list[list[str]]:
    """Rows whose targets lie furthest in the tails, the most surprising first."""
    dist, units = forecast.dist, Units(y)
    # From both tails themselves: near 1 the PIT has lost the digits of 1 - PIT.
    atom = dist.cdf(y) - dist.cdf_left(y)
    tail = np.minimum(1.0, 2.0 * np.minimum(dist.cdf(y), dist.prob_above(y) + atom))
    rows = np.argsort(tail, kind="stable")[:_SURPRISES]
    bounds, median = dist[rows].interval(level), dist[rows].median
    index = X.index if hasattr(X, "iloc") else None  # labels of a pandas frame
    return [
        [
            str(row if index is None else index[row]),
            units.show(y[row]),
            units.show(median[i]),
            f"{units.show(bounds[i, 0])} to {units.show(bounds[i, 1])}",
            "above" if y[row] > median[i] else "below",
            tail_text(float(tail[row])),
        ]
        for i, row in enumerate(rows)
    ]

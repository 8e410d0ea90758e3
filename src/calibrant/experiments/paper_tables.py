"""Tables 1, 2, A2 and A3 in the layout of the paper, ours under the published figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calibrant.errors import ParameterError
from calibrant.experiments._layout import Form, laid_out
from calibrant.experiments.comparison import Comparison, compare_with_published
from calibrant.experiments.methods import METHODS
from calibrant.experiments.published import published_cells
from calibrant.experiments.store import Record

PAPER_TABLES = {
    "1": "Series: forecast and calibration",
    "2": "Tables: calibration",
    "A2": "Series: sharpness",
    "A3": "Series: precision",
}


def paper_table(records: Iterable[Record], number: str, protocol: str, form: Form = "text") -> str:
    """One table of the paper: a line of published figures and one of ours for every metric.

    Parameters
    ----------
    records : iterable of dict
        As a `Store` holds them.
    number : {"1", "2", "A2", "A3"}
    protocol : str
        Whose results are shown.
    form : {"text", "markdown", "csv"}

    Returns
    -------
    str
        Columns are the methods of the paper, then those that have results only. Empty cells were
        not printed there, or are not run here.
    """
    if number not in PAPER_TABLES:
        known = ", ".join(PAPER_TABLES)
        raise ParameterError(f"The paper has no table {number!r}: choose from {known}.")
    cells = [cell for cell in published_cells() if cell.table == number]
    theirs = {(cell.dataset, cell.metric, cell.method): cell for cell in cells}
    lines_of = dict.fromkeys((cell.dataset, cell.metric) for cell in cells)
    ours = {
        (row.dataset, row.metric, row.method): row
        for row in compare_with_published(records, [*dict.fromkeys(cell.metric for cell in cells)])
        if row.protocol == protocol and (row.dataset, row.metric) in lines_of
    }
    seen = {method for _, _, method in (*theirs, *ours)}
    methods = [key for key in METHODS if key in seen]
    lines = []
    for line in lines_of:
        printed = [theirs.get((*line, method)) for method in methods]
        found = [ours.get((*line, method)) for method in methods]
        lines.append(
            [*line, "paper", ""]
            + ["" if cell is None else _pm(cell.printed, cell.printed_error) for cell in printed]
        )
        lines.append([*line, "ours", _floor(found)] + [_figure(row) for row in found])
    headings = ("data set", "metric", "", "floor", *methods)
    return laid_out(headings, lines, form, right=range(3, len(headings)))


def _figure(row: Comparison | None) -> str:
    if row is None:
        return ""
    error = row.std_error
    if error is None:
        return _pm(f"{row.mean:.4g}", "")
    # Trials of a method without chance differ by rounding alone.
    return _pm(f"{row.mean:.4g}", f"{error if error > 1e-9 * abs(row.mean) else 0.0:.2g}")


def _floor(rows: Sequence[Comparison | None]) -> str:
    floors = [row.floor for row in rows if row is not None and row.floor is not None]
    return f"{sum(floors) / len(floors):.4f}" if floors else ""


def _pm(value: str, error: str) -> str:
    return f"{value} ± {error}" if error else value

"""Tables 1, 2, A2 and A3 in the layout of the paper, our results below the published figures."""

from __future__ import annotations

from collections.abc import Iterable

from calibrant.errors import ParameterError
from calibrant.experiments.comparison import compare_with_published
from calibrant.experiments.layout import Form, Label, pivot, plus_minus
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
    """One table of the paper: for every metric a line of published figures and one of ours.

    Parameters
    ----------
    records : iterable of dict
        Records of a `Store`.
    number : {"1", "2", "A2", "A3"}
    protocol : str
        Protocol whose results are shown.
    form : {"text", "markdown", "csv"}

    Returns
    -------
    str
        Columns are the methods of the paper, then other methods that have results. A cell is
        empty where the paper prints nothing, or where there is no result.
    """
    if number not in PAPER_TABLES:
        known = ", ".join(PAPER_TABLES)
        raise ParameterError(f"The paper has no table {number!r}: choose from {known}.")
    theirs = {(c.dataset, c.metric, c.method): c for c in published_cells() if c.table == number}
    shown = dict.fromkeys((dataset, metric) for dataset, metric, _ in theirs)
    metrics = list(dict.fromkeys(metric for _, metric in shown))
    ours = {
        (row.dataset, row.metric, row.method): row
        for row in compare_with_published(records, metrics)
        if row.protocol == protocol and (row.dataset, row.metric) in shown
    }
    floors = {key[:2]: f"{row.floor:.4f}" for key, row in ours.items() if row.floor is not None}

    def cell(label: Label, method: str) -> str:
        dataset, metric, source = label
        if method == "floor":
            return floors.get((dataset, metric), "") if source == "ours" else ""
        if source == "paper":
            printed = theirs.get((dataset, metric, method))
            return "" if printed is None else plus_minus(printed.printed, printed.printed_error)
        row = ours.get((dataset, metric, method))
        if row is None:
            return ""
        return plus_minus(
            f"{row.mean:.4g}", "" if row.std_error is None else f"{row.std_error:.2g}"
        )

    rows = [(*key, source) for key in shown for source in ("paper", "ours")]
    methods = [key for key in METHODS if any(key == method for _, _, method in (*theirs, *ours))]
    return pivot(["data set", "metric", ""], rows, ["floor", *methods], cell).render(form)

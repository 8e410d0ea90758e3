"""Summary of the reproduction: on nine data sets, what the paper prints and what our runs give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calibrant.experiments import (
    CLAIMS,
    METHODS,
    TASKS,
    Comparison,
    check_claims,
    compare_with_published,
)
from calibrant.experiments.layout import Label, Table, pivot, plus_minus, two_digits
from calibrant.experiments.store import Record

_METRICS = ("ecpe", "rmse")
OURS = {"mmd-as-published": "Algorithm 1", "mmd": "`mmd`", "mmd-best": "`mmd-best`"}
_MARKS = {"better": " ▲", "worse": " ▼"}
_BASELINES = [key for key in METHODS if METHODS[key].role == "baseline"]
_RIVALS = [key for key in METHODS if METHODS[key].role == "rival"]
Cells = dict[tuple[str, str, str], Comparison]  # by data set, metric and method

_METHODS = """\
`mmd-as-published` is Algorithm 1 of the paper as printed. `mmd` is this library's default,
which is not the paper's method: ten epochs of likelihood of a mixture of normals, then the
kernel score of each row (with the energy kernel, that is its CRPS), then a monotone map learned
from held-out rows. It matches nothing across rows. `mmd-best` trains several such networks for
longer and pools them.
"""
_COUNTS = """\
Figures of the paper that our runs match / beat / miss, by the 95% margin of the difference, and
data sets on which its claims hold / tie / fail in our runs, by the 95% margin of the paired
difference:
"""
_FIGURES = """\
*Floor* is the expected ECPE of a perfect forecaster, *paper* the figure that the paper prints
for its method. ▲ is clearly better and ▼ clearly worse than that figure; the lowest mean of our
runs is bold, clear or not. The best baseline and the best rival are those with the lowest mean
in our runs.
"""


def summary(records: Iterable[Record], protocol: str = "published") -> str:
    """Two tables in Markdown: how many figures reproduce, and the figures themselves."""
    runs = [record for record in records if record["cell"]["protocol"] == protocol]
    cells = {
        (row.dataset, row.metric, row.method): row for row in compare_with_published(runs, _METRICS)
    }
    if not any(method in OURS for _, _, method in cells):
        return f"The method of the paper was not run under the `{protocol}` protocol yet.\n"
    counts, figures = _counts(runs, cells), _figures(cells)
    parts = [_METHODS, _COUNTS, counts.render("markdown"), _FIGURES, figures.render("markdown")]
    return "\n".join(parts)


def _counts(runs: Sequence[Record], cells: Cells) -> Table:
    """Verdicts and claims of the baselines and of each variant of the method."""
    keys = {"baselines": _BASELINES} | {f"`{key}`": [key] for key in OURS}
    findings = check_claims(runs)

    def cell(label: Label, column: str) -> str:
        chosen = keys[label[0]]
        if column.lower() in _METRICS:
            verdicts = Counter(
                row.verdict
                for (_, metric, method), row in cells.items()
                if metric == column.lower() and method in chosen and row.verdict
            )
            return _slashed(verdicts, ("tie", "better", "worse"))
        answers = Counter(
            f.answer for f in findings if f.claim.text == column and f.method in chosen
        )
        return _slashed(answers, ("holds", "tie", "fails"))

    columns = [*(metric.upper() for metric in _METRICS), *(claim.text for claim in CLAIMS)]
    return pivot([""], [(title,) for title in keys], columns, cell)


def _slashed(counts: Mapping[Any, int], names: Sequence[str]) -> str:
    return " / ".join(str(counts.get(name, 0)) for name in names) if counts else ""


def _figures(cells: Cells) -> Table:
    """Per data set and metric: the paper, its method in our runs, the best baseline and rival."""
    lines = []
    for dataset in TASKS:
        for metric in _METRICS:
            ours = [cells.get((dataset, metric, key)) for key in OURS]
            others = [_best(cells, dataset, metric, keys) for keys in (_BASELINES, _RIVALS)]
            shown = [row for row in (*ours, *others) if row is not None]
            if not shown:
                continue
            lowest = min(row.mean for row in shown)
            floors = [f"{row.floor:.4f}" for row in shown if row.floor is not None]
            papers = [row.published.printed for row in ours if row and row.published]
            lines.append(
                [
                    *(dataset, metric.upper()),
                    *(texts[0] if texts else "" for texts in (floors, papers)),
                    *(
                        _figure(row, lowest) + _MARKS.get(row.verdict, "") if row else ""
                        for row in ours
                    ),
                    *(f"{_figure(row, lowest)} {row.method}" if row else "" for row in others),
                ]
            )
    headings = ("data set", "", "floor", "paper", *OURS.values(), "best baseline", "best rival")
    return Table(headings, lines, right=range(2, 7))


def _best(cells: Cells, dataset: str, metric: str, keys: Sequence[str]) -> Comparison | None:
    found = [cells[dataset, metric, key] for key in keys if (dataset, metric, key) in cells]
    return min(found, key=lambda row: row.mean, default=None)


def _figure(row: Comparison, lowest: float) -> str:
    calibration = row.metric == "ecpe"
    mean = f"{row.mean:.4f}" if calibration else f"{row.mean:.4g}"
    error = two_digits(row.std_error)
    if calibration and row.std_error is not None:
        error = f"{row.std_error:.4f}"
    return plus_minus(f"**{mean}**" if row.mean == lowest else mean, error)

"""The short answer: nine data sets, what the paper prints and what we measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calibrant.errors import DataError
from calibrant.experiments._layout import laid_out, plain
from calibrant.experiments.claims import CLAIMS, check_claims
from calibrant.experiments.comparison import Comparison, compare_with_published
from calibrant.experiments.methods import METHODS
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

_METRICS = ("ecpe", "rmse")
# Algorithm 1 to the letter, and what this library made of it.
OURS = ("mmd-as-published", "mmd", "mmd-best")
_MARKS = {"better": " ▲", "worse": " ▼"}
Rows = dict[tuple[str, str, str], Comparison]  # by data set, metric and method


def summary(records: Iterable[Record], protocol: str = "published") -> str:
    """Two tables, as Markdown: how much comes out, and the figures; losses stand beside wins."""
    runs = [record for record in records if record["cell"]["protocol"] == protocol]
    rows = {
        (row.dataset, row.metric, row.method): row for row in compare_with_published(runs, _METRICS)
    }
    if not any(method in OURS for _, _, method in rows):
        return f"The method of the paper was not run under the `{protocol}` protocol yet.\n"
    counts = (
        "Figures of the paper that come out the same / better / worse, by the 95% margin of the "
        "difference, and data sets on which its claims hold / tie / fail in our runs:\n"
    )
    figures = (
        "The figures. *Floor* is what a perfect forecaster scores by chance, *to the letter* is "
        "Algorithm 1 as printed; ▲ is clearly better and ▼ clearly worse than the paper; the best "
        "of our runs is bold.\n"
    )
    return "\n".join([counts, _counts_table(runs, rows), figures, _figures_table(rows)])


def between_marks(text: str, content: str, topic: str = "bench report") -> str:
    r"""Replace what stands between the marks of a document.

    Examples
    --------
    >>> print(between_marks("<!-- x: begin --> old <!-- x: end -->", "new\n", "x"))
    <!-- x: begin -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- x: end -->
    """
    begin, end = f"<!-- {topic}: begin -->", f"<!-- {topic}: end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise DataError(f"The document needs a line {begin} and below it a line {end}.")
    return f"{before}{begin}\n\n{content}\n{end}{after}"


def _counts_table(runs: Sequence[Record], rows: Rows) -> str:
    """A line for the baselines and for each form of the method: verdicts, then claims."""
    baselines = [key for key in METHODS if METHODS[key].role == "baseline"]
    findings, lines = check_claims(runs), []
    for title, keys in [("baselines", baselines), *((f"`{key}`", [key]) for key in OURS)]:
        line = [title]
        for metric in _METRICS:
            found = Counter(
                row.verdict
                for (_, name, method), row in rows.items()
                if name == metric and method in keys and row.verdict
            )
            line.append(_slashed(found, ("tie", "better", "worse")))
        for claim in CLAIMS:
            answers = Counter(f.answer for f in findings if f.claim == claim and f.method in keys)
            line.append(_slashed(answers, ("holds", "tie", "fails")))
        lines.append(line)
    headings = ("", *(metric.upper() for metric in _METRICS), *(claim.text for claim in CLAIMS))
    return laid_out(headings, lines, "markdown", right=range(1, len(headings)))


def _slashed(counts: Mapping[Any, int], names: Sequence[str]) -> str:
    return " / ".join(str(counts.get(name, 0)) for name in names) if counts else ""


def _figures_table(rows: Rows) -> str:
    """A line per data set and metric: the paper, its method in our runs, the best of others."""
    lines = []
    for dataset in TASKS:
        for metric in _METRICS:
            ours = {key: rows.get((dataset, metric, key)) for key in OURS}
            best = {role: _best(rows, dataset, metric, role) for role in ("baseline", "rival")}
            shown = [row for row in (*ours.values(), *best.values()) if row is not None]
            if not shown:
                continue
            least = min(row.mean for row in shown)
            paper = next((row.published for row in ours.values() if row and row.published), None)
            floors = [row.floor for row in shown if row.floor is not None]
            lines.append(
                [
                    *(dataset, metric.upper()),
                    f"{floors[0]:.4f}" if floors else "",
                    "" if paper is None else paper.printed,
                    *(_figure(row, least) for row in ours.values()),
                    *(_named(row, least) for row in best.values()),
                ]
            )
    headings = (
        *("data set", "", "floor", "paper", "to the letter", "`mmd`", "`mmd-best`"),
        *("best baseline", "best rival"),
    )
    return laid_out(headings, lines, "markdown", right=range(2, 7))


def _best(rows: Rows, dataset: str, metric: str, role: str) -> Comparison | None:
    found = [rows.get((dataset, metric, key)) for key in METHODS if METHODS[key].role == role]
    return min((row for row in found if row is not None), key=lambda row: row.mean, default=None)


def _figure(row: Comparison | None, least: float) -> str:
    if row is None:
        return ""
    digits = ".4f" if row.metric == "ecpe" else ".4g"
    mean = f"{row.mean:{digits}}"
    error = ""
    if row.std_error is not None:
        error = f" ± {row.std_error:.4f}" if row.metric == "ecpe" else f" ± {plain(row.std_error)}"
    mark = _MARKS.get(row.verdict, "")
    return f"**{mean}**{error}{mark}" if row.mean == least else f"{mean}{error}{mark}"


def _named(row: Comparison | None, least: float) -> str:
    return "" if row is None else f"{_figure(row, least)} {row.method}"

"""Tables that only the page has, in Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from calibrant.experiments import METHODS, TASKS, Comparison, compare_with_published
from calibrant.experiments.layout import Label, Table, pivot, plus_minus, two_digits
from calibrant.experiments.store import Record


def verdicts_table(rows: Sequence[Comparison]) -> str:
    """One line per protocol, metric and method: on how many data sets it beats the paper."""
    groups: dict[tuple[str, str, str], list[Comparison]] = defaultdict(list)
    for row in rows:
        groups[row.protocol, row.metric, row.method].append(row)
    lines = []
    for key, group in groups.items():
        counts = Counter(row.verdict for row in group)
        worse = ", ".join(row.dataset for row in group if row.verdict == "worse")
        lines.append([*key, *(str(counts[v]) for v in ("better", "tie", "worse")), worse])
    headings = ("protocol", "metric", "method", "better", "tie", "worse", "worse on")
    return Table(headings, lines, right=(3, 4, 5)).render("markdown")


def crps_table(records: Sequence[Record], protocol: str) -> str:
    """CRPS of every method on every data set; the lowest of a data set is bold."""
    rows = [row for row in compare_with_published(records, ["crps"]) if row.protocol == protocol]
    found = {(row.method, row.dataset): row for row in rows}
    lowest = {
        name: min((row.mean for row in rows if row.dataset == name), default=0.0) for name in TASKS
    }

    def cell(label: Label, dataset: str) -> str:
        row = found.get((label[0], dataset))
        if row is None:
            return ""
        mean = f"{row.mean:.4g}"
        bold = f"**{mean}**" if row.mean == lowest[dataset] else mean
        return plus_minus(bold, two_digits(row.std_error))

    return _methods_by_data_sets(found, cell).render("markdown")


def seconds_table(records: Sequence[Record], protocol: str) -> str:
    """Seconds of all trials of every method on every data set, and their sum."""
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for record in records:
        cell = record["cell"]
        if cell["protocol"] == protocol and cell["method"] in METHODS:
            spent[cell["method"], cell["dataset"]] += sum(record["seconds"].values())
            spent[cell["method"], "all"] += sum(record["seconds"].values())

    def cell_text(label: Label, dataset: str) -> str:
        key = (label[0], dataset)
        return f"{spent[key]:.0f}" if key in spent else ""

    return _methods_by_data_sets(spent, cell_text, "all").render("markdown")


def _methods_by_data_sets(
    found: Iterable[tuple[str, str]], cell: Callable[[Label, str], str], *more: str
) -> Table:
    """Pivot of the methods and data sets that occur, in the order of the paper."""
    pairs = list(found)
    methods = [(key,) for key in METHODS if any(key == method for method, _ in pairs)]
    datasets = [name for name in TASKS if any(name == dataset for _, dataset in pairs)]
    return pivot(["method"], methods, [*datasets, *more], cell)

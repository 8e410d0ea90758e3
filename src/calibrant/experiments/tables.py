"""The comparison and the claims as text, Markdown and CSV; nothing is ever cut off."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from calibrant.experiments._layout import Form, laid_out, plain
from calibrant.experiments.claims import Finding
from calibrant.experiments.comparison import (
    Comparison,
    compare_with_published,
    standard_error,
)
from calibrant.experiments.methods import DEPTH_STUDY, METHODS
from calibrant.experiments.runner import Outcome
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

_HEADINGS = (
    *("protocol", "data set", "metric", "method", "trials"),
    *("ours", "± s.e.", "floor", "published", "its ± s.e.", "verdict"),
)
_NUMBERS = range(4, 10)


def comparison_table(rows: Sequence[Comparison], form: Form = "text") -> str:
    """A line per cell: ours, the floor, the published figure with its own digits, the verdict."""
    return laid_out(_HEADINGS, [_line(row) for row in rows], form, right=_NUMBERS, above=3)


def claims_table(findings: Sequence[Finding], form: Form = "text") -> str:
    """A line per claim, method and data set: where it holds and where not."""
    headings = (
        *("protocol", "claim", "method", "data set", "answer"),
        *("decided by", "difference", "± s.e."),
    )
    lines = [
        [
            found.protocol,
            found.claim.text,
            found.method,
            found.dataset,
            found.answer,
            found.rival,
            f"{found.difference:+.3g}",
            f"{found.std_error:.2g}",
        ]
        for found in findings
    ]
    return laid_out(headings, lines, form, right=(6, 7), above=2)


def claims_summary(findings: Sequence[Finding], form: Form = "text") -> str:
    """A line per claim, method and protocol: on how many data sets it holds, ties and fails."""
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for found in findings:
        groups[found.protocol, found.claim.text, found.method].append(found)
    lines = []
    for key, group in groups.items():
        counts = Counter(found.answer for found in group)
        answers = (str(counts[answer]) for answer in ("holds", "tie", "fails"))
        lines.append([*key, *answers, str(min(found.baselines for found in group))])
    headings = ("protocol", "claim", "method", "holds", "tie", "fails", "baselines")
    return laid_out(headings, lines, form, right=range(3, 7), above=2)


def depth_table(records: Sequence[Record], form: Form = "text") -> str:
    """A line per method and depth: calibration and seconds of training, means over trials.

    Empty without results of the depth study.
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record["cell"]["method"] in DEPTH_STUDY:
            groups[record["cell"]["protocol"], record["cell"]["method"]].append(record)
    lines = []
    for protocol, method in sorted(groups):
        trials = groups[protocol, method]
        key, _, layers = method.partition("-depth")
        ecpe = np.array([record["scores"]["ecpe"] for record in trials])
        error = standard_error(ecpe)
        lines.append(
            [
                *(protocol, key, layers, str(len(trials)), f"{ecpe.mean():.4f}"),
                "" if error is None else f"{error:.2g}",
                f"{np.mean([record['floor']['ecpe'] for record in trials]):.4f}",
                f"{np.mean([record['seconds']['fit'] for record in trials]):.1f}",
            ]
        )
    headings = ("protocol", "method", "layers", "trials", "ecpe", "± s.e.", "floor", "fit seconds")
    return laid_out(headings, lines, form, right=range(2, 8), above=1) if lines else ""


def sharpness_table(records: Sequence[Record], protocol: str, form: Form = "text") -> str:
    """A line per method: CRPS on every data set with its standard error, the lowest in bold."""
    rows = [row for row in compare_with_published(records, ["crps"]) if row.protocol == protocol]
    found = {(row.method, row.dataset): row for row in rows}
    methods = [key for key in METHODS if any(key == method for method, _ in found)]
    datasets = [name for name in TASKS if any(name == dataset for _, dataset in found)]
    least = {
        name: min(row.mean for (_, dataset), row in found.items() if dataset == name)
        for name in datasets
    }
    lines = []
    for key in methods:
        cells = []
        for name in datasets:
            row = found.get((key, name))
            if row is None:
                cells.append("")
                continue
            error = "" if row.std_error is None else f" ± {plain(row.std_error)}"
            mean = f"{row.mean:.4g}"
            bold = form == "markdown" and row.mean == least[name]
            cells.append(f"**{mean}**{error}" if bold else f"{mean}{error}")
        lines.append([key, *cells])
    return laid_out(("method", *datasets), lines, form, right=range(1, len(datasets) + 1))


def seconds_table(records: Sequence[Record], protocol: str, form: Form = "text") -> str:
    """A line per method: seconds of all its trials on every data set, and their sum."""
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for record in records:
        cell = record["cell"]
        if cell["protocol"] == protocol and cell["method"] in METHODS:
            spent[cell["method"], cell["dataset"]] += sum(record["seconds"].values())
    datasets = [name for name in TASKS if any(name == dataset for _, dataset in spent)]
    lines = [
        [
            key,
            *(f"{spent[key, name]:.0f}" if (key, name) in spent else "" for name in datasets),
            f"{sum(seconds for (method, _), seconds in spent.items() if method == key):.0f}",
        ]
        for key in METHODS
        if any(key == method for method, _ in spent)
    ]
    return laid_out(("method", *datasets, "all"), lines, form, right=range(1, len(datasets) + 2))


def time_table(outcomes: Iterable[Outcome], form: Form = "text") -> str:
    """A line per data set and method: seconds of work, and their sum in the last one.

    Empty if nothing was computed.
    """
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.seconds:
            groups[outcome.cell.dataset, outcome.cell.method].append(outcome.seconds)
    lines = [[*key, str(len(spent)), f"{sum(spent):.1f}"] for key, spent in sorted(groups.items())]
    every = [seconds for spent in groups.values() for seconds in spent]
    lines.append(["all", "", str(len(every)), f"{sum(every):.1f}"])
    headings = ("data set", "method", "trials", "seconds")
    return laid_out(headings, lines, form, right=(2, 3)) if every else ""


def _line(row: Comparison) -> list[str]:
    figure = row.published
    return [
        row.protocol,
        row.dataset,
        row.metric,
        row.method,
        str(row.trials),
        f"{row.mean:.4g}",
        "" if row.std_error is None else f"{row.std_error:.2g}",
        "" if row.floor is None else f"{row.floor:.4f}",
        "" if figure is None else figure.printed,
        "" if figure is None else figure.printed_error,
        row.verdict,
    ]

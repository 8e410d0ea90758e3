"""Tables of the results as text, Markdown and CSV."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from calibrant.errors import ParameterError
from calibrant.experiments.claims import Finding
from calibrant.experiments.comparison import Comparison, compare_with_published
from calibrant.experiments.estimates import estimate
from calibrant.experiments.layout import Form, Label, Table, pivot, plus_minus, two_digits
from calibrant.experiments.methods import DEPTH_STUDY, METHODS
from calibrant.experiments.published import published_cells
from calibrant.experiments.runner import Outcome
from calibrant.experiments.store import Record

PAPER_TABLES = {
    "1": "Series: forecast and calibration",
    "2": "Tables: calibration",
    "A2": "Series: sharpness",
    "A3": "Series: precision",
}
COMMIT_NOTE = """\
*Commit* is that of the code. A commit after ≤ is the first one that contains the result, which
was computed with the code of that commit or of one shortly before it: those results were stored
before commits were recorded.
"""


def comparison_table(rows: Sequence[Comparison], form: Form = "text") -> str:
    """One line per cell: our result, noise floor, published figure as printed, verdict."""
    headings = (
        *("protocol", "data set", "metric", "method", "trials"),
        *("ours", "± s.e.", "floor", "published", "its ± s.e.", "verdict"),
    )
    lines = [
        [
            *(row.protocol, row.dataset, row.metric, row.method, str(row.trials)),
            f"{row.mean:.4g}",
            two_digits(row.std_error),
            "" if row.floor is None else f"{row.floor:.4f}",
            "" if row.published is None else row.published.printed,
            "" if row.published is None else row.published.printed_error,
            row.verdict,
        ]
        for row in rows
    ]
    return Table(headings, lines, right=range(4, 10), above=3).render(form)


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
        return plus_minus(f"{row.mean:.4g}", two_digits(row.std_error))

    rows = [(*key, source) for key in shown for source in ("paper", "ours")]
    methods = [key for key in METHODS if any(key == method for _, _, method in (*theirs, *ours))]
    return pivot(["data set", "metric", ""], rows, ["floor", *methods], cell).render(form)


def claims_table(findings: Sequence[Finding], form: Form = "text") -> str:
    """One line per claim, method and data set: whether it holds."""
    headings = (
        *("protocol", "claim", "method", "data set", "answer"),
        *("decided by", "difference", "± s.e."),
    )
    lines = [
        [
            *(found.protocol, found.claim.text, found.method, found.dataset, found.answer),
            *(found.rival, f"{found.difference:+.3g}", f"{found.std_error:.2g}"),
        ]
        for found in findings
    ]
    return Table(headings, lines, right=(6, 7), above=2).render(form)


def claims_summary(findings: Sequence[Finding], form: Form = "text") -> str:
    """One line per claim, method and protocol: on how many data sets it holds, ties and fails."""
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for found in findings:
        groups[found.protocol, found.claim.text, found.method].append(found)
    lines = []
    for key, group in groups.items():
        counts = Counter(found.answer for found in group)
        answers = (str(counts[answer]) for answer in ("holds", "tie", "fails"))
        lines.append([*key, *answers, str(min(found.baselines for found in group))])
    headings = ("protocol", "claim", "method", "holds", "tie", "fails", "baselines")
    return Table(headings, lines, right=range(3, 7), above=2).render(form)


def depth_table(records: Sequence[Record], form: Form = "text") -> str:
    """One line per method and depth: mean calibration error and training time over trials.

    Empty without results of the depth study.
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record["cell"]["method"] in DEPTH_STUDY:
            groups[record["cell"]["protocol"], record["cell"]["method"]].append(record)
    lines = []
    for (protocol, method), trials in sorted(groups.items()):
        key, _, layers = method.partition("-depth")
        ecpe = estimate(record["scores"]["ecpe"] for record in trials)
        assert ecpe is not None  # a group has at least one trial
        lines.append(
            [
                *(protocol, key, layers, str(len(trials)), f"{ecpe.mean:.4f}"),
                two_digits(ecpe.std_error),
                f"{np.mean([record['floor']['ecpe'] for record in trials]):.4f}",
                f"{np.mean([record['seconds']['fit'] for record in trials]):.1f}",
            ]
        )
    headings = ("protocol", "method", "layers", "trials", "ecpe", "± s.e.", "floor", "fit seconds")
    return Table(headings, lines, right=range(2, 8), above=1).render(form)


def time_table(outcomes: Iterable[Outcome]) -> str:
    """Seconds per data set and method, with the total in the last line.

    Empty if nothing was computed.
    """
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.seconds:
            groups[outcome.cell.dataset, outcome.cell.method].append(outcome.seconds)
    lines = [[*key, str(len(spent)), f"{sum(spent):.1f}"] for key, spent in sorted(groups.items())]
    every = [seconds for spent in groups.values() for seconds in spent]
    if every:
        lines.append(["all", "", str(len(every)), f"{sum(every):.1f}"])
    return Table(("data set", "method", "trials", "seconds"), lines, right=(2, 3)).render("text")


def provenance_table(records: Sequence[Record], form: Form = "text") -> str:
    """One line per protocol and machine: methods, hours, dates, versions and commits."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        m = record["machine"]
        machine = f"{m['device']} ({m['system']}, Python {m['python']}, {m['cores']} cores)"
        groups[record["cell"]["protocol"], machine].append(record)
    lines = []
    for (protocol, machine), group in sorted(groups.items()):
        days = sorted({record["finished"][:10] for record in group})
        hours = sum(sum(record["seconds"].values()) for record in group) / 3600
        used = {record["cell"]["method"].partition("-depth")[0] for record in group}
        lines.append(
            [
                *(protocol, machine, ", ".join(key for key in METHODS if key in used)),
                *(str(len(group)), f"{hours:.2f}"),
                days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
                _versions(group),
                ", ".join(sorted({record.get("commit", "unknown") for record in group})),
            ]
        )
    headings = (
        *("protocol", "machine", "methods", "cells", "hours of work", "date", "versions"),
        "commit",
    )
    return Table(headings, lines, right=(3, 4)).render(form)


def _versions(records: Sequence[Record]) -> str:
    versions: dict[str, set[str]] = defaultdict(set)
    for record in records:
        for package, version in record["versions"].items():
            if version != "unknown":
                versions[package].add(version)
    return ", ".join(f"{name} {'/'.join(sorted(v))}" for name, v in sorted(versions.items()))

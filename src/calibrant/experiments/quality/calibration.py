"""Bar 1: calibration at the limit of the sample size."""

from __future__ import annotations

from calibrant.experiments.quality.runs import Runs
from calibrant.experiments.quality.scores import scores_table
from calibrant.experiments.quality.verdicts import Bar, Check, Table

_METRICS = ("ecpe", "mcpe")


def calibration(runs: Runs, method: str = "mmd-best") -> Bar:
    """ECPE and MCPE against the limit: 1/n + 1/m of a map learned from all m training rows."""
    checks = [
        within(runs, method, metric, times, needed)
        for metric in _METRICS
        for times, needed in ((1.25, runs.of_nine(7)), (1.6, 0))
    ]
    return Bar(
        f"Bar 1, calibration, {runs.protocol}",
        f"ECPE and MCPE of `{method}` at most 1.25 x the limit on seven of nine data sets, at most "
        "1.6 x on all.",
        [calibration_table(runs, [method]), scores_table(runs, "ecpe")],
        checks,
    )


def within(runs: Runs, method: str, metric: str, times: float, needed: int) -> Check:
    """Whether an error is at most so many times its limit."""
    found = {}
    for name in runs.datasets(method):
        ratio = runs.in_limits(name, method, metric).mean
        found[name] = (ratio <= times, f"{ratio:.2f}")
    return Check(f"{metric.upper()} of {method} at most {times} x the limit", found, needed)


def calibration_table(runs: Runs, methods: list[str]) -> Table:
    """A line per method and data set: both errors, floor, limit and how many limits they are."""
    headings = ["data set", "method", "trials"]
    for metric in _METRICS:
        headings += [metric.upper(), "± s.e.", "floor", "limit", "x limit", "± s.e."]
    lines = [
        [name, method, *_cells(runs, name, method)]
        for method in methods
        for name in runs.datasets(method)
    ]
    return Table(headings, lines, left=2)


def _cells(runs: Runs, name: str, method: str) -> list[str]:
    cells = [str(runs.figure(name, method, "scores", "ecpe").trials)]
    for metric in _METRICS:
        error = runs.figure(name, method, "scores", metric)
        floor = runs.figure(name, method, "floor", metric)
        limit = runs.figure(name, method, "limit", metric)
        ratio = runs.in_limits(name, method, metric)
        cells += [
            f"{error.mean:.4f}",
            "" if error.error is None else f"{error.error:.4f}",
            f"{floor.mean:.4f}",
            f"{limit.mean:.4f}",
            f"{ratio.mean:.2f}",
            "" if ratio.error is None else f"{ratio.error:.2f}",
        ]
    return cells

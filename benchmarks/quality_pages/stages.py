"""Requirement 4: stage 2 never makes a model worse."""

from __future__ import annotations

from calibrant.experiments.layout import Table

from .requirements import Check, Requirement, Result, passed
from .runs import Runs
from .studies import STAGE_1

_METRICS = ("ecpe", "crps", "rmse")
_BOTH = [key.removesuffix("-stage1") for key in STAGE_1]


def stages(runs: Runs) -> Requirement:
    """Both stages against the first alone, paired by trial."""
    lines = []
    found: dict[str, dict[str, Result]] = {key: {} for key in _BOTH}
    for key in _BOTH:
        for name in runs.datasets(key):
            compared = _compare_stages(runs, name, key)
            if compared is not None:
                found[key][name], cells = compared
                lines.append([name, key, *cells])
    headings = ["data set", "method"]
    for metric in _METRICS:
        headings += [f"{metric.upper()}, stage 1", "difference", "share"]
    return Requirement(
        f"Requirement 4, never worse, {runs.protocol}",
        "On no data set stage 2 makes ECPE, CRPS or RMSE worse than stage 1 beyond the 95% margin "
        "of the difference. Stage 1 alone is the same estimator, map included, trained by "
        'likelihood only; for the default and "best" it gets the epochs of both stages.',
        [Table(headings, lines, right=range(2, len(headings)))],
        [Check(f"stage 2 of {key} worse in nothing", found[key]) for key in _BOTH],
    )


def _compare_stages(runs: Runs, name: str, key: str) -> tuple[Result, list[str]] | None:
    """Whether stage 2 is clearly worse in any metric, and the cells of its line."""
    worse, cells, trials = [], [], 0
    for metric in _METRICS:
        gap = runs.difference(name, key, f"{key}-stage1", "scores", metric)
        if gap is None:
            return None
        first = runs.mean(name, f"{key}-stage1", "scores", metric)
        share = f"{gap.mean / first.mean:+.1%}"
        cells += [f"{first.mean:.4g}", str(gap), share]
        trials = gap.trials
        if gap.margin is not None and gap.mean > gap.margin:
            worse.append(f"{metric.upper()} {share}")
    if trials == 1:
        return Result("unknown", "one shared trial"), cells
    return passed(not worse, ", ".join(worse)), cells

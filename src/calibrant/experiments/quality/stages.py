"""Bar 4: stage 2 never makes it worse."""

from __future__ import annotations

from calibrant.experiments.methods import STAGE_1
from calibrant.experiments.quality.runs import Runs
from calibrant.experiments.quality.verdicts import Bar, Check, Table

_METRICS = ("ecpe", "crps", "rmse")
_BOTH = [key.removesuffix("-stage1") for key in STAGE_1]


def stages(runs: Runs) -> Bar:
    """Both stages against the first alone, paired by trial."""
    lines = []
    found: dict[str, dict[str, tuple[bool, str]]] = {key: {} for key in _BOTH}
    for key in _BOTH:
        for name in runs.datasets(key):
            worse, line = [], [name, key]
            for metric in _METRICS:
                gap = runs.gap(name, key, f"{key}-stage1", "scores", metric)
                if gap is None:
                    break
                first = runs.figure(name, f"{key}-stage1", "scores", metric)
                share = f"{gap.mean / first.mean:+.1%}"
                line += [f"{first.mean:.4g}", f"{gap}", share]
                if gap.mean > gap.noise:
                    worse.append(f"{metric.upper()} {share}")
            else:
                found[key][name] = (not worse, ", ".join(worse))
                lines.append(line)
    headings = ["data set", "method"]
    for metric in _METRICS:
        headings += [f"{metric.upper()}, stage 1", "difference", "share"]
    return Bar(
        f"Bar 4, never worse, {runs.protocol}",
        "No data set on which stage 2 makes ECPE, CRPS or RMSE worse than stage 1 beyond the 95% "
        "margin of the difference. Stage 1 alone is the same estimator, its map too, whose weights "
        'stay where the likelihood left them; for "best" it gets the epochs of both stages.',
        [Table(headings, lines, left=2)],
        [Check(f"stage 2 of {key} worse in nothing", found[key]) for key in _BOTH],
    )

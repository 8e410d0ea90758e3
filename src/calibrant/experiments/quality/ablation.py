"""What each ingredient of "best" is worth: taken out, or put in, all else as it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

from calibrant.experiments.methods import ABLATION
from calibrant.experiments.quality.runs import Figure, Runs
from calibrant.experiments.quality.verdicts import Bar, Table
from calibrant.experiments.tasks import TASKS

_WHOLE = "mmd-best"
_KEYS = [key for key in ABLATION if key != _WHOLE]


def ablation(runs: Runs) -> Bar:
    """CRPS and RMSE as shares of those of "best", ECPE in limits; differences are paired."""
    sets = [name for name in TASKS if any(key in runs.methods(name) for key in _KEYS)]
    tried = {t for name in sets for key in _KEYS for t in runs.values(name, key, "scores", "crps")}
    runs = runs.within(tried)
    headings = (*sets, "median")
    return Bar(
        f"Ablation of best, {runs.protocol}",
        f'Change of CRPS and RMSE against "best" on the same {len(tried)} splits, in percent ± '
        "standard error (positive: the change makes it worse); ECPE in limits; mean ECPE within "
        "deciles of the predicted mean and of the predicted spread in floors. Where an ingredient "
        "is not in use anyway (the embedding on series, for one) the figures are those "
        "of another run of the same model: so much is chance.",
        [
            Table(["CRPS", *headings], _shares(runs, sets, "crps")),
            Table(["RMSE", *headings], _shares(runs, sets, "rmse")),
            Table(
                ["ECPE, x limit", *headings],
                _multiples(runs, sets, partial(runs.in_limits, metric="ecpe")),
            ),
            *(
                Table(
                    [f"deciles of the {kind}, x floor", *headings],
                    _multiples(runs, sets, partial(runs.in_floors, kind=kind)),
                )
                for kind in ("mean", "spread")
            ),
        ],
        [],
        [f"`{key}`: {ABLATION[key].title}." for key in _KEYS],
    )


def _shares(runs: Runs, sets: list[str], metric: str) -> list[list[str]]:
    lines = []
    for key in _KEYS:
        cells, shares = [], []
        for name in sets:
            gap = runs.gap(name, key, _WHOLE, "scores", metric)
            if gap is None:
                cells.append("")
                continue
            share = gap.over(runs.figure(name, _WHOLE, "scores", metric).mean)
            shares.append(share.mean)
            error = "" if share.error is None else f" ± {share.error:.1%}"
            cells.append(f"{share.mean:+.1%}{error}")
        lines.append([key, *cells, f"{median(shares):+.1%}" if shares else ""])
    return lines


def _multiples(
    runs: Runs, sets: list[str], multiple: Callable[[str, str], Figure]
) -> list[list[str]]:
    lines = []
    for key in (_WHOLE, *_KEYS):
        known = {name: multiple(name, key).mean for name in sets if key in runs.methods(name)}
        cells = [f"{known[name]:.2f}" if name in known else "" for name in sets]
        lines.append([key, *cells, f"{median(known.values()):.2f}" if known else ""])
    return lines

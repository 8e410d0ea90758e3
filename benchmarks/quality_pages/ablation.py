"""What each ingredient of "best" contributes: removed, or added, all else unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from calibrant.experiments.estimates import Estimate
from calibrant.experiments.layout import Label, Table, pivot
from calibrant.experiments.tasks import TASKS

from .requirements import Requirement
from .runs import Runs
from .studies import ABLATION

_WHOLE = "mmd-best"
_KEYS = [key for key in ABLATION if key != _WHOLE]


def ablation(runs: Runs) -> Requirement:
    """Changes of CRPS and RMSE relative to "best", paired by split; ECPE in attainable floors."""
    sets = [name for name in TASKS if any(key in runs.methods(name) for key in _KEYS)]
    keys = [key for key in _KEYS if any(key in runs.methods(name) for name in sets)]
    tried = {t for name in sets for key in keys for t in runs.values(name, key, "scores", "crps")}
    runs = runs.within(tried)
    multiples = [
        ("ECPE, x attainable", partial(runs.in_attainable_floors, metric="ecpe")),
        ("deciles of the mean, x floor", partial(runs.in_floors, kind="mean")),
        ("deciles of the spread, x floor", partial(runs.in_floors, kind="spread")),
    ]
    return Requirement(
        f"Ablation of best, {runs.protocol}",
        f'Change of CRPS and RMSE against "best" on the same {len(tried)} splits, in percent ± '
        "corrected standard error (positive: the change makes it worse); ECPE in attainable "
        "floors; mean ECPE within deciles of the predicted mean and of the predicted spread in "
        "floors. Where an ingredient is not in use anyway (such as the embedding on series), the "
        "figures are those of another run of the same model and show the size of chance.",
        [
            *(_shares(runs, sets, keys, metric) for metric in ("crps", "rmse")),
            *(_multiples(runs, sets, keys, heading, multiple) for heading, multiple in multiples),
        ],
        [],
        [f"`{key}`: {ABLATION[key].title}." for key in keys],
    )


def _shares(runs: Runs, sets: Sequence[str], keys: Sequence[str], metric: str) -> Table:
    def share(key: str, name: str) -> Estimate | None:
        gap = runs.difference(name, key, _WHOLE, "scores", metric)
        return None if gap is None else gap.over(runs.mean(name, _WHOLE, "scores", metric).mean)

    def cell(label: Label, column: str) -> str:
        (key,) = label
        if column == "median":
            known = [found.mean for name in sets if (found := share(key, name)) is not None]
            return f"{median(known):+.1%}" if known else ""
        found = share(key, column)
        if found is None:
            return ""
        error = "" if found.std_error is None else f" ± {found.std_error:.1%}"
        return f"{found.mean:+.1%}{error}"

    return pivot([metric.upper()], [(key,) for key in keys], [*sets, "median"], cell)


def _multiples(
    runs: Runs,
    sets: Sequence[str],
    keys: Sequence[str],
    heading: str,
    multiple: Callable[[str, str], Estimate],
) -> Table:
    def cell(label: Label, column: str) -> str:
        (key,) = label
        known = {name: multiple(name, key).mean for name in sets if key in runs.methods(name)}
        if column == "median":
            return f"{median(known.values()):.2f}" if known else ""
        return f"{known[column]:.2f}" if column in known else ""

    return pivot([heading], [(key,) for key in (_WHOLE, *keys)], [*sets, "median"], cell)

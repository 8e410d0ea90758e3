"""Ranking of methods on a user's own table, and a recommendation with its reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.checks import Array
from calibrant.experiments.candidates import BASELINE, fit_options
from calibrant.experiments.estimates import standard_error
from calibrant.experiments.layout import Form, Table
from calibrant.experiments.recommendation import RULE, Standing, recommend
from calibrant.experiments.store import Record

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Result of `compare`.

    Attributes
    ----------
    standings : tuple of Standing
        Best CRPS first.
    recommended : str
        Key of the recommended method.
    reason : str
    rows, folds : int
    failed : dict
        Methods that could not be run, and why.
    unfinished : dict
        Methods that the time did not suffice for, and how many of their folds are done.
    runs : DataFrame
        One row per method and fold.
    """

    standings: tuple[Standing, ...]
    recommended: str
    reason: str
    rows: int
    folds: int
    failed: dict[str, str]
    unfinished: dict[str, int]
    runs: pd.DataFrame

    @property
    def fit_options(self) -> str | None:
        """Options of ``calibrant fit`` that fit the recommended method; None if it can't."""
        return fit_options(self.recommended)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, for JSON."""
        return {
            "rows": self.rows,
            "folds": self.folds,
            "leaderboard": [asdict(standing) for standing in self.standings],
            "recommended": self.recommended,
            "reason": self.reason,
            "fit_options": self.fit_options,
            "rule": RULE,
            "failed": self.failed,
            "unfinished": self.unfinished,
        }

    def table(self, form: Form = "text") -> str:
        """One line per method, best CRPS first, and the noise floor of the ECPE."""
        headings = ("method", "CRPS", "± s.e.", "skill", "ECPE", "calibration", "RMSE", "fit s")
        lines = [
            [
                *(standing.method, f"{standing.crps:.4g}", f"{standing.crps_error:.2g}"),
                "" if standing.skill is None else f"{standing.skill:.1%}",
                *(f"{standing.ecpe:.4f}", "rejected" if standing.rejected else "ok"),
                *(f"{standing.rmse:.4g}", f"{standing.seconds:.1f}"),
            ]
            for standing in self.standings
        ]
        floor = ["noise floor", *("",) * 3, f"{self.standings[0].floor:.4f}", *("",) * 3]
        return Table(headings, [*lines, floor], right=(1, 2, 3, 4, 6, 7)).render(form)

    def to_markdown(self, command: str | None = None) -> str:
        """Table, recommendation and rule in Markdown, with the command that fits the method."""
        advice = f"**Recommended: `{self.recommended}`.** {self.reason}"
        code = f"```\n{command}\n```\n\n" if command else ""
        return f"{self.table('markdown')}\n{advice}\n\n{code}*Rule:* {RULE}\n"

    def in_words(self, command: str | None = None) -> str:
        """Table, rule and recommendation as text; the command that fits the method comes last."""
        rule = fill(f"Rule: {RULE}", 80)
        advice = fill(f"Recommended: {self.recommended}. {self.reason}", 80)
        parts = [self.table(), rule, "", advice, *(["", f"  {command}"] if command else [])]
        return "\n".join(parts) + "\n"

    def __str__(self) -> str:
        return self.in_words()

    def draw(self) -> Figure:
        """Draw CRPS, and ECPE with its noise floor, of every fold."""
        import matplotlib.pyplot as plt

        from calibrant.plots import leaderboard

        figure, (left, right) = plt.subplots(
            1, 2, figsize=(11.0, 1.6 + 0.34 * len(self.standings)), layout="constrained"
        )
        leaderboard(self.runs, value="crps", ax=left)
        leaderboard(self.runs, value="ecpe", floor=float(self.runs["floor"].mean()), ax=right)
        return figure


def rank(
    records: Mapping[str, Sequence[Record]],
    failed: dict[str, str],
    unfinished: dict[str, int] | None = None,
) -> Leaderboard:
    """Rank methods by their results on the same folds, given in the same order."""
    import pandas as pd

    standings = sorted((_standing(*item) for item in records.items()), key=lambda s: s.crps)
    naive = next((each.crps for each in standings if each.method == BASELINE), None)
    if naive is not None:
        standings = [replace(each, skill=1.0 - each.crps / naive) for each in standings]
    folds = {method: _crps(trials) for method, trials in records.items()}
    best, reason = recommend(standings, folds)
    runs = pd.DataFrame(
        [
            {"method": method, "fold": fold, "crps": record["scores"]["crps"]}
            | {"ecpe": record["scores"]["ecpe"], "floor": record["floor"]["ecpe"]}
            for method, trials in records.items()
            for fold, record in enumerate(trials)
        ]
    )
    some = next(iter(records.values()))
    return Leaderboard(
        standings=tuple(standings),
        recommended=best,
        reason=reason,
        rows=int(_rows(some).sum()),
        folds=len(some),
        failed=failed,
        unfinished=unfinished or {},
        runs=runs,
    )


def _standing(method: str, trials: Sequence[Record]) -> Standing:
    from calibrant.metrics import noise_floor
    from calibrant.metrics.calibration import pit_draws
    from calibrant.metrics.significance import pit_calibration_test

    # Over all rows: a single fold of a small table is too short to assess calibration.
    left, right = np.concatenate([np.asarray(record["pit"]) for record in trials], axis=1)
    test = pit_calibration_test(pit_draws(left, right), 0.95)
    rows = _rows(trials)

    def mean(name: str, turn: Callable[[float], float] = float) -> float:
        values = [turn(record["scores"][name]) for record in trials]
        return float(np.average(values, weights=rows))

    return Standing(
        method=method,
        ecpe=test.ecpe,
        floor=noise_floor(test.n).ecpe,
        rejected=test.reject,
        epiw=mean("epiw"),
        crps=mean("crps"),
        crps_error=standard_error(_crps(trials)) or math.nan,
        rmse=math.sqrt(mean("rmse", lambda error: error**2)),
        seconds=float(np.mean([record["seconds"]["fit"] for record in trials])),
    )


def _rows(trials: Sequence[Record]) -> Array:
    return np.array([float(record["rows"]["test"]) for record in trials])


def _crps(trials: Sequence[Record]) -> Array:
    return np.array([record["scores"]["crps"] for record in trials])

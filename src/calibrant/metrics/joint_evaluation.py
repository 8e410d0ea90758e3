"""Evaluation of several outputs: each of them, their mean, and scores of the joint forecast."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

import numpy as np

from calibrant.checks import Array, as_array, as_numbers
from calibrant.distributions import JointDistribution
from calibrant.errors import DataError
from calibrant.metrics._json import json_safe
from calibrant.metrics.evaluation_result import Evaluation
from calibrant.metrics.formatting import format_number
from calibrant.metrics.joint_scores import energy_score, variogram_score

_DRAWS = 100
_WIDTH = 80
_ROWS_AT_ONCE = 2000
_COLUMNS = ("ecpe", "coverage", "crps", "rmse", "epiw", "r2")
_UNITLESS = ("ecpe", "coverage", "r2")  # a mean of the others would mix units


@dataclass(frozen=True)
class JointScore:
    """Score of the joint forecast beside that of the same marginals drawn independently.

    Attributes
    ----------
    value, independent : float
        Means over rows, lower is better.
    difference_error : float
        Standard error of their difference, paired by row.
    """

    value: float
    independent: float
    difference_error: float

    def __str__(self) -> str:
        gain = self.independent - self.value
        errors = gain / self.difference_error if self.difference_error else 0.0
        verdict = "within noise" if abs(errors) < 2 else "better" if gain > 0 else "worse"
        return (
            f"{format_number(self.value)}, independent outputs "
            f"{format_number(self.independent)} ({verdict}, {errors:+.1f} std errors)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class JointEvaluation:
    """Evaluation of several outputs; ``print`` shows a table with one line per output.

    Attributes
    ----------
    outputs : dict of str to Evaluation
        Everything about each output.
    mean : dict of str to float
        Mean of every metric over the outputs. Those in target units mix units unless the outputs
        share one.
    energy_score, variogram_score : JointScore
        Of joint draws, every output in units of the standard deviation of its observations;
        nan where an output is constant.
    """

    outputs: Mapping[str, Evaluation]
    energy_score: JointScore
    variogram_score: JointScore

    @property
    def n(self) -> int:
        """Number of rows."""
        return next(iter(self.outputs.values())).n

    @property
    def mean(self) -> dict[str, float]:
        """Mean of every metric over the outputs."""
        names = next(iter(self.outputs.values())).metrics
        return {
            name: float(np.mean([each.metrics[name] for each in self.outputs.values()]))
            for name in names
        }

    def to_dict(self) -> dict[str, Any]:
        """Nested dict of plain Python values; what is not finite becomes None."""
        safe: dict[str, Any] = json_safe(
            {
                "n": self.n,
                "outputs": {name: each.to_dict() for name, each in self.outputs.items()},
                "mean": self.mean,
                "energy_score": asdict(self.energy_score),
                "variogram_score": asdict(self.variogram_score),
            }
        )
        return safe

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text; what is not finite becomes null."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def __str__(self) -> str:
        first = next(iter(self.outputs.values()))
        heads = {
            "ecpe": "ECPE",
            "coverage": f"{100 * first.level:.4g}% cover",
            "crps": "CRPS",
            "rmse": "RMSE",
            "epiw": "EPIW",
            "r2": "R2",
        }
        lines = [["output", *heads.values()]]
        for name, each in self.outputs.items():
            lines.append([name, *(_cell(column, each.metrics[column]) for column in _COLUMNS)])
        mean = self.mean
        cells = [_cell(name, mean[name]) if name in _UNITLESS else "" for name in _COLUMNS]
        floor = [format_number(first.floor.ecpe), *[""] * (len(_COLUMNS) - 1)]
        lines += [["mean", *cells], ["noise floor", *floor]]
        wide = max(len(line[0]) for line in lines)
        table = [
            f"{line[0]:<{wide}}" + "".join(f"{cell:>11}" for cell in line[1:]) for line in lines
        ]
        return "\n".join(
            [
                f"Evaluation of {len(self.outputs)} outputs on {self.n:,} rows",
                "",
                *(line.rstrip() for line in table),
                "",
                f"Energy score     {self.energy_score}",
                f"Variogram score  {self.variogram_score}",
                "",
                *(
                    fill(f"{name}: {each.verdict.split('. ')[0].rstrip('.')}.", _WIDTH)
                    for name, each in self.outputs.items()
                ),
            ]
        )

    __repr__ = __str__


def _cell(name: str, value: float) -> str:
    return f"{value:.1%}" if name == "coverage" else format_number(value)


def observed_outputs(dist: JointDistribution, Y: Any) -> Array:
    """Return the targets of a joint forecast, (n, m); columns of a frame are found by name."""
    if hasattr(Y, "columns"):
        missing = [name for name in dist.names if name not in list(Y.columns)]
        if missing:
            raise DataError(f"Y has no column {', '.join(map(repr, missing))}: one per output.")
        Y = Y[list(dist.names)]
    observed = as_numbers(as_array(Y), "Y", DataError)
    if observed.shape != (len(dist), len(dist.names)):
        raise DataError(
            f"Y must have shape {(len(dist), len(dist.names))}, one column for each of "
            f"{', '.join(dist.names)}, got {observed.shape}."
        )
    return observed


def joint_evaluation(
    dist: JointDistribution, observed: Array, outputs: Mapping[str, Evaluation]
) -> JointEvaluation:
    """Add the joint scores to the evaluations of the outputs."""
    spread = observed.std(axis=0)
    if not np.all(spread > 0):
        unknown = JointScore(np.nan, np.nan, np.nan)
        return JointEvaluation(outputs, unknown, unknown)
    target = observed / spread
    apart = dist.independent()
    joint: list[Array] = []
    alone: list[Array] = []
    for start in range(0, len(dist), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        for found, forecast in ((joint, dist), (alone, apart)):
            drawn = forecast[rows].sample(_DRAWS, random_state=start) / spread
            found.append(_scores(drawn, target[rows]))
    first, second = np.concatenate(joint, axis=1), np.concatenate(alone, axis=1)
    scores = [_paired(*pair) for pair in zip(first, second, strict=True)]
    return JointEvaluation(outputs, *scores)


def _scores(drawn: Array, target: Array) -> Array:
    """Energy and variogram scores of every row, (2, n)."""
    rules: tuple[Callable[[Array, Array], Array], ...] = (energy_score, variogram_score)
    return np.stack([rule(drawn, target) for rule in rules])


def _paired(joint: Array, alone: Array) -> JointScore:
    error = float(np.std(joint - alone, ddof=1) / np.sqrt(len(joint))) if len(joint) > 1 else 0.0
    return JointScore(float(joint.mean()), float(alone.mean()), error)

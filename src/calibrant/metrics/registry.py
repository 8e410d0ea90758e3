"""The registry of metrics: `evaluate`, report, back-tests and experiments read it.

A new metric is a function of ``(dist, y)`` and one entry here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from calibrant.metrics.formatting import format_number, format_p_value

if TYPE_CHECKING:
    from calibrant.metrics.evaluation_result import Evaluation
    from calibrant.metrics.group_result import GroupCalibration

Section = Literal["Calibration", "Sharpness", "Scores", "Accuracy of the mean"]


class Floor(NamedTuple):
    """What a perfect forecaster scores: expected value, 5% and 95% quantiles."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class Metric:
    """One metric of a forecast.

    Attributes
    ----------
    name : str
        Attribute of `Evaluation`, key of its dict and column of score tables; the name of the
        metric's function.
    label : str
        Row of the printed table; ``{coverage}`` and ``{groups}`` are filled in.
    section : str
        Heading of the printed table that it belongs to.
    meaning : str
        A few words for the report.
    compute : callable
        From an `Evaluation`, with everything known about each row, to the value; None where the
        metric does not apply.
    better : {"lower", "higher"} or None
        Which direction is better; None where neither is.
    floor : callable, optional
        From an `Evaluation` to what a perfect forecaster scores on as many rows.
    format : callable
        From the value to text.
    in_report : bool
        Whether the report shows it; `evaluate` prints all.
    """

    name: str
    label: str
    section: Section
    meaning: str
    compute: Callable[[Evaluation], float | None]
    better: Literal["lower", "higher"] | None = "lower"
    floor: Callable[[Evaluation], Floor] | None = None
    format: Callable[[float], str] = format_number
    in_report: bool = True


def _ecpe_floor(e: Evaluation) -> Floor:
    return Floor(e.floor.ecpe, *e.floor.ecpe_range)


def _mcpe_floor(e: Evaluation) -> Floor:
    return Floor(e.floor.mcpe, *e.floor.mcpe_range)


def _group_floor(found: GroupCalibration | None) -> Floor:
    assert found is not None  # a metric that does not apply is asked for no floor
    return Floor(found.mean_floor, *found.mean_floor_range)


_ALL = (
    Metric(
        name="ecpe",
        label="ECPE",
        section="Calibration",
        meaning="mean distance of coverage from its level",
        compute=lambda e: e.test.ecpe,
        floor=_ecpe_floor,
    ),
    Metric(
        name="mcpe",
        label="MCPE",
        section="Calibration",
        meaning="largest distance of coverage from its level",
        compute=lambda e: e.test.mcpe,
        floor=_mcpe_floor,
    ),
    Metric(
        name="ecpe_by_mean",
        label="ECPE, mean of deciles of the mean",
        section="Calibration",
        meaning="within deciles of the predicted mean",
        compute=lambda e: e.by_mean.mean_ecpe,
        floor=lambda e: _group_floor(e.by_mean),
        in_report=False,
    ),
    Metric(
        name="ecpe_by_stddev",
        label="ECPE, mean of deciles of the spread",
        section="Calibration",
        meaning="within deciles of the predicted standard deviation",
        compute=lambda e: e.by_stddev.mean_ecpe,
        floor=lambda e: _group_floor(e.by_stddev),
        in_report=False,
    ),
    Metric(
        name="ecpe_by_group",
        label="ECPE, mean of {groups} groups",
        section="Calibration",
        meaning="within the given groups",
        compute=lambda e: None if e.groups is None else e.groups.mean_ecpe,
        floor=lambda e: _group_floor(e.groups),
        in_report=False,
    ),
    Metric(
        name="quantile_calibration_error",
        label="one-sided quantile error",
        section="Calibration",
        meaning="mean distance of the share below a quantile from its level",
        compute=lambda e: e.pit_counts.quantile_error,
        floor=_ecpe_floor,  # PIT values and their distance from 0.5 have the same distribution
        in_report=False,
    ),
    Metric(
        name="coverage",
        label="coverage of {coverage} intervals",
        section="Calibration",
        meaning="share of targets inside; best at the nominal coverage",
        compute=lambda e: e.pit_counts.coverage,
        better=None,
        in_report=False,
    ),
    Metric(
        name="p_value",
        label="p-value of ECPE",
        section="Calibration",
        meaning="share of perfect forecasters that score no better",
        compute=lambda e: e.test.p_value,
        better=None,
        format=format_p_value,
    ),
    Metric(
        name="epiw",
        label="EPIW, mean interval width",
        section="Sharpness",
        meaning="mean over the levels 1% to 99%, target units",
        compute=lambda e: float(e.quantiles.widths.mean()),
    ),
    Metric(
        name="mpiw",
        label="MPIW, width of 99% intervals",
        section="Sharpness",
        meaning="mean over rows, target units",
        compute=lambda e: float(e.quantiles.widths.max()),
        in_report=False,
    ),
    Metric(
        name="crps",
        label="CRPS",
        section="Scores",
        meaning="proper score, target units",
        compute=lambda e: e.sums.crps / e.n,
    ),
    Metric(
        name="nll",
        label="NLL",
        section="Scores",
        meaning="proper score, natural logarithm",
        compute=lambda e: -e.sums.log_prob / e.n,
    ),
    Metric(
        name="pinball",
        label="pinball",
        section="Scores",
        meaning="proper score of quantiles, target units",
        compute=lambda e: e.quantiles.pinball,
        in_report=False,
    ),
    Metric(
        name="interval_score",
        label="interval score, {coverage}",
        section="Scores",
        meaning="proper score of intervals, target units",
        compute=lambda e: e.quantiles.interval_score,
        in_report=False,
    ),
    Metric(
        name="rmse",
        label="RMSE",
        section="Accuracy of the mean",
        meaning="of the mean, target units",
        compute=lambda e: math.sqrt(e.sums.squared / e.n),
    ),
    Metric(
        name="mae",
        label="MAE",
        section="Accuracy of the mean",
        meaning="of the mean, target units",
        compute=lambda e: e.sums.absolute / e.n,
    ),
    Metric(
        name="r2",
        label="R2",
        section="Accuracy of the mean",
        meaning="share of variance that the mean explains",
        compute=lambda e: 1.0 - e.sums.relative_squared_error,
        better="higher",
    ),
    Metric(
        name="smape",
        label="SMAPE, percent",
        section="Accuracy of the mean",
        meaning="for targets with a natural zero",
        compute=lambda e: 100.0 * e.sums.relative / e.n,
        in_report=False,
    ),
    Metric(
        name="rse",
        label="RSE",
        section="Accuracy of the mean",
        meaning="error relative to predicting the mean of y",
        compute=lambda e: math.sqrt(e.sums.relative_squared_error),
        in_report=False,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}

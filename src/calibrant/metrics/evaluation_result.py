"""The summary of a forecast, as text, dict, JSON, frame and Markdown."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.metrics._group_results import GroupCalibration
from calibrant.metrics._json import json_safe
from calibrant.metrics._table import Line, Section, as_markdown, as_text
from calibrant.metrics.floor import NoiseFloor
from calibrant.metrics.significance import CalibrationTest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Every metric of a forecast, beside the noise floor, with a verdict.

    Each metric is an attribute named as its function. ``print`` shows the table.

    Attributes
    ----------
    n : int
    verdict : str
        One line in words.
    ecpe, mcpe, quantile_calibration_error, coverage : float
        Calibration; `coverage` is that of central intervals of nominal coverage `level`.
    level : float
    epiw, mpiw : float
        Sharpness.
    rmse, mae, r2, smape, rse : float
        Accuracy of the mean.
    crps, nll, pinball, interval_score : float
        Proper scores; `interval_score` is that of intervals of nominal coverage `level`.
    floor : NoiseFloor
        What a perfect forecaster scores on n rows.
    test : CalibrationTest
    by_mean, by_stddev : GroupCalibration
        Calibration in deciles of the predicted mean and standard deviation.
    groups : GroupCalibration or None
        Calibration in the groups given to `evaluate`.
    """

    n: int
    verdict: str
    ecpe: float
    mcpe: float
    quantile_calibration_error: float
    coverage: float
    level: float
    epiw: float
    mpiw: float
    rmse: float
    mae: float
    r2: float
    smape: float
    rse: float
    crps: float
    nll: float
    pinball: float
    interval_score: float
    floor: NoiseFloor
    test: CalibrationTest
    by_mean: GroupCalibration
    by_stddev: GroupCalibration
    groups: GroupCalibration | None = None

    @property
    def p_value(self) -> float:
        """Share of perfect forecasters whose ECPE on n rows is at least this large."""
        return self.test.p_value

    def to_dict(self) -> dict[str, Any]:
        """Nested dict of plain Python values; what is not finite becomes None.

        Every metric under its name, `n`, `level`, `p_value`, `verdict`, and the dicts `floor`,
        `by_mean`, `by_stddev` and `groups`.
        """
        result: dict[str, Any] = {"n": self.n, "level": self.level, "verdict": self.verdict}
        for section in self._sections():
            result |= {line.key: line.value for line in section.lines if hasattr(self, line.key)}
        result |= {
            "mcpe_p_value": self.test.mcpe_p_value,
            "pit_p_value": self.test.pit_p_value,
            "floor": {
                name: getattr(self.floor, name)
                for name in ("ecpe", "mcpe", "ecpe_range", "mcpe_range")
            },
            "by_mean": self.by_mean.to_dict(),
            "by_stddev": self.by_stddev.to_dict(),
            "groups": None if self.groups is None else self.groups.to_dict(),
        }
        safe: dict[str, Any] = json_safe(result)
        return safe

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text; what is not finite becomes null."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_frame(self) -> pd.DataFrame:
        """One row a metric, indexed by its name, with the columns value and floor.

        The floor is nan where there is none. To compare forecasts, join their value columns:
        ``pandas.DataFrame({name: e.to_frame()["value"] for name, e in results.items()})``.
        """
        import pandas as pd

        lines = [line for section in self._sections() for line in section.lines]
        return pd.DataFrame(
            {
                "value": [line.value for line in lines],
                "floor": [np.nan if line.floor is None else line.floor for line in lines],
            },
            index=pd.Index([line.key for line in lines], name="metric"),
        )

    def to_markdown(self) -> str:
        """Verdict and table in Markdown."""
        return as_markdown(self.verdict, self._sections())

    def __str__(self) -> str:
        title = f"Evaluation on {self.n:,} row{'s' if self.n > 1 else ''}"
        return as_text(title, self.verdict, self._sections())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _sections(self) -> list[Section]:
        percent = f"{100 * self.level:.4g}%"
        floor = self.floor
        conditional = [
            Line("ecpe_by_mean", "ECPE, mean of deciles of the mean", *_errors(self.by_mean)),
            Line("ecpe_by_stddev", "ECPE, mean of deciles of the spread", *_errors(self.by_stddev)),
        ]
        if self.groups is not None:
            label = f"ECPE, mean of {len(self.groups)} groups"
            conditional.append(Line("ecpe_by_group", label, *_errors(self.groups)))
        return [
            Section(
                "Calibration",
                [
                    Line("ecpe", "ECPE", self.ecpe, floor.ecpe, floor.ecpe_range),
                    Line("mcpe", "MCPE", self.mcpe, floor.mcpe, floor.mcpe_range),
                    *conditional,
                    Line(
                        "quantile_calibration_error",
                        "one-sided quantile error",
                        self.quantile_calibration_error,
                    ),
                    Line("coverage", f"coverage of {percent} intervals", self.coverage),
                    Line("p_value", "p-value of ECPE", self.p_value),
                ],
            ),
            Section(
                "Sharpness",
                [
                    Line("epiw", "EPIW, mean interval width", self.epiw),
                    Line("mpiw", "MPIW, width of 99% intervals", self.mpiw),
                ],
            ),
            Section(
                "Scores",
                [
                    Line("crps", "CRPS", self.crps),
                    Line("nll", "NLL", self.nll),
                    Line("pinball", "pinball", self.pinball),
                    Line("interval_score", f"interval score, {percent}", self.interval_score),
                ],
            ),
            Section(
                "Accuracy of the mean",
                [
                    Line("rmse", "RMSE", self.rmse),
                    Line("mae", "MAE", self.mae),
                    Line("r2", "R2", self.r2),
                    Line("smape", "SMAPE, percent", self.smape),
                    Line("rse", "RSE", self.rse),
                ],
            ),
        ]


def _errors(found: GroupCalibration) -> tuple[float, float, tuple[float, float]]:
    return found.mean_ecpe, found.mean_floor, found.mean_floor_range

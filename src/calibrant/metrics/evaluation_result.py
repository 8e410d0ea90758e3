"""The result of `evaluate`, as text, dict, JSON, frame and Markdown."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.checks import Array
from calibrant.metrics._json import json_safe
from calibrant.metrics._table import Line, as_markdown, as_text
from calibrant.metrics.floor import NoiseFloor
from calibrant.metrics.formatting import format_number, format_range
from calibrant.metrics.group_result import GroupCalibration
from calibrant.metrics.pit_counts import PitCounts
from calibrant.metrics.quantile_pass import QuantileSummary
from calibrant.metrics.registry import METRICS, Floor
from calibrant.metrics.row_sums import RowSums
from calibrant.metrics.row_values import RowValues
from calibrant.metrics.significance import CalibrationTest
from calibrant.metrics.slices import Slice
from calibrant.metrics.verdict import State

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Every metric of a forecast, beside the noise floor, with a verdict.

    Each metric is an attribute named as its function: ``result.ecpe``, ``result.crps`` ...
    ``print`` shows the table.

    Attributes
    ----------
    n : int
        Number of rows.
    verdict : str
        In words: all rows together, then the worst slice of them.
    state : {"good", "mixed", "bad"}
        "bad" if intervals are clearly off over all rows, "mixed" if they are in some slice, or
        if it can't be told; "good" otherwise.
    worst : Slice or None
        The group, or decile of the prediction, where calibration is worst.
    advice : str
        What to do about it, empty if nothing is clearly off.
    metrics : dict of str to float
        Every metric by its name, in the order of `calibrant.metrics.METRICS`.
    floors : dict of str to Floor
        What a perfect forecaster scores on as many rows, for the metrics that have a floor.
    level : float
        Nominal coverage of the intervals that `coverage` and `interval_score` are about.
    floor : NoiseFloor
        ECPE and MCPE of a perfect forecaster on n rows.
    test : CalibrationTest
        Coverage at every level, with p-values.
    by_mean, by_stddev : GroupCalibration
        Calibration in deciles of the predicted mean and standard deviation.
    groups : GroupCalibration or None
        Calibration in the groups given to `evaluate`.
    pit : array of shape (n,)
        PIT value of each row; of a sample of rows where they were streamed.
    pit_counts : PitCounts
        Counts of PIT values, of which calibration errors are computed.
    sums : RowSums
        Sums of scores and errors of all rows.
    rows : RowValues
        PIT, CRPS and the other values of each row; of a sample of rows where they were streamed.
    quantiles : QuantileSummary
        Interval widths at every level, and intervals of a sample of rows.
    """

    rows: RowValues
    pit_counts: PitCounts
    sums: RowSums
    quantiles: QuantileSummary
    level: float
    floor: NoiseFloor
    test: CalibrationTest
    by_mean: GroupCalibration
    by_stddev: GroupCalibration
    groups: GroupCalibration | None
    metrics: dict[str, float] = field(default_factory=dict)
    verdict: str = ""
    state: State = "good"
    worst: Slice | None = None
    advice: str = ""

    def __getattr__(self, name: str) -> float:
        if name in METRICS and name in self.metrics:
            return self.metrics[name]
        raise AttributeError(
            f"Evaluation has no attribute {name!r}; its metrics are {', '.join(METRICS)}."
        )

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self.metrics]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sums.n

    @property
    def pit(self) -> Array:
        """PIT value of each row, (n,); of a sample of rows where they were streamed."""
        return self.rows.pit

    @property
    def floors(self) -> dict[str, Floor]:
        """What a perfect forecaster scores, for the metrics that have a floor."""
        with_floor = {name: METRICS[name].floor for name in self.metrics}
        return {name: floor(self) for name, floor in with_floor.items() if floor is not None}

    def to_dict(self) -> dict[str, Any]:
        """Nested dict of plain Python values; what is not finite becomes None.

        Every metric under its name, `n`, `level`, `verdict`, `state`, `advice`, `mcpe_p_value`,
        `pit_p_value`, and the dicts `worst`, `floor`, `by_mean`, `by_stddev` and `groups`.
        """
        floors = self.floors
        result = {
            "n": self.n,
            "level": self.level,
            "verdict": self.verdict,
            "state": self.state,
            "worst": None if self.worst is None else self.worst.to_dict(),
            "advice": self.advice,
            **self.metrics,
            "mcpe_p_value": self.test.mcpe_p_value,
            "pit_p_value": self.test.pit_p_value,
            "floor": {name: floor.expected for name, floor in floors.items()}
            | {f"{name}_range": (floor.low, floor.high) for name, floor in floors.items()},
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
        """One row per metric, indexed by its name, with the columns value and floor.

        The floor is nan where there is none. To compare forecasts, join their value columns:
        ``pandas.DataFrame({name: e.to_frame()["value"] for name, e in results.items()})``.
        """
        import pandas as pd

        floors = {name: floor.expected for name, floor in self.floors.items()}
        return pd.DataFrame(
            {
                "value": list(self.metrics.values()),
                "floor": [floors.get(name, np.nan) for name in self.metrics],
            },
            index=pd.Index(list(self.metrics), name="metric"),
        )

    def to_markdown(self) -> str:
        """Verdict and table in Markdown."""
        return as_markdown(self._said(), self._lines())

    def __str__(self) -> str:
        title = f"Evaluation on {self.n:,} row{'s' if self.n > 1 else ''}"
        return as_text(title, self._said(), self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def label(self, name: str) -> str:
        """Label of a metric in tables, such as "coverage of 90% intervals"."""
        groups = 0 if self.groups is None else len(self.groups)
        return METRICS[name].label.format(coverage=f"{100 * self.level:.4g}%", groups=groups)

    def _said(self) -> list[str]:
        return [self.verdict, self.advice] if self.advice else [self.verdict]

    def _lines(self) -> list[Line]:
        floors = self.floors
        lines = []
        for name, value in self.metrics.items():
            metric, floor = METRICS[name], floors.get(name)
            cells = [metric.section, self.label(name), metric.format(value)]
            if floor is not None:
                cells += [format_number(floor.expected), format_range(floor.low, floor.high)]
            lines.append(Line(*cells))
        return lines

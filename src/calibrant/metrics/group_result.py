"""Results of calibration within groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.metrics.floor import mean_ecpe_quantile

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GroupCalibration:
    """Calibration of each of G groups of rows.

    Attributes
    ----------
    names : tuple of G labels
    n : array of shape (G,)
        Rows in each group.
    coverage : array of shape (G,)
        Empirical coverage of the central intervals.
    level : float
        Their nominal coverage.
    ecpe : array of shape (G,)
    floor : array of shape (G,)
        Expected ECPE of a perfect forecaster on as many rows.
    below : array of shape (G,)
        Share of the targets below the predicted median.
    curves : array of shape (G, 99)
        Empirical coverage at each of `LEVELS`.
    """

    names: tuple[Any, ...]
    n: NDArray[np.intp]
    coverage: Array
    level: float
    ecpe: Array
    floor: Array
    below: Array
    curves: Array

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All groups of several results of one level, in their order."""
        columns = ("n", "coverage", "ecpe", "floor", "below", "curves")
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
        names = tuple(name for part in parts for name in part.names)
        return cls(names=names, level=parts[0].level, **arrays)

    @property
    def mean_ecpe(self) -> float:
        """Mean ECPE over groups, each counting once."""
        return float(self.ecpe.mean())

    @property
    def mean_floor(self) -> float:
        """Expected `mean_ecpe` of a perfect forecaster: the mean of the floors."""
        return float(self.floor.mean())

    @property
    def mean_floor_range(self) -> tuple[float, float]:
        """5% and 95% quantiles of the `mean_ecpe` of perfect forecasters."""
        return mean_ecpe_quantile(self.floor, 0.05), mean_ecpe_quantile(self.floor, 0.95)

    def __len__(self) -> int:
        return len(self.names)

    def to_frame(self) -> pd.DataFrame:
        """One row per group: n, coverage, ecpe and floor, indexed by name."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in ("n", "coverage", "ecpe", "floor")}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="group"))

    def to_dict(self) -> dict[str, Any]:
        """Lists of the columns of `to_frame`, the names and the means over groups."""
        columns = {
            name: getattr(self, name).tolist() for name in ("n", "coverage", "ecpe", "floor")
        }
        names = ("level", "mean_ecpe", "mean_floor", "mean_floor_range")
        return {
            "names": list(self.names),
            **columns,
            **{name: getattr(self, name) for name in names},
        }

    def __str__(self) -> str:
        width = max([5, *(len(str(name)) for name in self.names)])
        lines = [
            f"{'group':<{width}}  {'n':>8}  {self.level:>7.0%} covers  {'ECPE':>6}  {'floor':>6}"
        ]
        for name, n, share, error, floor in zip(
            self.names, self.n, self.coverage, self.ecpe, self.floor, strict=True
        ):
            lines.append(
                f"{name!s:<{width}}  {n:>8,}  {share:>14.1%}  {error:>6.4f}  {floor:>6.4f}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class WorstGroup:
    """The group whose intervals cover least.

    Attributes
    ----------
    name : label of the group
    coverage : float
        Its empirical coverage.
    n : int
        Its rows.
    band : tuple of two floats
        Range of the coverage of a calibrated group of this size with 95% confidence, adjusted
        for the number of groups that were searched (Bonferroni).
    """

    name: Any
    coverage: float
    n: int
    band: tuple[float, float]

    @property
    def outside(self) -> bool:
        """Whether its coverage is outside the band, so that chance does not explain it."""
        return not self.band[0] <= self.coverage <= self.band[1]

    def __str__(self) -> str:
        verdict = "is not explained by chance" if self.outside else "is within chance"
        return (
            f"Group {self.name!s} ({self.n:,} rows) is covered least, {self.coverage:.1%}, which "
            f"{verdict} ({self.band[0]:.1%} to {self.band[1]:.1%})."
        )

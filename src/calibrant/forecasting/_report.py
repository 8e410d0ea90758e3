"""What was found in a series, and what became of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

from calibrant.errors import DataError, DataWarning, ParameterError

Repair = Literal["report", "error"]


@dataclass(frozen=True)
class SeriesReport:
    """What a series needed before windows could be cut from it.

    Time is never shifted and no value is made up: rows are ordered, repeated stamps leave one
    row, and windows that would cross a gap, or that hold or aim at a missing value, are left out.

    Attributes
    ----------
    rows, series : int
        Rows as they came, and how many series they form.
    unsorted : int
        Rows that came before an earlier one; the rows were put in order.
    repeated : int
        Rows whose stamp came again; the last row of a stamp is kept.
    gaps : int
        Places where the next row is not one step later; no window crosses them.
    longest_gap : str
        The widest of them, in words.
    missing_target, missing_inputs : int
        Rows without a target, or without one of the covariates.

    Examples
    --------
    >>> from calibrant.forecasting import SeriesReport
    >>> print(SeriesReport(rows=100, series=1, repeated=3))
    100 rows of 1 series
    - 3 rows with the time stamp of a later one: the last one is kept.
    """

    rows: int
    series: int
    unsorted: int = 0
    repeated: int = 0
    gaps: int = 0
    longest_gap: str = ""
    missing_target: int = 0
    missing_inputs: int = 0

    @property
    def notes(self) -> list[str]:
        """One sentence about each finding."""
        found = [
            (self.unsorted, "row", "came out of order: the series was sorted by time"),
            (self.repeated, "row", "with the time stamp of a later one: the last one is kept"),
            (self.gaps, "gap", f"in time, the longest {self.longest_gap}: no window crosses one"),
            (
                self.missing_target,
                "row",
                "without a target: windows that hold or aim at one are left out",
            ),
            (self.missing_inputs, "row", "without a covariate: windows that hold one are left out"),
        ]
        return [
            f"{count:,} {what}{'' if count == 1 else 's'} {became}."
            for count, what, became in found
            if count
        ]

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows of {self.series:,} series"]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def tell(self, repair: Repair) -> None:
        """Warn of every finding or, with ``repair="error"``, refuse the series."""
        if repair not in ("report", "error"):
            raise ParameterError(f'repair must be "report" or "error", got {repair!r}.')
        if self.notes and repair == "error":
            raise DataError(
                f"The series needs repair, and repair='error' forbids it: {' '.join(self.notes)}"
            )
        for note in self.notes:
            warnings.warn(note, DataWarning, stacklevel=4)

"""What had to be repaired in a series before windows could be cut from it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

from calibrant.errors import DataError, DataWarning, ParameterError
from calibrant.persistence import savable_part

Repair = Literal["report", "error"]


@savable_part
@dataclass(frozen=True)
class SeriesReport:
    """What had to be repaired in a series before windows could be cut from it.

    Time is never shifted and no value is filled in: rows are sorted, of repeated time stamps the
    last row is kept, and windows that would cross a gap, or contain or predict a missing value,
    are left out, unless the model can use them (`bridged`).

    Attributes
    ----------
    rows, series : int
        Number of rows before the repair, and of series.
    unsorted : int
        Rows that came after a later one; the rows were sorted.
    repeated : int
        Rows whose time stamp occurs again; the last row is kept.
    gaps : int
        Rows that are not followed by one a step later; no window crosses a gap.
    longest_gap : str
        Length of the longest gap.
    missing_target, missing_inputs : int
        Rows without a target, or without one of the covariates.
    bridged : bool
        Whether windows with gaps and missing values are used, as the `GlobalNetwork` does, which
        fills its inputs and leaves missing targets out of its loss.

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
    bridged: bool = False

    @property
    def notes(self) -> list[str]:
        """One sentence per finding."""
        at_gaps, at_target, at_inputs = (
            (
                "windows read them as missing values",
                "a window's gaps are filled with earlier seasons, missing targets not learned",
                "they count as average",
            )
            if self.bridged
            else (
                "no window crosses one",
                "windows that contain or predict one are left out",
                "windows that contain one are left out",
            )
        )
        found = [
            (self.unsorted, "row", "came out of order: the series was sorted by time"),
            (self.repeated, "row", "with the time stamp of a later one: the last one is kept"),
            (self.gaps, "gap", f"in time, the longest {self.longest_gap}: {at_gaps}"),
            (self.missing_target, "row", f"without a target: {at_target}"),
            (self.missing_inputs, "row", f"without a covariate: {at_inputs}"),
        ]
        return [
            f"{count:,} {what}{'' if count == 1 else 's'} {became}."
            for count, what, became in found
            if count
        ]

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows of {self.series:,} series"]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def warn_or_raise(self, repair: Repair) -> None:
        """Warn of every finding or, with ``repair="error"``, refuse the series."""
        if repair not in ("report", "error"):
            raise ParameterError(f'repair must be "report" or "error", got {repair!r}.')
        if self.notes and repair == "error":
            raise DataError(
                f"The series needs repair, and repair='error' forbids it: {' '.join(self.notes)} "
                "Repair it, or pass repair='report'."
            )
        for note in self.notes:
            warnings.warn(note, DataWarning, stacklevel=4)

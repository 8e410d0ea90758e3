"""Slices of the rows that are clearly off, by effect size and chance together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from calibrant.checks import Array
from calibrant.metrics.formatting import p_value_text
from calibrant.metrics.group_result import GroupCalibration
from calibrant.metrics.significance import holm

LEAST_ROWS = 10  # the coverage of fewer rows says little
_MEDIAN_TOLERANCE = 0.05  # of the share of targets below the median


@dataclass(frozen=True)
class Slice:
    """A group of rows, or a decile, and how far chance explains its calibration.

    Attributes
    ----------
    source : str
        What the rows were grouped by: a column, "predicted mean", "predicted spread".
    name : label of the group
    n : int
        Its rows.
    coverage : float
        Empirical coverage of its central intervals.
    below : float
        Share of its targets below the predicted median.
    level : float
        Nominal coverage of the intervals.
    biased : bool
        Whether the share below the median is the stronger evidence, rather than the coverage.
    p_value : float
        That a calibrated slice has an error this large by chance; adjusted for all slices.
    p_alone : float
        The same for this slice alone.
    """

    source: str
    name: Any
    n: int
    coverage: float
    below: float
    level: float
    biased: bool
    p_value: float
    p_alone: float

    @property
    def is_large(self) -> bool:
        """Whether the error would matter, were it not by chance."""
        if self.biased:
            return abs(self.below - 0.5) > _MEDIAN_TOLERANCE
        return abs(self.coverage - self.level) > tolerated_error(self.level)

    @property
    def clearly_off(self) -> bool:
        """Whether its error is large and not by chance."""
        return self.is_large and self.p_value < 0.05

    def __str__(self) -> str:
        """Name the slice and what is wrong there."""
        where = f"{self.source} {self.name} ({self.n:,} rows)"
        if self.biased:
            return f"{where}: {self.below:.1%} of targets lie below the predicted median"
        return f"{where}: {100 * self.level:.4g}% intervals cover {self.coverage:.1%}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, `clearly_off` among them."""
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return shown | {"name": str(self.name), "clearly_off": self.clearly_off}


def tolerated_error(level: float) -> float:
    """Error of the coverage that matters little: 3 points, or 30% more misses than promised.

    Examples
    --------
    >>> from calibrant.metrics.slices import tolerated_error
    >>> [round(tolerated_error(level), 3) for level in (0.5, 0.9, 0.95, 0.99)]
    [0.03, 0.03, 0.015, 0.003]
    """
    return min(0.03, 0.3 * min(level, 1.0 - level))


def rank_slices(ways: Mapping[str, GroupCalibration]) -> list[Slice]:
    """All slices, the worst first.

    Every slice is tested twice: the number of covered targets and the number below the median
    are compared with the binomial distribution, and p-values are adjusted for the number of all
    tests (Holm). A slice is clearly off if its adjusted p-value is below 0.05 and its error is
    large: more than `tolerated_error` of coverage, or 5 points at the median. So many rows do not
    make an alarm of a tiny error, nor few rows of a large one. Large errors come first, by
    p-value.

    Parameters
    ----------
    ways : mapping from sources to GroupCalibration
        Slices of fewer than 10 rows are left out.
    """
    found = [
        (source, part, g)
        for source, part in ways.items()
        for g in range(len(part))
        if part.n[g] >= LEAST_ROWS and len(part) > 1
    ]
    if not found:
        return []
    n = np.array([part.n[g] for _, part, g in found])
    covered = np.array([part.coverage[g] for _, part, g in found])
    below = np.array([part.below[g] for _, part, g in found])
    level = next(iter(ways.values())).level
    tests = np.stack([_p_values(covered, n, level), _p_values(below, n, 0.5)])  # (2, slices)
    adjusted = holm(tests.ravel()).reshape(tests.shape)
    # Judge a slice by the error that is large, and of two large ones by the one that is clearer.
    errors = np.stack([np.abs(covered - level), np.abs(below - 0.5)])
    large = errors > np.array([[tolerated_error(level)], [_MEDIAN_TOLERANCE]])
    kind = np.argmin(np.where(large, 0.0, 1.0) + tests, axis=0)
    slices = [
        Slice(
            source=source,
            name=part.names[g],
            n=int(part.n[g]),
            coverage=float(part.coverage[g]),
            below=float(part.below[g]),
            level=level,
            biased=bool(kind[k]),
            p_value=float(adjusted[kind[k], k]),
            p_alone=float(tests[kind[k], k]),
        )
        for k, (source, part, g) in enumerate(found)
    ]
    return sorted(slices, key=lambda each: (not each.is_large, each.p_alone))


def differing_sources(
    ways: Mapping[str, GroupCalibration], *, coverage: float, below: float
) -> list[str]:
    """Sources with a slice that clearly differs from all rows together, which may be off as well.

    Parameters
    ----------
    ways : mapping from sources to GroupCalibration
    coverage, below : float
        Share of all targets that are covered, and of those below the median.
    """
    tests, large, sources = [], [], []
    for source, part in ways.items():
        enough = part.n >= LEAST_ROWS
        for shares, of_all, tolerance in (
            (part.coverage, coverage, tolerated_error(part.level)),
            (part.below, below, _MEDIAN_TOLERANCE),
        ):
            tests.append(_p_values(shares[enough], part.n[enough].astype(np.float64), of_all))
            large.append(np.abs(shares[enough] - of_all) > tolerance)
            sources += [source] * int(enough.sum())
    off = (holm(np.concatenate(tests)) < 0.05) & np.concatenate(large)
    return list(dict.fromkeys(source for source, each in zip(sources, off, strict=True) if each))


def worst_sentence(ranked: list[Slice], *, errors_found: bool = False) -> str:
    """Name the worst slice and say whether chance explains it; empty without slices.

    Parameters
    ----------
    ranked : list of Slice
        All slices, the worst first.
    errors_found : bool
        Whether all rows or many slices together are known to be off. A slice that is not clearly
        off by itself is then not put down to chance.
    """
    if not ranked:
        return ""
    worst, off = ranked[0], sum(each.clearly_off for each in ranked)
    if off:
        count = f"{off} of {len(ranked):,} slices {'is' if off == 1 else 'are'} clearly off"
        return f"{count}, worst {worst} ({p_value_text(worst.p_value)}, adjusted)."
    if errors_found:
        each = f"None of {len(ranked):,} slices is clearly off by itself"
        return f"{each}, worst {worst} ({p_value_text(worst.p_value)}, adjusted)."
    adjusted = f"{p_value_text(worst.p_value)} adjusted for {len(ranked):,} slices"
    if worst.is_large and worst.p_value < 0.5:
        chance = f"which may be chance ({adjusted}, {worst.p_alone:.2g} alone)"
    else:
        chance = f"which chance explains ({adjusted})"
    return f"Worst of {len(ranked):,} slices is {worst}, {chance}."


def _p_values(share: Array, n: Array, level: float) -> Array:
    """Exact two-sided p-values of shares of n rows, (G,) each."""
    count = np.round(share * n)
    tails = np.minimum(binom.cdf(count, n, level), binom.sf(count - 1, n, level))
    result: Array = np.minimum(1.0, 2.0 * tails)
    return result

"""Rows of data as tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

_STEPS_AT_ONCE = 1 << 16  # steps of windows that are scored together: bounds memory


@dataclass(frozen=True)
class SeriesWindows:
    """Windows (n, length, d) into a series, gathered when rows are asked for.

    Parameters
    ----------
    series : tensor of shape (T, d)
    ends : tensor of int of shape (n,)
        Position of the last step of each window.
    length : int
    """

    series: Tensor
    ends: Tensor
    length: int

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        """Windows of an index (...), (..., length, d)."""
        # All windows of the series, (T - length + 1, length, d): a view, not a copy.
        windows = self.series.unfold(0, self.length, 1).transpose(1, 2)
        return windows[self.ends[index] - (self.length - 1)]


class Rows(NamedTuple):
    """Scaled inputs, scaled targets and weights of rows on one device.

    All rows of a data set are (n, d), (n,) and (n,); a batch has the members in front, each
    with rows of its own: (M, b, d), (M, b) and (M, b). Rows of sequences have inputs
    (..., steps, d).
    """

    inputs: Tensor | SeriesWindows
    y: Tensor
    weight: Tensor  # of mean 1 over the data set

    @property
    def x(self) -> Tensor:
        """Inputs as one tensor; the windows of a whole data set are better taken in parts."""
        return self.inputs if isinstance(self.inputs, Tensor) else self.inputs[:]

    @property
    def flat(self) -> Tensor:
        """Inputs with one vector a row, (..., d) or (..., steps * d)."""
        return self.x.flatten(self.y.ndim)

    @property
    def steps(self) -> int:
        """Steps of a row that stands for a window, else 1."""
        return 1 if isinstance(self.inputs, Tensor) else self.inputs.length

    def take(self, index: Tensor | slice) -> Rows:
        """Return the rows of an index tensor, (b,) or (M, b), or of a slice."""
        return Rows(self.inputs[index], self.y[index], self.weight[index])

    def parts(self) -> Iterator[Rows]:
        """All rows, in order: a table whole, windows in parts of bounded memory."""
        if isinstance(self.inputs, Tensor):
            yield self
            return
        size = max(1, _STEPS_AT_ONCE // self.steps)
        for start in range(0, len(self.y), size):
            yield self.take(slice(start, start + size))

    def target_moments(self) -> tuple[float, float]:
        """Weighted mean and spread of the scaled targets; a spread of 0 counts as 1."""
        mean = float((self.weight * self.y).mean())
        return mean, float((self.weight * (self.y - mean) ** 2).mean().sqrt()) or 1.0

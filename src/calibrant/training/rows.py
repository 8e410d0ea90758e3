"""Rows of data as tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
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

    @property
    def n_rows(self) -> int:
        """Rows that a member passes over in an epoch."""
        return self.y.shape[-1]

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


class MemberRows(NamedTuple):
    """Rows of which every member sees a part of its own, such as all folds but one.

    Parts of unequal size are filled up with rows of weight 0.
    """

    rows: Rows
    positions: Tensor  # (M, n)
    weight: Tensor  # (M, n), of mean 1 over the true rows of a member, 0 where filled up

    @classmethod
    def of(cls, rows: Rows, parts: Sequence[Tensor]) -> MemberRows:
        """Give member m the rows ``parts[m]``."""
        longest = max(len(part) for part in parts)
        index = torch.stack([_filled(part, longest) for part in parts])
        there = torch.stack([torch.arange(longest, device=p.device) < len(p) for p in parts])
        weight = rows.weight[index] * there
        return cls(rows, index, weight / weight.mean(dim=1, keepdim=True))

    @property
    def n_rows(self) -> int:
        """Rows that a member passes over in an epoch."""
        return self.positions.shape[1]

    @property
    def y(self) -> Tensor:
        """Targets of the members' rows, (M, n)."""
        return self.rows.y[self.positions]

    @property
    def steps(self) -> int:
        """Steps of a row that stands for a window, else 1."""
        return self.rows.steps

    def take(self, index: Tensor) -> Rows:
        """Rows of the members' own positions, (M, b)."""
        taken = self.rows.take(self.positions.gather(1, index))
        return taken._replace(weight=self.weight.gather(1, index))

    def all(self) -> Rows:
        """All rows of every member, (M, n, ...)."""
        return self.rows.take(self.positions)._replace(weight=self.weight)


def _filled(part: Tensor, length: int) -> Tensor:
    return torch.cat([part, part[:1].expand(length - len(part))])

"""Training data as tensors: rows of all members, or of each member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from calibrant.training.batches import shuffled

# Rows that are scored at once, times the networks and steps: what these compute stays in the cache
# of a CPU, and keeps a GPU busy within bounded memory.
_SCORED_AT_ONCE = {"cpu": 1 << 12, "cuda": 1 << 21}


@dataclass(frozen=True)
class SeriesWindows:
    """Windows (n, length, d) into a series, gathered on demand.

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
        """Return the windows of an index (...), (..., length, d)."""
        # All windows of the series, (T - length + 1, length, d): a view, not a copy.
        windows = self.series.unfold(0, self.length, 1).transpose(1, 2)
        return windows[self.ends[index] - (self.length - 1)]


class Rows(NamedTuple):
    """Scaled inputs, scaled targets and weights of rows on one device.

    All rows of a data set are (n, d), (n,) and (n,). In a batch members come first, each with its
    own rows: (M, b, d), (M, b) and (M, b). Inputs of sequences are (..., steps, d).
    """

    inputs: Tensor | SeriesWindows
    y: Tensor
    weight: Tensor  # of mean 1 over the data set

    @property
    def x(self) -> Tensor:
        """Inputs as one tensor; windows of a whole data set are better taken in parts."""
        return self.inputs if isinstance(self.inputs, Tensor) else self.inputs[:]

    @property
    def flat(self) -> Tensor:
        """Inputs with one vector per row, (..., d) or (..., steps * d)."""
        return self.x.flatten(self.y.ndim)

    @property
    def steps(self) -> int:
        """Steps per row: the length of a window, or 1."""
        return 1 if isinstance(self.inputs, Tensor) else self.inputs.length

    @property
    def device(self) -> torch.device:
        """Device of the rows."""
        return self.y.device

    def batches(
        self, batch_size: int, orders: Sequence[torch.Generator]
    ) -> Iterator[tuple[Tensor, ...]]:
        """Index tensors (M, b) of the batches of one epoch, in an order for each member."""
        return ((index,) for index in shuffled(self.n_rows, batch_size, orders))

    def take(self, index: Tensor | slice) -> Rows:
        """Return the rows of an index tensor, (b,) or (M, b), or of a slice."""
        return Rows(self.inputs[index], self.y[index], self.weight[index])

    def with_inputs(self, more: NDArray[np.float64]) -> Rows:
        """Return the rows of a table with further inputs, (n, q)."""
        return self._replace(inputs=torch.cat([self.x, torch.as_tensor(more).to(self.x)], dim=1))

    @property
    def n_rows(self) -> int:
        """Number of rows that a member sees in an epoch."""
        return self.y.shape[-1]

    def parts(self, networks: int) -> Iterator[Rows]:
        """All rows in order, in parts that so many networks can score at once."""
        for part in _parts(self.n_rows, networks * self.steps, self.device):
            yield self.take(part)

    def target_moments(self) -> tuple[float, float]:
        """Weighted mean and spread of the scaled targets; a spread of 0 counts as 1.

        Targets are clipped to 10 units, so that an outlier does not set the initial outputs.
        """
        y = self.y.clamp(-10.0, 10.0)
        mean = float((self.weight * y).mean())
        return mean, float((self.weight * (y - mean) ** 2).mean().sqrt()) or 1.0


class MemberRows(NamedTuple):
    """Rows of which every member sees a different part, such as all folds but one.

    Parts of unequal size are padded with rows of weight 0. Members of a model with a shared loss
    count as one.
    """

    rows: Rows
    positions: Tensor  # (M, n)
    weight: Tensor  # (M, n), of mean 1 for each member, 0 for padding

    @classmethod
    def of(cls, rows: Rows, parts: Sequence[Tensor | NDArray[np.intp]]) -> MemberRows:
        """Give member m the rows ``parts[m]``."""
        positions = [torch.as_tensor(part, device=rows.y.device) for part in parts]
        return cls._padded(rows, positions, [rows.weight[part] for part in positions])

    @classmethod
    def join(cls, models: Sequence[Rows | MemberRows], members: int) -> MemberRows:
        """Join the rows of several models with `members` networks each."""
        parts, weights, start = [], [], 0
        for each in models:
            if not isinstance(each, MemberRows):
                each = cls.of(each, [torch.arange(each.n_rows)] * members)
            parts += list(each.positions + start)
            weights += list(each.weight)
            start += len(each.rows.y)
        rows = _concatenated(
            [each.rows if isinstance(each, MemberRows) else each for each in models]
        )
        return cls._padded(rows, parts, weights)

    @classmethod
    def _padded(cls, rows: Rows, parts: Sequence[Tensor], weights: Sequence[Tensor]) -> MemberRows:
        index = pad_sequence(list(parts), batch_first=True)
        weight = pad_sequence(list(weights), batch_first=True)
        return cls(rows, index, weight / weight.mean(dim=1, keepdim=True))

    @property
    def n_rows(self) -> int:
        """Number of rows that a member sees in an epoch."""
        return self.positions.shape[1]

    @property
    def y(self) -> Tensor:
        """Targets of the members' rows, (M, n)."""
        return self.rows.y[self.positions]

    @property
    def steps(self) -> int:
        """Steps per row: the length of a window, or 1."""
        return self.rows.steps

    @property
    def device(self) -> torch.device:
        """Device of the rows."""
        return self.positions.device

    def batches(
        self, batch_size: int, orders: Sequence[torch.Generator]
    ) -> Iterator[tuple[Tensor, ...]]:
        """Index tensors (M, b) of the batches of one epoch, in an order for each member."""
        return ((index,) for index in shuffled(self.n_rows, batch_size, orders))

    def take(self, index: Tensor) -> Rows:
        """Return the rows at positions within the parts of the members, (M, b)."""
        taken = self.rows.take(self.positions.gather(1, index))
        return taken._replace(weight=self.weight.gather(1, index))

    def parts(self, networks: int) -> Iterator[Rows]:
        """All rows of every member, in order, in parts that so many networks can score at once."""
        for part in _parts(self.n_rows, networks * self.steps, self.device):
            taken = self.rows.take(self.positions[:, part])
            yield taken._replace(weight=self.weight[:, part])


def _parts(n_rows: int, times: int, device: torch.device) -> Iterator[slice]:
    size = max(1, _SCORED_AT_ONCE.get(device.type, _SCORED_AT_ONCE["cpu"]) // times)
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def _concatenated(parts: Sequence[Rows]) -> Rows:
    y, weight = (torch.cat([getattr(part, name) for part in parts]) for name in ("y", "weight"))
    inputs = [part.inputs for part in parts]
    if not isinstance(inputs[0], SeriesWindows):
        return Rows(torch.cat([part.x for part in parts]), y, weight)
    windows = [each for each in inputs if isinstance(each, SeriesWindows)]
    starts = accumulate((len(each.series) for each in windows), initial=0)
    ends = [each.ends + start for each, start in zip(windows, starts, strict=False)]
    series = torch.cat([each.series for each in windows])
    return Rows(SeriesWindows(series, torch.cat(ends), windows[0].length), y, weight)

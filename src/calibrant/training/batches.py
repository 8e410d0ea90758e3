"""Source of the training loop's batches: rows in memory, or a stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

if TYPE_CHECKING:
    from calibrant.training.rows import Rows


class BatchSource(Protocol):
    """Training rows of M members, as batches.

    A batch is a tuple of tensors that `take` turns into rows: an index into rows that are on the
    device already, or the rows themselves. `take` runs inside the training step, where a CUDA
    graph captures it, and must not depend on values on the host.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows that a member sees in an epoch."""

    @property
    def steps(self) -> int:
        """Steps per row: the length of a window, or 1."""

    @property
    def device(self) -> torch.device:
        """Device of the rows."""

    def batches(
        self, batch_size: int, orders: Sequence[torch.Generator]
    ) -> Iterator[tuple[Tensor, ...]]:
        """Batches of one epoch, which contain each row once, in an order for each member."""

    @property
    def take(self) -> Callable[..., Rows]:
        """Function of the tensors of a batch that returns its rows, members first."""


def shuffled(n_rows: int, batch_size: int, orders: Sequence[torch.Generator]) -> Iterator[Tensor]:
    """Index tensors (M, b) of shuffled batches of nearly equal size that contain each row once."""
    if orders[0].device.type == "cuda":  # one sort is faster than a permutation per member
        keys = [torch.rand(n_rows, generator=g, device=g.device) for g in orders]
        order = torch.stack(keys).argsort(dim=1)
    else:
        order = torch.stack([torch.randperm(n_rows, generator=g, device=g.device) for g in orders])
    # Equal sizes: a last batch of three rows would count as much as one of 256.
    yield from order.chunk(max(1, math.ceil(n_rows / batch_size)), dim=1)

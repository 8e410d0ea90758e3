"""Sums and rows over the processes of a data-parallel training, with gradients.

Every process computes the loss of the global batch from its own rows and what the others send,
and training averages the gradients of the N processes. The gradient with respect to a process's
own rows is therefore N times that of the global loss, and none of it has to be communicated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, distributed
from torch.autograd.function import once_differentiable
from torch.distributed import ProcessGroup


def sum_over_processes(value: Tensor, group: ProcessGroup) -> Tensor:
    """Sum of a tensor over all processes."""
    total: Tensor = _Sum.apply(value, group)  # type: ignore[no-untyped-call]
    return total


@torch.no_grad()
def max_over_processes(value: Tensor, group: ProcessGroup) -> Tensor:
    """Largest values over all processes, without gradient."""
    largest = value.clone()
    distributed.all_reduce(largest, distributed.ReduceOp.MAX, group)
    return largest


def gather_rows(columns: Sequence[Tensor], group: ProcessGroup) -> list[Tensor]:
    """Rows of all processes, in the order of their ranks.

    Parameters
    ----------
    columns : sequence of tensors of shape (..., n, c)
        Processes may have different numbers n of rows.
    """
    packed: Tensor = _Gather.apply(torch.cat(list(columns), dim=-1), group)  # type: ignore[no-untyped-call]
    return list(packed.split([column.shape[-1] for column in columns], dim=-1))


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, group: ProcessGroup) -> Tensor:
        ctx.processes = group.size()
        total = value.clone()
        distributed.all_reduce(total, group=group)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.processes * upstream[0], None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, group: ProcessGroup) -> Tensor:
        *batches, n, width = rows.shape
        counts = [torch.zeros(1, dtype=torch.long, device=rows.device) for _ in range(group.size())]
        distributed.all_gather(counts, torch.full_like(counts[0], n), group)
        sizes = torch.cat(counts).tolist()
        padded = rows.new_zeros(*batches, max(sizes), width)
        padded[..., :n, :] = rows
        found = [torch.empty_like(padded) for _ in sizes]
        distributed.all_gather(found, padded, group)
        start = sum(sizes[: group.rank()])
        ctx.processes, ctx.own = len(sizes), slice(start, start + n)
        parts = zip(found, sizes, strict=True)
        return torch.cat([part[..., :size, :] for part, size in parts], dim=-2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.processes * upstream[0][..., ctx.own, :], None

"""Loops over chunks of rows, with bounded memory; threads are given up where they lose."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.threads import Threads, one_thread

Result = TypeVar("Result")

CPU_ELEMENTS = 1 << 16  # of one temporary: half a megabyte stays in the cache of a core
GPU_ELEMENTS = 1 << 22

# One for all loops: what one of them finds out about a busy machine holds for the others. Torch
# does not split operations on fewer elements than `smallest`.
THREADS = Threads(smallest=1 << 15)


class Chunks(NamedTuple):
    """How a loop over rows is divided into chunks."""

    name: str  # of the loop: chunks of loops with the same name cost about the same
    width: int  # elements of a temporary per row
    elements: int  # of a temporary to aim at
    fewest: int = 16  # rows of a chunk


def over_chunks(part: Callable[[slice], Result], rows: int, chunks: Chunks) -> list[Result]:
    """Results of `part` for consecutive slices of the rows."""
    size = max(chunks.fewest, chunks.elements // chunks.width)
    slices = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
    with one_thread():
        return [
            THREADS.run(
                partial(part, each), kind=chunks.name, size=(each.stop - each.start) * chunks.width
            )
            for each in slices
        ]


def sum_over_chunks(
    part: Callable[..., Tensor], columns: tuple[Tensor, ...], chunks: Chunks
) -> Tensor:
    """Sum of `part` over chunks of rows of the columns, (B, n, ...) each, with gradient.

    Chunks are computed again for the gradient, so that memory does not grow with their number.
    """
    total: Tensor = _SumOverChunks.apply(part, chunks, *columns)  # type: ignore[no-untyped-call]
    return total


class _SumOverChunks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, part: Callable[..., Tensor], chunks: Chunks, *columns: Tensor) -> Tensor:
        ctx.save_for_backward(*columns)
        ctx.part, ctx.chunks = part, chunks
        total: list[Tensor] = []

        def add(rows: slice) -> None:
            value = part(*(column[:, rows] for column in columns))
            total[:] = [total[0].add_(value)] if total else [value]

        over_chunks(add, columns[0].shape[1], chunks)
        return total[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        columns, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]

        def gradient(rows: slice) -> tuple[Tensor, ...]:
            some = [
                column[:, rows].detach().requires_grad_(need)
                for column, need in zip(columns, needed, strict=True)
            ]
            with torch.enable_grad():
                total = (ctx.part(*some) * upstream[0]).sum()
            return torch.autograd.grad(total, [each for each in some if each.requires_grad])

        chunks = ctx.chunks._replace(name=f"{ctx.chunks.name}, gradient")
        parts = over_chunks(gradient, columns[0].shape[1], chunks)
        found = iter([torch.cat(each, dim=1) for each in zip(*parts, strict=True)])
        return None, None, *(next(found) if need else None for need in needed)

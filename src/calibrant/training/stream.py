"""Training rows that are not in memory: read anew in every epoch, shuffled block by block."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from calibrant.training.batches import shuffled
from calibrant.training.rows import Rows

BLOCK_ROWS = 1 << 18
_BLOCK_CELLS = 1 << 23  # of a wide table fewer rows: 32 MiB in float32

Item = TypeVar("Item")


@dataclass(frozen=True)
class StreamedRows:
    """Rows of a stream as batches.

    An epoch is read in blocks of nearly equal size, the next one while the networks train on the
    current one. Each member shuffles a block in its own order. A stream of a single block gives
    the same batches as `Rows` in memory.

    Parameters
    ----------
    read : callable
        Reads all rows once, in parts of any size on the host, (n, d), (n,) and (n,); the generator
        chooses the order of the files.
    n_rows : int
        Number of rows that `read` gives.
    device : torch.device
        Where batches are needed.
    block_rows : int
        Largest number of rows that are shuffled with each other.
    """

    read: Callable[[np.random.Generator], Iterator[Rows]]
    n_rows: int
    device: torch.device
    block_rows: int = BLOCK_ROWS
    steps: ClassVar[int] = 1
    take: ClassVar[Callable[..., Rows]] = Rows

    def batches(
        self, batch_size: int, orders: Sequence[torch.Generator]
    ) -> Iterator[tuple[Tensor, ...]]:
        """Rows of the batches of one epoch, (M, b, d), (M, b) and (M, b)."""
        # The state of a generator changes from epoch to epoch; reading it draws no numbers.
        state = orders[0].get_state().numpy().tobytes()
        for block in prefetched(self._blocks(np.random.default_rng(zlib.crc32(state)))):
            for index in shuffled(block.n_rows, batch_size, orders):
                rows = block.take(index)
                yield rows.x, rows.y, rows.weight

    def _blocks(self, rng: np.random.Generator) -> Iterator[Rows]:
        """Blocks of all rows, in two buffers by turns: each is overwritten two blocks later."""
        # Equal sizes: a short last block would be trained in a short batch.
        size = math.ceil(self.n_rows / math.ceil(self.n_rows / self.block_rows))
        # Two buffers in turn: new blocks, allocated by one thread and freed by another, would
        # fragment the heap, which then grows with the number of blocks.
        buffers: list[list[Tensor]] = []
        filled = 0
        for part in self.read(rng):
            tensors = part.x, part.y, part.weight
            buffers = buffers or [[t.new_empty(size, *t.shape[1:]) for t in tensors] for _ in "12"]
            start = 0
            while start < part.n_rows:
                n = min(size - filled, part.n_rows - start)
                for buffer, tensor in zip(buffers[0], tensors, strict=True):
                    buffer[filled : filled + n] = tensor[start : start + n]
                start, filled = start + n, filled + n
                if filled == size:
                    yield self._on_device(buffers[0])
                    buffers, filled = buffers[::-1], 0
        if filled:
            yield self._on_device([buffer[:filled] for buffer in buffers[0]])

    def _on_device(self, tensors: Sequence[Tensor]) -> Rows:
        return Rows(*(each.to(self.device) for each in tensors))


def block_rows(n_inputs: int) -> int:
    """Number of rows of a block, fewer for wide tables."""
    return max(1024, min(BLOCK_ROWS, _BLOCK_CELLS // n_inputs))


def prefetched(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, the next one made in a thread while the current one is used."""
    with ThreadPoolExecutor(1, "calibrant-prefetch") as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item

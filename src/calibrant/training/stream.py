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

BLOCK_ROWS = 1 << 17
_BLOCK_CELLS = 1 << 23  # of a wide table fewer rows: 32 MiB in float32

Item = TypeVar("Item")


@dataclass(frozen=True)
class StreamedRows:
    """Rows of a stream as batches.

    An epoch is read in blocks of nearly equal size, the next one while the networks train on the
    current one. Each member shuffles a block in an order of its own. A stream of one block gives
    the batches that `Rows` give in memory.

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
        # From the state of a generator, which moves on from epoch to epoch, without using it up.
        state = orders[0].get_state().numpy().tobytes()
        for block in prefetched(self._blocks(np.random.default_rng(zlib.crc32(state)))):
            for index in shuffled(block.n_rows, batch_size, orders):
                rows = block.take(index)
                yield rows.x, rows.y, rows.weight

    def _blocks(self, rng: np.random.Generator) -> Iterator[Rows]:
        # Equal sizes: a short last block would be trained in a short batch.
        size = math.ceil(self.n_rows / math.ceil(self.n_rows / self.block_rows))
        parts: list[Rows] = []
        for part in self.read(rng):
            parts.append(part)
            while (excess := sum(each.n_rows for each in parts) - size) >= 0:
                last = parts.pop()
                yield self._joined([*parts, last.take(slice(last.n_rows - excess))])
                parts = [last.take(slice(last.n_rows - excess, None))] if excess else []
        if parts:
            yield self._joined(parts)

    def _joined(self, parts: Sequence[Rows]) -> Rows:
        inputs, y, weight = (torch.cat(each).to(self.device) for each in zip(*parts, strict=True))
        return Rows(inputs, y, weight)


def block_rows(n_inputs: int) -> int:
    """Rows of a block for so many inputs per row."""
    return max(1024, min(BLOCK_ROWS, _BLOCK_CELLS // n_inputs))


def prefetched(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, the next one made in a thread while the current one is used."""
    with ThreadPoolExecutor(1, "calibrant-prefetch") as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item

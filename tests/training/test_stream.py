"""Training rows that are read block by block."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from calibrant.training import Rows, StreamedRows, block_rows
from calibrant.training.stream import prefetched


def streamed(n: int, block: int, part: int = 7) -> StreamedRows:
    def read(rng: np.random.Generator) -> Iterator[Rows]:
        starts = np.arange(0, n, part)
        for start in rng.permutation(starts) if n > block else starts:
            y = torch.arange(start, min(start + part, n), dtype=torch.float32)
            yield Rows(y[:, None] * torch.ones(3), y, torch.ones(len(y)))

    return StreamedRows(read, n, torch.device("cpu"), block)


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


@pytest.mark.parametrize(("n", "block"), [(100, 33), (100, 7), (100, 10), (5, 100)])
def test_every_member_sees_every_row_once(n: int, block: int) -> None:
    epoch = list(streamed(n, block).batches(8, generators(0, 1)))
    x, y, weight = (torch.cat(each, dim=1) for each in zip(*epoch, strict=True))
    for member in y:
        assert sorted(member.tolist()) == list(range(n))
    assert x.shape == (2, n, 3)
    torch.testing.assert_close(x[..., 2], y)
    assert weight.shape == (2, n)


def test_blocks_have_nearly_equal_sizes() -> None:
    blocks = list(streamed(100, 33)._blocks(np.random.default_rng(0)))
    assert [block.n_rows for block in blocks] == [25, 25, 25, 25]
    assert block_rows(20) == 1 << 18
    assert block_rows(4000) == (1 << 23) // 4000


def test_blocks_reuse_two_buffers() -> None:
    blocks = streamed(100, 10)._blocks(np.random.default_rng(0))
    assert len({block.y.data_ptr() for block in blocks}) == 2


def test_epochs_differ_and_the_same_seed_repeats_them() -> None:
    stream = streamed(100, 33)

    def epochs() -> list[list[float]]:
        order = generators(0)
        return [torch.cat([y for _, y, _ in stream.batches(8, order)], 1)[0].tolist() for _ in "ab"]

    first, second = epochs()
    assert first != second
    assert epochs() == [first, second]


def test_one_block_gives_the_batches_of_rows_in_memory() -> None:
    y = torch.arange(60.0)
    rows = Rows(y[:, None] * torch.ones(3), y, torch.ones(60))
    orders, others = generators(3, 4), generators(3, 4)
    for _ in range(2):  # two epochs: the state of the generators stays the same as well
        pairs = zip(rows.batches(8, orders), streamed(60, 100).batches(8, others), strict=True)
        for (index,), batch in pairs:
            taken, streamed_rows = rows.take(index), Rows(*batch)
            assert torch.equal(taken.x, streamed_rows.x)
            assert torch.equal(taken.y, streamed_rows.y)


def test_the_next_item_is_made_in_a_thread_and_errors_arrive() -> None:
    makers = []

    def items() -> Iterator[int]:
        for i in range(3):
            makers.append(threading.current_thread())
            yield i
        raise OSError("disk gone")

    found = prefetched(items())
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="disk gone"):
        next(found)
    assert threading.main_thread() not in makers
    assert not any(each.is_alive() for each in makers)

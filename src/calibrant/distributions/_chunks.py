"""Work on chunks of rows: small temporaries, bounded memory, several threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

CELLS = 1 << 17  # 1 MiB of float64: a handful of such temporaries fit a cache
MOST_THREADS = 8  # each has its own temporaries


def row_chunks(n_rows: int, cells_per_row: int) -> Iterator[slice]:
    """Yield slices of rows with about `CELLS` cells each."""
    step = max(1, CELLS // max(1, cells_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def over_rows(n_rows: int, cells_per_row: int, work: Callable[[slice], None]) -> None:
    """Call ``work(rows)`` for slices that cover all rows, in threads where there are several.

    NumPy and SciPy release the interpreter lock inside their loops, so threads do help. Each
    slice must write to its own rows only. OMP_NUM_THREADS limits them, as it does elsewhere.
    """
    chunks = list(row_chunks(n_rows, cells_per_row))
    threads = min(_allowed_threads(), len(chunks))
    if threads < 2:  # starting threads would take longer than a small chunk
        for rows in chunks:
            work(rows)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, chunks))  # list: an error inside a thread is raised here


def _allowed_threads() -> int:
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(MOST_THREADS, int(asked) if asked.isdigit() else os.cpu_count() or 1)

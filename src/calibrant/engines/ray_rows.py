"""Rows of a Ray dataset: which are held out, which the plan is made with, how they are encoded."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.checks import Flags
from calibrant.errors import DataError
from calibrant.estimators.scaling import Scaler, scaled_target
from calibrant.tables import TableEncoder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

HELD_OUT, GAPS = "calibrant held out", "calibrant gaps"  # columns


@dataclass(frozen=True)
class Sides:
    """Which rows are held out, and which of the others the plan is made with.

    Rows are drawn block by block, with a seed that follows from the content of the block, so that
    tasks on any machine draw the same rows without knowing of each other.

    Parameters
    ----------
    label_column : str
    seed : int
    held_out, sample : float
        Shares of the rows.
    """

    label_column: str
    seed: int
    held_out: float
    sample: float

    def of(self, block: pa.Table) -> tuple[pa.Table, Flags, Flags]:
        """Rows of a block that have a target; which are held out, and which of them are drawn."""
        import pyarrow.compute as pc
        from pandas.util import hash_pandas_object

        known = block.filter(pc.invert(self._gaps(block)))
        hashes = hash_pandas_object(known[self.label_column].to_pandas(), index=False).to_numpy()
        content = zlib.crc32(hashes.tobytes())
        draws = np.random.default_rng([self.seed, content]).random(len(hashes))
        held_out = draws < self.held_out
        return known, held_out, draws < self.held_out + (1.0 - self.held_out) * self.sample

    def draw(self, block: pa.Table) -> pa.Table:
        """Rows to plan with and rows to hold out, marked, and a row that counts the gaps."""
        import pyarrow as pa

        known, held_out, drawn = self.of(block)
        rows = _marked(known.filter(pa.array(drawn)), held_out[drawn], 0)
        n_gaps = len(block) - len(known)
        if not n_gaps:
            return rows
        first = block.filter(self._gaps(block)).slice(0, 1)  # has no target, but their number
        return pa.concat_tables([rows, _marked(first, np.zeros(1, dtype=np.bool_), n_gaps)])

    def _gaps(self, block: pa.Table) -> pa.ChunkedArray:
        """Which rows have no target."""
        import pyarrow.compute as pc

        return pc.is_null(block[self.label_column], nan_is_null=True)


def _marked(rows: pa.Table, held_out: Flags, n_gaps: int) -> pa.Table:
    import pyarrow as pa

    counts = pa.array(np.full(len(rows), n_gaps))
    return rows.append_column(HELD_OUT, pa.array(held_out)).append_column(GAPS, counts)


@dataclass(frozen=True)
class Encode:
    """From the rows of a user to scaled training rows: columns "x" and "y"."""

    sides: Sides
    encoder: TableEncoder
    inputs: Scaler
    target: Scaler

    def __call__(self, block: pa.Table) -> dict[str, Any]:
        """Scaled rows of a block, without those that are held out."""
        import pyarrow as pa

        known, held_out, _ = self.sides.of(block)
        frame: pd.DataFrame = known.filter(pa.array(~held_out)).to_pandas()
        y = frame.pop(self.sides.label_column).to_numpy(dtype=np.float64)
        if np.isinf(y).any():
            raise DataError(f"The target {self.sides.label_column!r} is infinite in some row.")
        x = self.inputs.transform(self.encoder.transform(frame))
        return {
            "x": x.astype(np.float32),
            "y": scaled_target(self.target, y).astype(np.float32),
        }

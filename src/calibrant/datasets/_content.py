"""A checksum of the content of a table, independent of its file format."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def content_digest(frame: pd.DataFrame) -> str:
    """Return the sha256 of column names, order and values of a frame, in hexadecimal.

    Numbers count as float64 and text as UTF-8, so that the digest does not depend on compression,
    line ends or separators, nor on whether 7 is written as 7.0.
    """
    from pandas.api.types import is_numeric_dtype

    digest = hashlib.sha256()

    def add(block: bytes) -> None:
        digest.update(len(block).to_bytes(8, "little"))  # so that "ab", "c" is not "a", "bc"
        digest.update(block)

    for name in frame.columns:
        add(str(name).encode())
        column = frame[name]
        if is_numeric_dtype(column.dtype):
            values = column.to_numpy(dtype="<f8", na_value=np.nan) + 0.0  # -0.0 becomes 0.0
            values[np.isnan(values)] = np.nan  # one bit pattern for all gaps
            add(b"number")
            add(values.tobytes())
        else:
            known = column.notna().to_numpy()
            texts = [str(text).encode() for text in column[known]]
            add(b"text")
            add(known.tobytes())
            add(np.array([len(text) for text in texts], dtype="<i8").tobytes())
            add(b"".join(texts))
    return digest.hexdigest()

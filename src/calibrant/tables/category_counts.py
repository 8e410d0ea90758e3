"""Categories of columns that are read part by part."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd

from calibrant.tables.categories import category_labels

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_DIFFERENT = 50_000  # values of a column with more of them are not counted


class CategoryCounts:
    """Rows of each label of the columns that may be categories, at bounded memory."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._too_many: set[str] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a record batch."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in self._too_many or not _may_be_categories(column.type):
                continue
            values, counts = column.value_counts().flatten()
            labels = category_labels(values.to_pandas())
            own = self._counts.setdefault(name, Counter())
            own.update(dict(pd.Series(counts.to_numpy()).groupby(labels.to_numpy()).sum()))
            if len(own) > _MOST_DIFFERENT:
                del self._counts[name]
                self._too_many.add(name)

    def by_column(self) -> dict[str, pd.Series[Any]]:
        """Rows by label, for every column with few enough of them."""
        return {name: pd.Series(dict(own)) for name, own in self._counts.items()}


def _may_be_categories(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_dictionary(kind)
    )

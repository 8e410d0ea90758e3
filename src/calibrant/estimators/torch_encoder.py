"""The encoding of tables as a torch module, for numbers and categories."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from calibrant.errors import DataError, DataWarning
from calibrant.tables import CodedColumn, DroppedColumn, NumericColumn, OneHotColumn, TableEncoder

_UNKNOWN = "\0"  # no category of a file


class TorchEncoder(nn.Module):
    """As `TableEncoder.transform`, from numbers and codes of categories to one matrix.

    Parameters
    ----------
    encoder : TableEncoder
        With columns of numbers and categories only, and columns that are left out.

    Attributes
    ----------
    numbers : list of str
        Names of the columns of numbers, in the order of the input.
    categories : dict of str to tuple of str
        Categories by column name; the code of a category is its position, that of an unknown one
        is the number of categories.
    """

    def __init__(self, encoder: TableEncoder) -> None:
        super().__init__()
        self.numbers: list[str] = []
        self.categories: dict[str, tuple[str, ...]] = {}
        self.flagged: list[bool] = []
        self.is_number: list[bool] = []
        medians: list[float] = []
        blocks: list[int] = []
        for each in encoder.encoders_:
            if isinstance(each, DroppedColumn):
                continue
            blocks += each.blocks
            self.is_number.append(type(each) is NumericColumn)
            if type(each) is NumericColumn:
                self.numbers.append(each.name)
                self.flagged.append(each.flags_gaps)
                medians.append(each.median)
            elif isinstance(each, OneHotColumn | CodedColumn):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DataWarning)  # of the unknown one
                    table = each.transform(pd.Series([*each.categories, _UNKNOWN], dtype=object))
                self.register_buffer(f"table{len(self.categories)}", torch.as_tensor(table))
                self.categories[each.name] = each.categories
            else:
                raise DataError(
                    f"Column {each.name!r} ({each.description}) can't be read inside the exported "
                    "model. Export with encoded=True, and call model.encoder_.transform(frame) "
                    "before the exported model."
                )
        self.order: list[int] = np.argsort(blocks, kind="stable").tolist()
        self.register_buffer("medians", torch.tensor(medians, dtype=torch.float64))

    def forward(self, numbers: Tensor, codes: Tensor | None = None) -> Tensor:
        """Encoded matrix (n, d).

        Parameters
        ----------
        numbers : tensor of shape (n, p), float64
            NaN for gaps.
        codes : tensor of shape (n, q), int64, or None for a table without categories
        """
        gaps = torch.isnan(numbers)
        filled = torch.where(gaps, self.get_buffer("medians"), numbers)
        parts, i, j = [], 0, 0
        for is_number in self.is_number:
            if is_number:
                parts.append(filled[:, i : i + 1])
                if self.flagged[i]:
                    parts.append(gaps[:, i : i + 1].to(numbers))
                i += 1
            else:
                assert codes is not None
                parts.append(self.get_buffer(f"table{j}")[codes[:, j]])
                j += 1
        return torch.cat(parts, dim=1)[:, self.order]

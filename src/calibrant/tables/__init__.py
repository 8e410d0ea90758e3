"""From the tables that users have to one float64 matrix."""

from calibrant.tables.categories import CodedColumn, OneHotColumn
from calibrant.tables.category_counts import CategoryCounts
from calibrant.tables.columns import ColumnEncoder, DroppedColumn
from calibrant.tables.conversion import as_frame, check_finite, to_local, to_numbers
from calibrant.tables.date_text import date_formats
from calibrant.tables.dates import DateColumn, DateDifference
from calibrant.tables.encoder import TableEncoder
from calibrant.tables.files import check_suffix, read_table
from calibrant.tables.gap_codes import gap_code
from calibrant.tables.kinds import as_read
from calibrant.tables.numbers import DurationColumn, NumericColumn
from calibrant.tables.parquet_files import as_url
from calibrant.tables.parts import (
    Part,
    TableSource,
    check_target,
    part_inputs,
    part_target,
    warn_of_gaps,
)
from calibrant.tables.sources import ArrowSource, ParquetSource
from calibrant.tables.targets import read_target
from calibrant.tables.texts import (
    are_few,
    gaps_in_words,
    is_categorical,
    parse_numbers,
    unreadable,
)

__all__ = [
    "ArrowSource",
    "CategoryCounts",
    "CodedColumn",
    "ColumnEncoder",
    "DateColumn",
    "DateDifference",
    "DroppedColumn",
    "DurationColumn",
    "NumericColumn",
    "OneHotColumn",
    "ParquetSource",
    "Part",
    "TableEncoder",
    "TableSource",
    "are_few",
    "as_frame",
    "as_read",
    "as_url",
    "check_finite",
    "check_suffix",
    "check_target",
    "date_formats",
    "gap_code",
    "gaps_in_words",
    "is_categorical",
    "parse_numbers",
    "part_inputs",
    "part_target",
    "read_table",
    "read_target",
    "to_local",
    "to_numbers",
    "unreadable",
    "warn_of_gaps",
]

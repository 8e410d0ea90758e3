"""From the tables that users have to one float64 matrix."""

from calibrant.tables.cleaning import as_text, clean_table, is_categorical
from calibrant.tables.columns import ColumnEncoder, DroppedColumn, NumericColumn, OneHotColumn
from calibrant.tables.conversion import as_frame, check_finite, to_local, to_numbers
from calibrant.tables.encoder import TableEncoder
from calibrant.tables.files import check_suffix, read_table

__all__ = [
    "ColumnEncoder",
    "DroppedColumn",
    "NumericColumn",
    "OneHotColumn",
    "TableEncoder",
    "as_frame",
    "as_text",
    "check_finite",
    "check_suffix",
    "clean_table",
    "is_categorical",
    "read_table",
    "to_local",
    "to_numbers",
]

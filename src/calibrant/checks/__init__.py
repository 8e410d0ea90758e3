"""Checks that several rooms share, and the array types that they return.

Folds are apart, in `calibrant.checks.folds`: they need scikit-learn, which is slow to import.
"""

from calibrant.checks.arrays import (
    Array,
    Flags,
    Index,
    as_array,
    as_numbers,
    finite_numbers,
    name_of,
    package_of,
    show,
)
from calibrant.checks.groups import group_columns
from calibrant.checks.levels import (
    check_increasing,
    check_level,
    check_levels,
    check_quantile_levels,
    percent_hint,
)
from calibrant.checks.rows import count_rows, take_rows

__all__ = [
    "Array",
    "Flags",
    "Index",
    "as_array",
    "as_numbers",
    "check_increasing",
    "check_level",
    "check_levels",
    "check_quantile_levels",
    "count_rows",
    "finite_numbers",
    "group_columns",
    "name_of",
    "package_of",
    "percent_hint",
    "show",
    "take_rows",
]

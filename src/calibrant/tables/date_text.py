"""Which format the dates in a column of text have."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pandas as pd

from calibrant.tables.texts import known_text

ISO = "ISO8601"
_DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%m/%d/%y", "%d/%m/%y", "%d.%m.%y"),
    *("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_FORMATS = (ISO, *(day + time for day, time in product(_DAYS, _TIMES)))
# A day of numbers, or one with the name of its month: worth trying the formats.
_LIKE_A_DATE = (
    r"\s*(?:\d{4}-\d{2}$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}T\d{4}"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}|[A-Za-z]{3,9} \d{1,2}, \d{4})"
)
_SAMPLE = 200


def date_formats(column: pd.Series[Any]) -> tuple[str, ...]:
    """Find the formats of a column of text that mostly holds dates; none if it does not.

    Where 3/4 could be March or April, the format that reads more cells counts, and the American
    one if both read all of them.
    """
    texts = known_text(column).dropna()
    sample = texts.drop_duplicates().iloc[:_SAMPLE]
    if sample.empty or sample.str.match(_LIKE_A_DATE).mean() < 0.9:
        return ()
    found: list[str] = []
    while len(texts) and len(found) < 3:
        # 31/12 among dates such as 12/31 is a mistake, not another format.
        swapped = {_swapped(each) for each in found}
        forms = [each for each in _FORMATS if format_of_day(each) not in swapped]
        read = {each: int(parse_dates(sample, each).notna().sum()) for each in forms}
        best = [each for each in forms if read[each] == max(read.values()) > 0]
        if not best:
            break
        chosen = best[0]
        if len(best) > 1:  # the sample can't tell days from months, perhaps all cells can
            chosen = max(best, key=lambda each: int(parse_dates(texts, each).notna().sum()))
        found.append(chosen)
        texts = texts[parse_dates(texts, chosen).isna()]
        sample = texts.drop_duplicates().iloc[:_SAMPLE]
    return tuple(found)


def format_of_day(form: str) -> str:
    """The date in a format, without the time of day."""
    return re.split(r" (?=%[HI])", form)[0]


def _swapped(form: str) -> str:
    """The same format of the day with day and month exchanged."""
    return format_of_day(form).translate(str.maketrans("dm", "md"))


def parse_dates(texts: pd.Series[Any], form: str) -> pd.Series[Any]:
    """Dates of one format, in UTC; NaT for other texts."""
    # Digits alone would be years to pandas.
    dates = texts.where(texts.str.match(r"\s*\d+\s*$").eq(False))
    return pd.to_datetime(dates, format=form, errors="coerce", utc=True)

"""Amounts as people write them: "$1,250.50", "0.3 ct", "45%", "1.250,50 EUR"."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

_SIGNS = "$€£¥₹₽₩₪₺₫฿"
_CURRENCIES = "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|MXN|NOK|NZD|PLN|SEK|USD|ZAR"
# Only currencies stand in front: "zone 3" and "key 7" are names.
_PREFIX = rf"(?:[A-Z]{{0,3}}[{_SIGNS}]|(?:{_CURRENCIES})(?=[\s\d.+-]))"
# "kg", "°C", "%", "m2", "km/h", "µg/m³", "sq. ft"
_SUFFIX = rf"(?:[^\W\d_]|[%‰°{_SIGNS}])[\w%°²³/*^·. {_SIGNS}-]{{0,11}}"
_MINUS = r"[+\-\u2212]?\s*"
_AMOUNT = re.compile(
    rf"\s*(?P<sign>{_MINUS})(?P<before>{_PREFIX})?\s*(?P<second>{_MINUS})"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)"
    rf"\s*(?P<after>{_SUFFIX})?\s*"
)
# The same where commas are decimal: thousands by points or (thin) spaces.
_COMMA_AMOUNT = re.compile(
    rf"\s*(?P<before>{_MINUS}{_PREFIX}?\s*{_MINUS})"
    r"(?P<whole>\d{1,3}(?:[.\s]\d{3})+(?!\d)|\d+)(?:,(?P<decimals>\d+))?"
    rf"(?P<after>\s*(?:{_SUFFIX})?)\s*"
)

_WITH_UNIT = re.compile(rf"\s*{_PREFIX}?\s*(?P<number>{_MINUS}[\d.,\s]*\d)\s*(?:{_SUFFIX})?\s*")


class Amount(NamedTuple):
    """A number and its unit, which is empty where none is written."""

    number: float
    unit: str


def parse_amount(text: str) -> Amount | None:
    """Read an amount with a decimal point; None if the text is something else.

    Examples
    --------
    >>> parse_amount("$1,250.50"), parse_amount("0.3 ct")
    (Amount(number=1250.5, unit='$'), Amount(number=0.3, unit='ct'))
    >>> parse_amount("zone 3") is None
    True
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    signs = (found["sign"] + found["second"]).strip()
    if len(signs) > 1:  # "--5"
        return None
    number = float(found["number"].replace(",", ""))
    parts = (found["before"] or "", " ".join((found["after"] or "").split()))
    return Amount(-number if signs in ("-", "\u2212") else number, " ".join(filter(None, parts)))


def as_number(text: str) -> float:
    """Number of an amount without unit, or with a sign of currency or percent; NaN for others."""
    found = parse_amount(text)
    plain = found is not None and (found.unit in ("", "%") or found.unit in _SIGNS)
    return found.number if found is not None and plain else np.nan


def in_unit(text: str, unit: str) -> float:
    """Number of an amount in a unit, or without any; NaN for other texts and units."""
    found = parse_amount(text)
    return np.nan if found is None or found.unit not in ("", unit) else found.number


def without_unit(text: str) -> str:
    """Digits and separators of an amount, as they are written; other texts stay.

    Examples
    --------
    >>> without_unit("1.250,50 EUR"), without_unit("zone 3")
    ('1.250,50', 'zone 3')
    """
    found = _WITH_UNIT.fullmatch(text)
    return text if found is None else found["number"]


def with_point(text: str, *, mixed: bool = False) -> str:
    """Rewrite an amount with a decimal comma as Python writes numbers; other texts stay.

    Parameters
    ----------
    text : str
    mixed : bool
        Whether points are decimal as well, where there is no comma.

    Examples
    --------
    >>> with_point("1.250,50 EUR"), with_point("0,41"), with_point("21.01.2024")
    ('1250.50 EUR', '0.41', '21.01.2024')
    """
    found = _COMMA_AMOUNT.fullmatch(text)
    if found is None or (mixed and found["decimals"] is None):
        return text
    digits = re.sub(r"[.\s]", "", found["whole"])
    decimals = "" if found["decimals"] is None else f".{found['decimals']}"
    return f"{found['before']}{digits}{decimals}{found['after']}"

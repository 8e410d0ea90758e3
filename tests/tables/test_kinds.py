from __future__ import annotations

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import DataError, DataWarning
from calibrant.persistence import pack, unpack
from calibrant.tables import (
    CodedColumn,
    DateColumn,
    DroppedColumn,
    DurationColumn,
    NumericColumn,
    OneHotColumn,
    TableEncoder,
    is_categorical,
    read_target,
)
from calibrant.tables.kinds import fit_column, row_number

N = 40
WHOLE = np.arange(N)
DAYS = pd.date_range("2023-11-05 07:00", periods=N, freq="31h")
WORDS = ["red", "green"] * (N // 2)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([1, 2]), False),
        (pd.Series([1, None], dtype="Int64"), False),
        (pd.Series([True, False]), True),
        (pd.Series(["a", "b"]), True),
        (pd.Series(["a", "b"], dtype="category"), True),
        (pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])), True),
    ],
)
def test_everything_but_numbers_is_categorical(column, expected) -> None:
    assert is_categorical(column) is expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (WHOLE / 3, NumericColumn),
        ([*(WHOLE[1:] / 3).astype(str), "n/a"], NumericColumn),
        ([*(WHOLE[2:] / 3).astype(str), "unknown", "4,3,9"], NumericColumn),
        ([f"${value:,.2f}" for value in 777.7 * WHOLE], NumericColumn),
        ([Decimal(int(value)) / 3 for value in WHOLE], NumericColumn),
        (WHOLE.astype(str), NumericColumn),  # as text, but no two alike
        ((WHOLE % 4).astype(str), OneHotColumn),  # as text, and they repeat
        (["007", "7"] * (N // 2), OneHotColumn),
        ([*["12"] * 30, *WORDS[:10]], OneHotColumn),  # a quarter is no exception
        (WORDS, OneHotColumn),
        ([True, False] * (N // 2), OneHotColumn),
        (["TRUE", "false"] * (N // 2), OneHotColumn),
        (DAYS, DateColumn),
        (DAYS.tz_localize("Europe/Berlin"), DateColumn),
        (DAYS.date, DateColumn),
        (DAYS.astype(str), DateColumn),
        ([*DAYS[1:].astype(str), "not yet"], DateColumn),
        (DAYS.strftime("%d.%m.%Y"), DateColumn),
        (DAYS.strftime("%m/%d/%Y %I:%M %p"), DateColumn),
        (DAYS.strftime("%d-%b-%Y"), DateColumn),
        (pd.period_range("2020-01", periods=N, freq="M"), DateColumn),
        (pd.period_range("2020-01", periods=N, freq="M").astype(str), DateColumn),
        (DAYS.strftime("%Y%m%dT%H%M%S"), DateColumn),
        (pd.to_timedelta(WHOLE, unit="min"), DurationColumn),
        (pd.to_timedelta(WHOLE, unit="min").astype(str), DurationColumn),
        ([datetime.time(int(value) % 24, 30) for value in WHOLE], DurationColumn),
        ([f"{value % 7}" for value in WHOLE], OneHotColumn),
        ([f"{1000 * (1 + value % 7):,}" for value in WHOLE], NumericColumn),
        ([f"${1 + value % 7}" for value in WHOLE], NumericColumn),
        ([f"{value / 3:.2f} kg" for value in WHOLE], NumericColumn),
        ([f"zone {value % 7}" for value in WHOLE], OneHotColumn),
        ([f"{value % 7:03d} A" for value in WHOLE], OneHotColumn),  # a padded code
        ([f"{value % 9} {unit}" for value in WHOLE for unit in ("kg", "g")], OneHotColumn),
        ([f"{10_000 + value}X" for value in WHOLE], DroppedColumn),  # counts the rows
        ([f"{value % 24}.30.00" for value in WHOLE], DurationColumn),
        ([f"key {value}" for value in WHOLE], DroppedColumn),
        ([None] * N, DroppedColumn),
        ([f"1.{value}.{value % 7}" for value in WHOLE], DroppedColumn),  # versions are no dates
    ],
)
def test_what_a_column_is(values, kind) -> None:
    assert type(fit_column(pd.Series(values, name="column"))) is kind


def test_spaces_around_a_category_do_not_count() -> None:
    encoder = fit_column(pd.Series(["red", "red ", " green"] * 9, name="colour"))
    assert encoder.categories == ("green", "red")
    assert encoder.transform(pd.Series(["green  "])).tolist() == [[1.0, 0.0]]


def test_gaps_and_new_categories_are_told_apart() -> None:
    encoder = fit_column(pd.Series(WORDS, name="colour"))
    with pytest.warns(DataWarning) as caught:
        matrix = encoder.transform(pd.Series(["red", None, "blue"]))
    assert [str(each.message) for each in caught] == [
        "Column 'colour' has gaps, which the training data did not have. They count as no "
        "category.",
        "Column 'colour' has categories that were not in the training data: 'blue'. They count as "
        "none of the known ones.",
    ]
    assert matrix.tolist() == [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_stray_cells_are_named() -> None:
    values = [*(WHOLE[3:] / 3).astype(str), "n/a", "unknown", "n/a"]
    encoder = fit_column(pd.Series(values, name="income"))
    assert encoder.note == ("3 cells are not numbers and count as gaps: 'n/a' (2 times), 'unknown'")
    assert encoder.description == f"gaps filled with the median, flagged; {encoder.note}"


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("{:.2f} ct", "ct"),
        ("{:.2f}kg", "kg"),
        ("${:,.2f}", "$"),
        ("-$ {:,.2f}", "$"),
        ("EUR {:.2f}", "EUR"),
        ("{:.1f} %", "%"),
        ("{:.1f}°C", "°C"),
        ("{:.1f} µg/m³", "µg/m³"),
        ("{:.0f} sq ft ", "sq ft"),
        ("{:.2e} l/100 km", "l/100 km"),
    ],
)
def test_numbers_with_a_unit(written, unit) -> None:
    values = 1000 * WHOLE / 7
    cells = [written.format(value) for value in values]
    encoder = fit_column(pd.Series([*cells[2:], "4.5", "n/a"], name="size"))
    assert encoder.unit == unit
    assert encoder.description.startswith(f"numbers in {unit}; gaps filled with the median")
    sign = -1 if written[0] == "-" else 1
    found = encoder.transform(pd.Series([*cells, "7", "5 parsecs"]))[:, 0]
    np.testing.assert_allclose(found[:-2], sign * values, rtol=0.01, atol=0.5)
    assert found[-2:].tolist() == [7.0, encoder.median]  # no unit, and another one


@pytest.mark.parametrize(("written", "unit"), [("{:.2f}", ""), ("{:.2f} kg", "kg")])
def test_decimal_commas_of_a_frame(written, unit) -> None:
    """As `pd.read_csv(..., sep=";")` leaves them; a new row may be ambiguous by itself."""
    values = 1.25 + WHOLE / 7
    cells = pd.Series([written.format(value).replace(".", ",") for value in values], name="size")
    encoder = fit_column(cells)
    assert encoder.description == " in ".join(filter(None, ["numbers with decimal commas", unit]))
    np.testing.assert_allclose(encoder.transform(cells)[:, 0], values, atol=0.005)
    assert encoder.transform(pd.Series(["1,250"])).tolist() == [[1.25]]
    assert encoder.transform(pd.Series([1.25])).tolist() == [[1.25]]
    assert unpack(json.loads(json.dumps(pack(encoder, {}, "size"))), {}) == encoder


def test_thousands_are_no_decimals() -> None:
    cells = pd.Series([f"{1000 + 37 * value:,}" for value in WHOLE], name="size")
    cells[7] = "12,5"  # a typing error
    encoder = fit_column(cells)
    assert not encoder.decimal_comma
    assert encoder.transform(cells)[0, 0] == 1000.0


def test_several_units_are_named() -> None:
    half = pd.Series(WHOLE % 2 == 0)
    amounts = pd.Series(WHOLE / 3 + 1).map("{:.2f}".format)
    prices = ("$" + amounts).where(half, "€" + amounts).rename("price")
    encoder = fit_column(prices)
    assert encoder.note == "amounts in '$' and '€' are taken as one unit"
    assert encoder.description == encoder.note
    weights = (amounts + " kg").where(half, amounts + " g").rename("weight")
    assert fit_column(weights).note.endswith(
        "look like an identifier; if they are amounts in 'kg' and 'g', convert them to one unit"
    )
    with pytest.warns(DataWarning, match=r"price: numbers in '\$' and '€', taken as one unit"):
        read_target(prices)
    for written in ("{:.0f}%", "{:x}z", "{} rooms"):
        plain = pd.Series([written.format(value) for value in WHOLE])
        assert "amounts" not in fit_column(plain).note


def test_another_unit_is_a_gap_or_an_error() -> None:
    kilograms = pd.Series([f"{value / 3:.3f} kg" for value in WHOLE], name="weight")
    encoder = fit_column(pd.concat([kilograms, pd.Series(["450 g"])], ignore_index=True))
    assert encoder.note == "one cell is not a number in kg and counts as a gap: '450 g'"
    assert unpack(json.loads(json.dumps(pack(encoder, {}, "weight"))), {}) == encoder
    numbers = pd.Series(WHOLE / 3)
    np.testing.assert_array_equal(encoder.transform(numbers)[:, 0], numbers)
    with pytest.raises(DataError, match=r"must hold numbers in kg, but row 1 has '0\.000 g'"):
        encoder.transform(kilograms.str.replace("kg", "g").rename("weight"))


@pytest.mark.parametrize(
    ("name", "values", "left_out"),
    [
        ("n", WHOLE, True),
        ("n", WHOLE[::-1] + 1000, True),
        ("n", WHOLE * 2, False),
        ("n", np.random.default_rng(0).permutation(1000)[:500], True),  # half of a file
        ("n", np.random.default_rng(0).permutation(100_000)[:500], False),
        ("n", np.random.default_rng(0).integers(0, 500, 500), False),  # they repeat
        ("day", np.random.default_rng(0).permutation(500), False),
        ("n", WHOLE.astype(float), False),  # a way to keep it
        ("n", np.where(WHOLE == 7, np.nan, WHOLE), True),  # a broken line
        ("n", pd.Series(np.where(WHOLE == 7, np.nan, WHOLE), dtype="Float64"), False),
        ("n", np.where(WHOLE % 7 == 0, np.nan, WHOLE), False),
        ("n", [*WHOLE[1:], "total"], True),
        ("n", np.where(WHOLE == 7, np.nan, WHOLE / 2), False),
        ("row", np.where(WHOLE == 7, np.nan, WHOLE * 7), True),
        ("n", np.roll(WHOLE, 1), False),
        ("year", WHOLE + 1980, False),
        ("t", WHOLE, False),
        ("id", np.roll(WHOLE, 1), True),
        ("customer_id", WHOLE * 7, True),
        ("PassengerId", WHOLE * 7, True),
        ("rowNumber", WHOLE[::-1], True),
        ("humid", np.roll(WHOLE, 1), False),
        ("width", WHOLE * 7, False),
        ("index", WHOLE * 7, True),
        ("price_index", WHOLE * 7, False),
    ],
)
def test_row_numbers(name, values, left_out) -> None:
    found = row_number(pd.Series(values, name=name))
    assert (found is not None) == left_out


def test_identifiers_and_row_numbers_are_left_out() -> None:
    frame = pd.DataFrame(
        {
            "Unnamed: 0": WHOLE,
            "key": [f"k{i}" for i in range(N)],
            "when": DAYS,
            "number": WHOLE,
            "size": WHOLE / 3,
        }
    )
    encoder = TableEncoder().fit(frame)
    assert encoder.left_out == ["Unnamed: 0", "key", "number"]
    assert encoder.row_names == ["key", "number"]
    assert encoder.surprises == [
        "Unnamed: 0: left out, a column without a name is taken for row numbers",
        "key: left out, 40 different texts in 40 rows look like an identifier",
        "number: left out, whole numbers in steps of one are taken for row numbers",
    ]


def test_a_lone_column_that_counts_is_an_input() -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"x": WHOLE}))
    assert encoder.left_out == []


def test_identifiers_that_repeat_are_categories() -> None:
    zones = pd.Series(WHOLE % 5 + 100, name="LocationID")
    assert fit_column(zones).categories == ("100", "101", "102", "103", "104")
    assert type(fit_column(zones.rename("distance"))) is NumericColumn
    assert type(fit_column(zones.rename("price_index"))) is NumericColumn


@pytest.mark.parametrize("rows", [100, 5000])
def test_limits_of_what_counts_as_an_identifier(rows) -> None:
    at_limit = pd.Series([f"c{i % (rows // 2)}" for i in range(rows)], name="code")
    beyond = pd.Series([f"c{i % (rows // 2 + 1)}" for i in range(rows)], name="code")
    assert type(fit_column(at_limit)) is (OneHotColumn if rows == 100 else CodedColumn)
    assert type(fit_column(beyond)) is DroppedColumn

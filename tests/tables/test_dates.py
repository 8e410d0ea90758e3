from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import DataError, DataWarning
from calibrant.tables import DateColumn, TableEncoder, date_formats

STAMPS = pd.Series(pd.date_range("2022-01-31 05:00", periods=200, freq="101h"), name="when")


def encoded(column: pd.Series) -> np.ndarray:
    return DateColumn.fit("when", column, date_formats(column)).transform(column)


def test_age_year_and_cycles() -> None:
    encoder = DateColumn.fit("when", STAMPS)
    assert encoder.parts == ("year", "month", "weekday", "hour")
    matrix = encoder.transform(pd.Series(pd.to_datetime(["2022-02-01 11:00", "2023-07-02 00:00"])))
    angle = 2 * np.pi * np.array([1 / 7, 6 / 7])  # a Tuesday, a Sunday
    np.testing.assert_allclose(matrix[:, 0], [1.25, 516 + 19 / 24])
    np.testing.assert_array_equal(matrix[:, 1], [2022, 2023])
    np.testing.assert_allclose(matrix[:, 4:6], np.column_stack([np.sin(angle), np.cos(angle)]))
    np.testing.assert_allclose(matrix[1, 6:8], [0.0, 1.0])  # midnight
    year = 2 * np.pi * 182 / 365.2425
    np.testing.assert_allclose(matrix[1, 2:4], [np.sin(year), np.cos(year)])


def test_december_is_near_january() -> None:
    ends = pd.Series(pd.to_datetime(["2022-12-31", "2023-01-01", "2022-07-01"]))
    december, january, july = DateColumn.fit("when", STAMPS).transform(ends)[:, 2:4]
    assert np.linalg.norm(december - january) < 0.03
    assert np.linalg.norm(december - july) > 1.9


def test_cycles_that_training_does_not_complete_are_left_to_the_age() -> None:
    def parts(periods: int, freq: str) -> tuple[str, ...]:
        column = pd.Series(pd.date_range("2023-12-30 05:00", periods=periods, freq=freq))
        return DateColumn.fit("when", column).parts

    assert parts(40, "1D") == ("year", "weekday")
    assert parts(40, "1h") == ("hour",)
    assert parts(20, "1min") == ()
    assert parts(500, "1D") == ("year", "month", "weekday")


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M:%S",
        "%Y/%m/%d %H:%M",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y %I:%M %p",
        "%d/%m/%Y %H:%M",
        "%d-%b-%Y %H:%M:%S",
        "%B %d, %Y %H:%M",
        "%Y%m%dT%H%M%S",
    ],
)
def test_text_is_read_as_the_dates_it_was_written_from(form) -> None:
    np.testing.assert_allclose(encoded(STAMPS.dt.strftime(form)), encoded(STAMPS))


def test_one_format_for_all_rows_and_for_new_ones() -> None:
    """3/4 in a new file is read as in the training file, where another cell tells the format."""
    encoder = DateColumn.fit("when", column := STAMPS.dt.strftime("%d/%m/%Y"), date_formats(column))
    (row,) = encoder.transform(pd.Series(["03/04/2023"]))
    assert row[0] == (pd.Timestamp("2023-04-03") - pd.Timestamp("2022-01-31")).days


def test_the_description_says_which_number_is_the_month() -> None:
    column = STAMPS.dt.strftime("%m/%d/%Y %I:%M %p")
    encoder = DateColumn.fit("when", column, date_formats(column))
    assert encoder.description == "date as %m/%d/%Y: age, year, month, weekday, hour"
    assert DateColumn.fit("when", STAMPS).description.startswith("date: age")


def test_a_swapped_day_is_a_mistake() -> None:
    column = STAMPS.dt.strftime("%m/%d/%Y")
    column[5] = "31/12/2022"
    formats = date_formats(column)
    assert formats == ("%m/%d/%Y",)
    assert DateColumn.fit("when", column, formats).note.endswith("counts as a gap: '31/12/2022'")


def test_several_formats_in_one_column() -> None:
    mixed = STAMPS.dt.strftime("%Y-%m-%d %H:%M")
    mixed[::2] = STAMPS[::2].dt.strftime("%d.%m.%Y %H:%M")
    np.testing.assert_allclose(encoded(mixed), encoded(STAMPS))


@pytest.mark.parametrize(
    "texts", [["red", "blue"], ["1", "2"], ["2020", "2021"], ["10:30", "9:15"]]
)
def test_other_text_is_no_date(texts) -> None:
    assert date_formats(pd.Series(texts)) == ()


def test_gaps_are_in_the_middle_and_flagged() -> None:
    column = STAMPS.mask(STAMPS.index % 10 == 0)
    encoder = DateColumn.fit("when", column)
    assert encoder.flags_gaps
    (gap,) = encoder.transform(pd.Series([pd.NaT]))
    assert gap[0] == encoder.median
    assert gap[-1] == 1.0
    np.testing.assert_array_equal(gap[2:-1], 0.0)
    assert encoder.transform(column)[1, -1] == 0.0


@pytest.mark.parametrize("gap", [[None], [np.nan], [pd.NaT], ["n/a"], [""]])
def test_gaps_of_new_rows_are_filled(gap) -> None:
    encoder = DateColumn.fit("when", STAMPS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrix = encoder.transform(pd.Series(gap))
    assert matrix[0, 0] == encoder.median


def test_cells_of_new_rows_that_are_no_dates() -> None:
    encoder = DateColumn.fit("when", STAMPS)
    texts = [*STAMPS[:30].astype(str), "tomorrow"]
    with pytest.warns(DataWarning, match="'when': one cell is not a date .*: 'tomorrow'"):
        encoder.transform(pd.Series(texts, name="when"))
    with pytest.raises(DataError, match="'when' of X must hold dates, but row 2 has 'tomorrow'"):
        encoder.transform(pd.Series(["2023-01-01", "tomorrow"], name="when"))


def test_the_hour_is_the_one_of_the_time_zone() -> None:
    berlin = STAMPS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    encoder = DateColumn.fit("when", berlin)
    assert encoder.zone == "Europe/Berlin"
    expected = encoder.transform(berlin)
    local = DateColumn.fit("when", berlin.dt.tz_localize(None))
    np.testing.assert_allclose(expected, local.transform(berlin.dt.tz_localize(None)))
    for same in (berlin.dt.tz_convert("UTC"), berlin.astype(str)):
        np.testing.assert_allclose(encoder.transform(same), expected)


class TestDifferences:
    frame = pd.DataFrame({"start": STAMPS, "end": STAMPS + pd.to_timedelta(STAMPS.index, unit="h")})

    def test_days_between_two_columns(self) -> None:
        encoder = TableEncoder().fit(self.frame.astype(str))
        (difference,) = encoder.differences_
        assert difference.name == "end - start"
        column = encoder.transform(self.frame)[:, len(encoder.encoders_[0].blocks) * 2]
        np.testing.assert_allclose(column, STAMPS.index / 24)

    def test_gaps_become_the_median(self) -> None:
        encoder = TableEncoder().fit(self.frame)
        matrix = encoder.transform(self.frame[:1].assign(end=pd.NaT))
        assert matrix[0, -1] == encoder.differences_[0].median == pytest.approx(99.5 / 24)

    def test_time_zones_are_taken_into_account(self) -> None:
        frame = self.frame.assign(
            start=STAMPS.dt.tz_localize("UTC").dt.tz_convert("America/New_York"),
            end=STAMPS.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        )
        matrix = TableEncoder().fit(frame).transform(frame)
        np.testing.assert_allclose(matrix[:, -1], 0.0)
        naive = frame.assign(end=STAMPS)  # one of them says no time zone: clocks are compared
        assert np.isfinite(TableEncoder().fit(naive).transform(naive)).all()

    def test_of_many_date_columns_only_the_first_are_compared(self) -> None:
        frame = pd.DataFrame({f"d{i}": STAMPS for i in range(8)})
        assert len(TableEncoder().fit(frame).differences_) == 6

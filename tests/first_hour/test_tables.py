"""Tables as they come, in Python: nothing is prepared, and what matters is learned."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from tests.estimators.small_methods import small

from calibrant import HeteroscedasticRegressor, MMDRegressor, load_model
from calibrant.errors import ColumnWarning, DataWarning
from calibrant.methods import METHODS
from calibrant.metrics import crps

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.DataWarning")
FAST = {"quality": "fast", "random_state": 0}
QUICK = {"epochs": 3, "random_state": 0}


@pytest.mark.parametrize("method", METHODS)
def test_every_estimator_takes_text_dates_and_gaps(trips, method) -> None:
    X, y = trips.drop(columns="fare"), trips["fare"]
    model = small(method)(epochs=2, random_state=0).fit(X[:200], y[:200])
    assert model.encoder_.left_out == ["trip"]
    gaps = X[200:260].mask(np.random.default_rng(0).random((60, X.shape[1])) < 0.3)
    assert np.isfinite(model.predict(gaps)).all()
    assert np.isfinite(model.predict(X[:1])).all()
    assert np.isfinite(model.predict(X[:1].assign(pickup=None, zone=None, tolls=None))).all()


def test_the_table_of_columns(trips) -> None:
    model = HeteroscedasticRegressor(**QUICK).fit(trips.drop(columns="fare"), trips["fare"])
    assert [line.rstrip() for line in model.encoder_.describe().splitlines()] == [
        "column            inputs  how it is read",
        "trip                   0  left out, whole numbers in steps of one are taken for",
        "                          row numbers",
        "pickup                 8  date: age, year, month, weekday, hour",
        "dropoff                9  date: age, year, month, weekday, hour; gaps flagged",
        "zone                  40  one-hot, 40 categories",
        "passengers             1  gaps filled with the median; 2 cells are not numbers",
        "                          and count as gaps: 'unknown', '2)b'",
        "paid by card           2  one-hot, 2 categories",
        "tolls                  2  gaps filled with the median, flagged",
        "dropoff - pickup       1  days between the two dates",
    ]


def test_a_warning_names_what_may_surprise(trips) -> None:
    with pytest.warns(ColumnWarning) as caught:
        HeteroscedasticRegressor(**QUICK).fit(trips.drop(columns="fare"), trips["fare"])
    bound, message = sorted({str(each.message) for each in caught})
    assert "fare is never negative" in bound
    assert message == (
        "trip: left out, whole numbers in steps of one are taken for row numbers. passengers: "
        "2 cells are not numbers and count as gaps: 'unknown', '2)b'. model.encoder_.describe() "
        "says what was done to every column."
    )


def test_an_ordinary_table_warns_of_nothing() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(["x", "y"], 40)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HeteroscedasticRegressor(**QUICK).fit(X, X["a"]).predict(X)


def test_a_saved_model_restores_the_encoder(trips, tmp_path) -> None:
    X, y = trips.drop(columns="fare"), trips["fare"]
    model = HeteroscedasticRegressor(**QUICK).fit(X, y)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.encoder_.describe() == model.encoder_.describe()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_report_shows_how_columns_are_read(trips) -> None:
    X, y = trips.drop(columns="fare"), trips["fare"]
    model = HeteroscedasticRegressor(**QUICK).fit(X[:300], y[:300])
    page = model.report(X[300:], y[300:]).html
    assert "<dt>column dropoff - pickup</dt><dd>days between the two dates</dd>" in page


def test_pandas_polars_and_arrow_agree(trips) -> None:
    X, y = trips.drop(columns="fare"), trips["fare"]
    X = X.assign(pickup=pd.to_datetime(X["pickup"]), dropoff=pd.to_datetime(X["dropoff"]))
    reference = HeteroscedasticRegressor(**QUICK).fit(X, y).predict(X)
    for table, target in (
        (pl.from_pandas(X), pl.from_pandas(y)),
        (pa.Table.from_pandas(X), pa.array(y)),
        (X.convert_dtypes(dtype_backend="pyarrow"), y),
    ):
        model = HeteroscedasticRegressor(**QUICK).fit(table, target)
        np.testing.assert_array_equal(model.predict(table), reference)


def test_sparse_matrices() -> None:
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.3)
    reference = HeteroscedasticRegressor(**QUICK).fit(dense, dense[:, 0]).predict(dense)
    for X in (sparse.csr_matrix(dense), sparse.csc_array(dense), sparse.coo_array(dense)):
        model = HeteroscedasticRegressor(**QUICK).fit(X, dense[:, 0])
        np.testing.assert_allclose(model.predict(X), reference, rtol=1e-9)


@pytest.mark.parametrize(
    ("levels", "as_number"),
    [
        (200, False),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((200, True), (300, False))),
    ],
)
def test_many_zones_help(levels, as_number) -> None:
    """Zones alone determine the target: the noise has a CRPS of 0.17, ignoring zones 0.59."""
    rng = np.random.default_rng(0)
    zone = rng.integers(0, levels, 3000)
    y = rng.normal(size=levels)[zone] + 0.3 * rng.normal(size=3000)
    X = pd.DataFrame({"zone_id": zone if as_number else [f"zone {z}" for z in zone]})
    model = MMDRegressor(**FAST).fit(X[:2400], y[:2400])
    assert crps(model.predict_dist(X[2400:]), y[2400:]) < 0.25
    with pytest.warns(DataWarning, match="not in the training data"):
        new = model.predict_interval(pd.DataFrame({"zone_id": [9999 if as_number else "Mars"]}))
    assert np.isfinite(new).all()


def test_the_time_between_two_dates_is_learned(trips) -> None:
    """Fares follow duration and hour, which only the two columns of text tell; noise is 0.4."""
    X, y = trips[["pickup", "dropoff"]], trips["fare"]
    model = MMDRegressor(**FAST).fit(X[:500], y[:500])
    known = X[500:].notna().all(axis=1).to_numpy()
    error = np.abs(model.predict(X[500:]) - y[500:])[known].mean()
    assert error < 0.15 * np.abs(y - y.mean()).mean()


def test_weekdays_are_learned() -> None:
    rng = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2022-01-01", periods=700))
    y = np.where(days.dt.day_of_week >= 5, 2.0, 0.0) + 0.2 * rng.normal(size=700)
    X = pd.DataFrame({"day": days.dt.strftime("%d.%m.%Y")})
    order = rng.permutation(700)
    train, test = order[:600], order[600:]
    model = MMDRegressor(**FAST).fit(X.iloc[train], y[train])
    assert model.score(X.iloc[test], y[test]) > 0.8


def test_durations_are_numbers() -> None:
    rng = np.random.default_rng(0)
    seconds = rng.uniform(0, 3600, 400)
    X = pd.DataFrame({"wait": pd.to_timedelta(seconds, unit="s")})
    model = MMDRegressor(**FAST).fit(X, seconds / 60)
    assert model.score(X, seconds / 60) > 0.95


@pytest.mark.slow
def test_a_broken_line_costs_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    income = rng.normal(size=800)
    y = np.sin(2 * income) + 0.2 * rng.normal(size=800)
    whole = pd.DataFrame({"income": income})
    broken = whole.astype(str)
    broken.loc[[7, 30], "income"] = ["4.1,,x", "n/a"]
    scores = [
        crps(MMDRegressor(**FAST).fit(X[:600], y[:600]).predict_dist(X[600:]), y[600:])
        for X in (whole, broken)
    ]
    assert scores[1] < 1.05 * scores[0]


def test_new_rows_need_no_column_that_was_left_out(trips) -> None:
    X, y = trips.drop(columns="fare"), trips["fare"]
    model = HeteroscedasticRegressor(**QUICK).fit(X, y)
    np.testing.assert_array_equal(model.predict(X.drop(columns="trip")), model.predict(X))


def test_fit_offers_the_bound_of_a_target_that_is_never_negative(trips) -> None:
    X, y = trips.drop(columns="fare"), trips["fare"]
    offer = r"fare is never negative\. bounds=\(0, None\) keeps the predictions there as well"
    with pytest.warns(ColumnWarning, match=offer):
        HeteroscedasticRegressor(**QUICK).fit(X, y)
    for model, target in (
        (HeteroscedasticRegressor(**QUICK, bounds=(0, None)), y),
        (HeteroscedasticRegressor(**QUICK), y + 1000.0),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, target)
        assert not [each for each in caught if "never negative" in str(each.message)]

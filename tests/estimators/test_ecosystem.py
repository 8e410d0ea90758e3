"""Routing of metadata, Arrow tables and what notebooks show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.preprocessing import StandardScaler

from calibrant import ConformalRecalibrator, HeteroscedasticRegressor, MMDRegressor, make_pipeline
from calibrant.metrics import crps_scorer

N = 60


def quick(**options: object) -> HeteroscedasticRegressor:
    return HeteroscedasticRegressor(hidden=(8,), epochs=2, random_state=0, **options)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"size": rng.normal(size=N), "city": rng.choice(["Ulm", "Bonn"], N)})


@pytest.fixture(scope="module")
def y(frame) -> pd.Series:
    return (frame["size"] + (frame["city"] == "Ulm")).rename("price")


# ---- metadata routing -----------------------------------------------------------------------


class Listening(HeteroscedasticRegressor):
    """Keeps what reached its `fit`."""

    def fit(self, X, y, sample_weight=None, *, groups=None):
        self.heard_ = (np.asarray(X)[:, 0], sample_weight, groups)
        return super().fit(X, y, sample_weight, groups=groups)


def test_weights_and_groups_reach_the_model_in_a_search(y) -> None:
    X = np.arange(float(N)).reshape(-1, 1)
    weight, groups = X[:, 0] + 1.0, X[:, 0] // 5
    with sklearn.config_context(enable_metadata_routing=True):
        model = Listening(hidden=(4,), epochs=1, random_state=0)
        model.set_fit_request(sample_weight=True, groups=True)
        scaler = StandardScaler(with_mean=False, with_std=False).set_fit_request(
            sample_weight=False
        )
        pipe = make_pipeline(scaler, model)
        grid = {"listening__lr": [1e-3, 1e-2]}
        search = GridSearchCV(
            pipe, grid, scoring=crps_scorer, cv=GroupKFold(2), error_score="raise"
        ).fit(X, y, sample_weight=weight, groups=groups)
        scores = cross_validate(
            pipe,
            X,
            y,
            scoring=crps_scorer,
            cv=GroupKFold(3),
            params={"sample_weight": weight, "groups": groups},
            return_estimator=True,
            error_score="raise",
        )
    for fitted in (search.best_estimator_, *scores["estimator"]):
        rows, heard_weight, heard_groups = fitted[-1].heard_
        np.testing.assert_array_equal(heard_weight, rows + 1.0)
        np.testing.assert_array_equal(heard_groups, rows // 5)


def test_metadata_that_nobody_asked_for_is_refused(frame, y) -> None:
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="sample_weight"),
    ):
        GridSearchCV(quick(), {"lr": [1e-3]}, cv=2).fit(frame, y, sample_weight=np.ones(N))


def test_tags_say_what_goes_in() -> None:
    tags = MMDRegressor().__sklearn_tags__()
    assert tags.estimator_type == "regressor"
    given = tags.input_tags
    assert given.allow_nan
    assert given.sparse
    assert given.string
    assert given.three_d_array


# ---- Arrow ----------------------------------------------------------------------------------


class Stream:
    """Nothing but the PyCapsule interface, as any library may have it."""

    def __init__(self, data: object) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.data.__arrow_c_stream__(requested_schema)


def test_any_arrow_stream_goes_in_and_an_arrow_table_comes_out(frame, y) -> None:
    expected = quick().fit(frame, y)
    table = pa.Table.from_pandas(frame)
    model = quick().fit(Stream(table), Stream(pa.chunked_array([y.to_numpy()])))
    assert list(model.feature_names_in_) == ["size", "city"]
    np.testing.assert_array_equal(model.predict(Stream(table)), expected.predict(frame))
    made = model.predict_table(Stream(table))
    assert isinstance(made, pa.Table)
    np.testing.assert_array_equal(made["mean"], expected.predict(frame))
    once = table.to_reader()  # a stream that can be read only once
    assert model.predict_table(once, container="polars").equals(pl.from_arrow(made))


def test_polars_comes_out_where_polars_went_in(frame, y) -> None:
    rows = pl.from_pandas(frame)
    model = quick().fit(rows, pl.from_pandas(y))
    made = model.predict_table(rows, coverage=[])
    assert made.columns == ["mean", "stddev"]
    np.testing.assert_array_equal(made["mean"], model.predict(rows))
    assert isinstance(model.predict_table(rows.lazy()), pl.DataFrame)
    assert isinstance(model.predict_interval(rows), np.ndarray)


def test_a_table_has_the_guaranteed_bounds_of_its_model(frame, y) -> None:
    model = quick().fit(frame[:40], y[:40])
    conformal = ConformalRecalibrator(guarantee=True).fit(model, frame[40:], y[40:])
    made = conformal.predict_table(frame, coverage=0.8, alpha=0.9)
    np.testing.assert_array_equal(
        made[["lower_80", "upper_80"]], conformal.predict_interval(frame, 0.8)
    )
    np.testing.assert_array_equal(made["quantile_90"], conformal.predict_quantiles(frame, 0.9))


def test_a_distribution_as_an_arrow_table(frame, y) -> None:
    dist = quick().fit(frame, y).predict_dist(frame)
    made = dist.to_arrow(coverage=[0.5, 0.955], alpha=[0.05])
    assert made.column_names == [
        *("mean", "stddev", "lower_50", "upper_50", "lower_95.5", "upper_95.5", "quantile_5")
    ]
    assert pl.from_arrow(made).height == N
    np.testing.assert_array_equal(made["upper_95.5"], dist.interval(0.955)[:, 1])


# ---- notebooks ------------------------------------------------------------------------------


def test_a_fitted_model_shows_what_was_trained(frame, y) -> None:
    model = MMDRegressor(
        quality="fast", hidden=(8,), epochs=1, recalibrate="common", random_state=0
    ).set_params(matching__epochs=1)
    assert "What was fitted" not in model._repr_html_()
    model.fit(frame, y.rename("<script>alert(1)</script>"))
    page = model._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in page  # scikit-learn's diagram
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "48 rows to train on" in page
    assert "map learned from 12 held-out rows; without it 90% intervals covered about" in page
    assert model._repr_html_().endswith(page[page.index("<table><caption>What was fitted") :])
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_a_model_without_a_map_says_so(frame, y, tmp_path) -> None:
    model = quick().fit(frame, y)
    assert "no map: the intervals are those of the networks" in model._repr_html_()
    model.save(tmp_path / "model")
    again = HeteroscedasticRegressor.load(tmp_path / "model")
    assert again.plan_ == model.plan_

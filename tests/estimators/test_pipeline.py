from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import pipeline
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from calibrant import (
    DistributionPipeline,
    HeteroscedasticRegressor,
    IsotonicRecalibrator,
    make_pipeline,
)
from calibrant.errors import ParameterError
from calibrant.metrics import crps_scorer, evaluate, get_scorer

QUICK = {"epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "age": rng.uniform(0, 90, n),
            "city": rng.choice(["Bonn", "Ulm", "Trier"], n),
            "note": rng.choice(["a", "b"], n),
        }
    )
    y = frame["size"] + (frame["city"] == "Ulm") + 0.1 * rng.normal(size=n)
    return frame, y.rename("price")


def columns(**options: object) -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["size", "age"]),
            ("texts", OneHotEncoder(**options), ["city"]),
        ]
    )


@pytest.fixture(scope="module")
def pipe(table) -> DistributionPipeline:
    return make_pipeline(columns(), HeteroscedasticRegressor(**QUICK)).fit(*table)


def test_it_predicts_what_the_model_at_its_end_predicts(pipe, table) -> None:
    X, y = table
    inner, model = pipe[0].transform(X), pipe[-1]
    dist = pipe.predict_dist(X)
    np.testing.assert_array_equal(dist.mean, model.predict_dist(inner).mean)
    np.testing.assert_array_equal(pipe.predict(X), dist.mean)
    np.testing.assert_array_equal(
        pipe.predict_interval(X, [0.5, 0.9]), model.predict_interval(inner, [0.5, 0.9])
    )
    np.testing.assert_array_equal(
        pipe.predict_quantiles(X, 0.2), model.predict_quantiles(inner, 0.2)
    )
    assert evaluate(dist, y).n == 120


@pytest.mark.parametrize("scorer", [crps_scorer, get_scorer("nll"), get_scorer("ecpe")])
@pytest.mark.parametrize("make", [make_pipeline, pipeline.make_pipeline])
def test_scorers_in_cross_validation(table, scorer, make) -> None:
    pipe = make(columns(), HeteroscedasticRegressor(**QUICK))
    scores = cross_val_score(pipe, *table, scoring=scorer, cv=2, error_score="raise")
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()


def test_a_plain_pipeline_is_scored_like_ours(table, pipe) -> None:
    plain = pipeline.Pipeline(pipe.steps)
    assert crps_scorer(plain, *table) == crps_scorer(pipe, *table)
    model = HeteroscedasticRegressor(**QUICK).fit(*table)
    alone = pipeline.make_pipeline(model)
    assert crps_scorer(alone, *table) == crps_scorer(model, *table)


def test_grid_search_over_parameters_of_the_steps(table) -> None:
    X, y = table
    pipe = make_pipeline(columns(), HeteroscedasticRegressor(**QUICK))
    grid = {"heteroscedasticregressor__lr": [1e-4, 1e-2], "columntransformer__texts__drop": [None]}
    search = GridSearchCV(pipe, grid, scoring=crps_scorer, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["heteroscedasticregressor__lr"] == 1e-2
    assert search.best_score_ < 0
    assert search.best_estimator_.predict_interval(X, 0.9).shape == (120, 2)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_between_the_steps(table, pipe, output) -> None:
    made = make_pipeline(columns(sparse_output=False), HeteroscedasticRegressor(**QUICK))
    made.set_output(transform=output).fit(*table)
    assert list(made[-1].feature_names_in_)[:2] == ["numbers__size", "numbers__age"]
    np.testing.assert_allclose(made.predict(table[0]), pipe.predict(table[0]), rtol=1e-6)


def test_sparse_matrices_between_the_steps(table, pipe) -> None:
    transformer = columns().set_params(sparse_threshold=1.0)
    made = make_pipeline(transformer, HeteroscedasticRegressor(**QUICK)).fit(*table)
    assert made[0].sparse_output_
    np.testing.assert_array_equal(made.predict(table[0]), pipe.predict(table[0]))


def test_text_that_passes_through(table) -> None:
    transformer = columns(sparse_output=False).set_params(remainder="passthrough")
    made = make_pipeline(transformer, HeteroscedasticRegressor(**QUICK)).fit(*table)
    assert made[-1].encoder_.categories_ == {"x5": ["a", "b"]}
    assert made.predict_dist(table[0]).mean.shape == (120,)


def test_it_is_a_pipeline_of_scikit_learn(pipe) -> None:
    again = clone(pipe)
    assert type(again) is DistributionPipeline
    assert again.get_params()["heteroscedasticregressor__epochs"] == 3
    assert "columntransformer" in repr(again)


def test_a_pipeline_can_be_recalibrated(pipe, table) -> None:
    recalibrated = IsotonicRecalibrator().fit(pipe, *table)
    assert recalibrated.predict_interval(table[0], 0.9).shape == (120, 2)
    assert "90% intervals" in pipe.report(*table).html


def test_one_step_is_enough(table) -> None:
    alone = make_pipeline(HeteroscedasticRegressor(**QUICK)).fit(*table)
    assert alone.predict_dist(table[0]).mean.shape == (120,)


def test_points_have_no_distribution(table) -> None:
    points = make_pipeline(columns(), LinearRegression()).fit(*table)
    assert not hasattr(points, "predict_dist")
    assert not hasattr(points, "predict_interval")
    with pytest.raises(
        ParameterError, match=r"with predict_dist, alone or at the end .* got Distr"
    ):
        crps_scorer(points, *table)


def test_a_table_of_predictions_keeps_the_kind_of_the_rows(pipe, table) -> None:
    X, _ = table
    rows = X.iloc[5:9]
    made = pipe.predict_table(rows, coverage=[0.5, 0.9], alpha=0.05)
    assert list(made.columns) == [
        *("mean", "stddev", "lower_50", "upper_50", "lower_90", "upper_90", "quantile_5")
    ]
    pd.testing.assert_index_equal(made.index, rows.index)
    bounds = pipe.predict_interval(rows, [0.5, 0.9])
    np.testing.assert_array_equal(made[["lower_90", "upper_90"]], bounds[:, :, 1])
    np.testing.assert_array_equal(made["quantile_5"], pipe.predict_quantiles(rows, 0.05))
    assert pipe.predict_table(rows, container="arrow").column_names[:2] == ["mean", "stddev"]
    with pytest.raises(ParameterError, match=r"one of 'pandas', 'polars', 'arrow' or None, got 'd"):
        pipe.predict_table(rows, container="dask")

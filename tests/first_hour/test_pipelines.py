"""Distributions through a pipeline of scikit-learn with a `ColumnTransformer`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from calibrant import HeteroscedasticRegressor, make_pipeline
from calibrant.metrics import crps_scorer

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.DataWarning")


def transformer() -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("tolls", StandardScaler(), ["tolls"]),
            ("zone", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["zone"]),
        ],
        remainder="passthrough",  # dates and stray cells are left to the model
        verbose_feature_names_out=False,
    )


def test_all_that_the_model_predicts_comes_out_of_the_pipeline(trips) -> None:
    X, y = trips.drop(columns="fare"), trips["fare"]
    pipe = make_pipeline(transformer(), HeteroscedasticRegressor(epochs=3, random_state=0))
    pipe.set_output(transform="pandas").fit(X, y)
    assert pipe[-1].encoder_.left_out == ["trip"]
    assert pipe[-1].encoder_.differences_[0].name == "dropoff - pickup"
    dist = pipe.predict_dist(X)
    np.testing.assert_array_equal(pipe.predict_interval(X, 0.9), dist.interval(0.9))
    np.testing.assert_array_equal(pipe.predict_quantiles(X, [0.1, 0.9]), dist.ppf([0.1, 0.9]))


@pytest.mark.slow
def test_scorers_work_in_cross_validation_and_searches(trips) -> None:
    X, y = trips.drop(columns="fare")[:200], trips["fare"][:200]
    model = HeteroscedasticRegressor(epochs=2, random_state=0)
    for pipe in (
        make_pipeline(transformer(), model),
        Pipeline([("t", transformer()), ("m", model)]),
    ):
        assert (cross_val_score(pipe, X, y, scoring=crps_scorer, cv=2) < 0).all()
    search = GridSearchCV(
        make_pipeline(transformer(), model),
        {"heteroscedasticregressor__lr": [1e-4, 1e-2]},
        scoring=crps_scorer,
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {"heteroscedasticregressor__lr": 1e-2}
    assert search.best_estimator_.predict_dist(X).mean.shape == (200,)

"""Models trained as one: each must become what it becomes alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant.errors import ConvergenceWarning, ParameterError
from calibrant.estimators import (
    DeepEnsembleRegressor,
    DeepGPRegressor,
    Ensemble,
    EnsembleLikelihoodRegressor,
    HeteroscedasticRegressor,
    LaplaceRegressor,
    Matching,
    MCDropoutLikelihoodRegressor,
    MCDropoutRegressor,
    MMDRegressor,
    NetworkRegressor,
    QuantileNetworkRegressor,
    Training,
    Windows,
    fit_batched,
)

SMALL: dict[str, Any] = {"hidden": (8,), "epochs": 6, "device": "cpu"}
METHODS = [
    HeteroscedasticRegressor(**SMALL, components=2),
    DeepEnsembleRegressor(**SMALL, members=2),
    EnsembleLikelihoodRegressor(**SMALL, members=2),
    MMDRegressor(**SMALL, matching=Matching(epochs=3)),
    MMDRegressor(
        **SMALL, quality="best", ensemble=Ensemble(members=2), matching=Matching(epochs=3)
    ),
    MMDRegressor(**SMALL, ensemble=Ensemble(members=1, folds=2), matching=Matching(epochs=3)),
    QuantileNetworkRegressor(**SMALL),
    LaplaceRegressor(**SMALL),
    HeteroscedasticRegressor(**SMALL, training=Training(scaling="minmax")),
    MMDRegressor(
        **SMALL, matching=Matching(epochs=8, patience=1, rollback=False), ensemble=Ensemble(folds=0)
    ),
]
# Dropout draws from one source for all networks, so only the distribution of results is the same.
THINNED = [
    MCDropoutRegressor(**SMALL, passes=4),
    MCDropoutLikelihoodRegressor(**SMALL, lr=1e-2, passes=4, training_passes=3),
    HeteroscedasticRegressor(**SMALL, network="lstm"),
]


def table(seed: int, n: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] * (1 + seed)
    return {"X": X, "y": X[:, 0] + 0.2 * rng.normal(size=n)}


def windows(seed: int, n: int = 100) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(n + 4, 2)).cumsum(axis=0)
    ends = rng.permutation(np.arange(4, n + 4))
    return {"X": Windows(series, ends, 4), "y": series[ends, 0] + 0.1 * rng.normal(size=n)}


def copies(method: NetworkRegressor, count: int = 3) -> list[NetworkRegressor]:
    return [
        type(method)(**(method.get_params(deep=False) | {"random_state": seed}))
        for seed in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("data", [table, windows], ids=["table", "windows"])
def test_each_model_becomes_what_it_becomes_alone(method, data) -> None:
    models, alone = copies(method), copies(method)
    fits = [data(seed) for seed in range(3)]
    fit_batched(models, fits)
    for model, single, fit in zip(models, alone, fits, strict=True):
        single.fit(**fit)
        np.testing.assert_allclose(
            model.predict_quantiles(fit["X"], alpha=[0.1, 0.5, 0.9]),
            single.predict_quantiles(fit["X"], alpha=[0.1, 0.5, 0.9]),
            rtol=2e-3,
            atol=2e-3,
        )
        assert [r["epoch"] for r in model.history_] == [r["epoch"] for r in single.history_]
        assert model.n_held_out_ == single.n_held_out_


@pytest.mark.parametrize("method", THINNED, ids=lambda m: type(m).__name__)
def test_thinned_networks_train_together(method) -> None:
    data = windows if method.network == "lstm" else table
    models = copies(method)
    fits = [data(seed) for seed in range(3)]
    fit_batched(models, fits)
    for model, fit in zip(models, fits, strict=True):
        scores = [r["validation_score"] for r in model.history_]
        assert np.isfinite(scores).all()
        assert len(set(scores)) == len(scores)
        assert np.isfinite(model.predict(fit["X"])).all()
        assert model.module_.size == 1


@pytest.mark.slow
def test_unequal_numbers_of_rows() -> None:
    models = copies(MMDRegressor(**SMALL | {"epochs": 60}, matching=Matching(epochs=3)), 2)
    fits = [table(0, 120), table(1, 113)]
    fit_batched(models, fits)
    for model, fit in zip(models, fits, strict=True):
        assert np.corrcoef(model.predict(fit["X"]), fit["y"])[0, 1] > 0.5


def test_rows_that_make_another_number_of_networks() -> None:
    """Rows of three groups can be split into three folds, not into five."""
    few = SMALL | {"epochs": 2, "ensemble": Ensemble(kinds=("relu",))}
    models = copies(MMDRegressor(**few, matching=Matching(epochs=1)), 2)
    fit_batched(models, [table(0, 90) | {"groups": np.arange(90) % 3}, table(1, 110)])
    assert [model.module_.size for model in models] == [6, 10]


def test_a_saved_model_is_its_own(tmp_path) -> None:
    models = copies(HeteroscedasticRegressor(**SMALL), 2)
    fits = [table(0), table(1)]
    fit_batched(models, fits)
    models[1].save(tmp_path / "second")
    again = HeteroscedasticRegressor.load(tmp_path / "second")
    np.testing.assert_array_equal(again.predict(fits[1]["X"]), models[1].predict(fits[1]["X"]))


@pytest.mark.parametrize(
    ("models", "fits"),
    [
        ([], []),
        ([HeteroscedasticRegressor()], []),
        ([HeteroscedasticRegressor(), MMDRegressor()], [{}, {}]),
        ([HeteroscedasticRegressor(lr=0.1), HeteroscedasticRegressor()], [{}, {}]),
        ([DeepGPRegressor(inducing=4)], [table(0)]),
        ([HeteroscedasticRegressor()] * 2, [{}, {}]),
    ],
)
def test_what_can_not_be_one_program_is_refused(models, fits) -> None:
    with pytest.raises(ParameterError, match=r"fit_batched (takes|needs)"):
        fit_batched(models, fits)


def test_a_network_that_is_lost_is_named() -> None:
    X, y = np.random.default_rng(0).normal(size=(2, 60))
    model = HeteroscedasticRegressor(lr=1e30, epochs=5, device="cpu", random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"diverged in epoch \d of stage 1.*Lower lr\.$"):
        model.fit(X[:, None], y)
    assert np.isfinite(model.predict(X[:, None])).all()
    model = MMDRegressor(matching=Matching(lr=1e30, epochs=5), epochs=2, device="cpu")
    with pytest.warns(ConvergenceWarning, match=r"of stage 2.* are kept.*Lower matching__lr\.$"):
        model.fit(X[:, None], y)
    model.set_params(matching__rollback=False)
    with pytest.raises(
        ParameterError, match=r"Nothing was rolled back.*set matching__rollback=True\.$"
    ):
        model.fit(X[:, None], y)

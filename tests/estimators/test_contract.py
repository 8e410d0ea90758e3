"""What every estimator keeps: shapes, inputs, scikit-learn's conventions, errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.small_methods import ESTIMATORS, NAMES, QUICK

from calibrant import HeteroscedasticRegressor, Matching, MMDRegressor
from calibrant.errors import CalibrantError, DataError, DataWarning, NotFittedError, ParameterError
from calibrant.metrics import crps_scorer, get_scorer
from calibrant.networks import GaussianHead
from calibrant.training import Rows


def make_data(n: int = 120, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = 2 * X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=n)
    return X, y


@pytest.fixture(params=NAMES)
def method(request: pytest.FixtureRequest):
    return ESTIMATORS[request.param]


def test_shapes(method) -> None:
    X, y = make_data()
    model = method(**QUICK).fit(X, y)
    assert model.predict(X).shape == (120,)
    assert len(model.predict_dist(X)) == 120
    assert model.predict_interval(X).shape == (120, 2)
    assert model.predict_interval(X, coverage=[0.5, 0.9]).shape == (120, 2, 2)
    assert model.predict_quantiles(X, alpha=[0.1, 0.5, 0.9]).shape == (120, 3)
    assert model.predict_quantiles(X, alpha=0.5).shape == (120,)
    nested = model.predict_interval(X, coverage=[0.5, 0.9])
    assert np.all(nested[:, 0, 1] <= nested[:, 0, 0])
    assert np.all(nested[:, 1, 1] >= nested[:, 1, 0])


def test_score_is_r2(method) -> None:
    from sklearn.metrics import r2_score

    X, y = make_data()
    model = method(**QUICK).fit(X, y)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))


def test_same_seed_same_result_and_the_global_generators_are_left_alone(method) -> None:
    X, y = make_data()
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002 (the legacy generator is what must stay untouched)
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = method(**QUICK).fit(X, y).predict(X)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    np.testing.assert_array_equal(method(**QUICK).fit(X, y).predict(X), first)
    other = method(**(QUICK | {"random_state": 1})).fit(X, y).predict(X)
    assert not np.array_equal(other, first)


def test_pipeline_grid_search_cross_val_predict_and_clone(method) -> None:
    X, y = make_data()
    model = method(**QUICK)
    assert clone(model).get_params() == model.get_params()
    pipe = make_pipeline(StandardScaler(), model).fit(X, y)
    assert pipe.predict(X).shape == (120,)
    grid = GridSearchCV(model, {"lr": [1e-3, 1e-2]}, scoring=crps_scorer, cv=2).fit(X, y)
    assert grid.best_score_ < 0
    assert np.isfinite(
        GridSearchCV(model, {"lr": [1e-2]}, scoring=get_scorer("ecpe"), cv=2).fit(X, y).best_score_
    )
    assert cross_val_predict(model, X, y, cv=3).shape == (120,)


def test_inputs_of_every_kind_agree(method) -> None:
    X, y = make_data()
    names = ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=names)
    reference = method(**QUICK).fit(X, y).predict(X)
    for table, target in [
        (frame, pd.Series(y)),
        (pl.DataFrame(X, schema=names), pl.Series(y)),
        (torch.tensor(X), torch.tensor(y, requires_grad=True)),
        (X.tolist(), y.tolist()),
        (np.asfortranarray(X), y),
    ]:
        np.testing.assert_array_equal(method(**QUICK).fit(table, target).predict(table), reference)


def test_integers_and_half_precision(method) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, size=(80, 2))
    y = X[:, 0]
    for dtype in (np.int8, np.uint16, np.float16, np.float32, bool):
        model = method(**QUICK).fit(X.astype(dtype), y)
        assert np.isfinite(model.predict(X.astype(dtype))).all()


@pytest.mark.parametrize("kind", ["pandas", pytest.param("polars", marks=pytest.mark.slow)])
def test_categories_become_one_hot(method, kind: str) -> None:
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Köln", "<b>"], 150)
    size = rng.normal(size=150)
    y = np.where(city == "Köln", 5.0, 0.0) + size + 0.1 * rng.normal(size=150)
    frame = pd.DataFrame({"city": pd.Categorical(city), "size": size})
    table = pl.from_pandas(frame) if kind == "polars" else frame
    model = method(**(QUICK | {"epochs": 60, "lr": 1e-2})).fit(table, y)
    assert model.n_features_in_ == 2
    assert list(model.feature_names_in_) == ["city", "size"]
    assert model.score(table, y) > 0.85
    strange = frame.assign(city=pd.Categorical(["Ulm"] * 150))
    with pytest.warns(DataWarning, match="'Ulm'"):
        assert np.isfinite(model.predict(strange)).all()


def test_gaps_are_filled_and_flagged(method) -> None:
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[::7, "b"] = np.nan
    frame["kind"] = pd.Categorical(np.where(np.arange(120) % 2, "x", None))
    model = method(**QUICK).fit(frame, y)
    assert model.encoder_.notes == [
        "kind: one-hot, 2 categories",
        "b: gaps filled with the median, flagged",
    ]
    filled = frame.assign(b=frame["b"].fillna(frame["b"].median()))
    assert not np.array_equal(model.predict(frame), model.predict(filled))  # the flag is seen


def test_gaps_that_only_new_rows_have_are_filled(method) -> None:
    X, y = make_data()
    model = method(**QUICK).fit(X, y)
    spoilt, filled = X.copy(), X.copy()
    spoilt[3, 1], filled[3, 1] = np.nan, np.median(X[:, 1])
    np.testing.assert_allclose(model.predict(spoilt), model.predict(filled))


def test_feature_names_are_remembered(method) -> None:
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = method(**QUICK).fit(frame, y)
    with pytest.raises(DataError, match=r"feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(DataError, match="must be in the same order"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(DataError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.predict(X[:, :2])


def test_text_is_taken_as_categories_and_identifiers_are_left_out(method) -> None:
    n = 60
    frame = pd.DataFrame(
        {
            "a": np.arange(float(n)),
            "key": [f"row {i}" for i in range(n)],
            "city": ["Bonn", "Ulm"] * (n // 2),
            "new": [True, False] * (n // 2),
        }
    )
    model = method(**QUICK).fit(frame, np.arange(float(n)))
    assert [note.partition(":")[0] for note in model.encoder_.notes] == ["key", "city", "new"]
    assert model.predictor_.features.n_inputs == 5
    assert len(model.predict(frame)) == n


def test_infinity_in_a_frame_is_named_by_its_column() -> None:
    frame = pd.DataFrame({"a": np.arange(30.0), "b": np.append(np.arange(29.0), np.inf)})
    with pytest.raises(DataError, match=r"X contains infinity, in 'b'\."):
        HeteroscedasticRegressor(epochs=1).fit(frame, np.arange(30.0))


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_refused(method, bad: float) -> None:
    X, y = make_data()
    spoilt = X.copy()
    spoilt[3, 1] = bad
    with pytest.raises(DataError, match="Input X contains infinity"):
        method(**QUICK).fit(spoilt, y)
    with pytest.raises(DataError, match="Input X contains infinity"):
        method(**QUICK).fit(X, y).predict(spoilt)
    target = y.copy()
    target[5] = bad
    with pytest.raises(DataError, match=r"Input y contains (NaN|infinity)"):
        method(**QUICK).fit(X, target)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: m.fit(X[:9], y[:9]), "at least 10 rows"),
        (lambda m, X, y: m.fit(X, y[:-1]), "inconsistent numbers of samples"),
        (lambda m, X, y: m.fit(X, None), "requires y to be passed"),
        (lambda m, X, y: m.fit(X[:, 0], y), "Reshape your data"),
        (lambda m, X, y: m.fit(X, np.stack([y, y], 1)), "y should be a 1d array"),
        (lambda m, X, y: m.fit(X, ["a"] * len(y)), "y must hold numbers, but row 1 has .a."),
        (lambda m, X, y: m.fit(X, y, np.ones(3)), "sample_weight must have one number per row"),
        (lambda m, X, y: m.fit(X, y, -np.ones(len(y))), "must not be negative"),
        (lambda m, X, y: m.fit(X, y, groups=np.ones(3)), "groups must have one label per row"),
        (lambda m, X, y: m.fit(X, y, groups=np.ones(len(y))), "Can't hold out"),
        (lambda m, X, y: m.fit(X, y, cv="folds"), "cv must be a number of folds"),
        (lambda m, X, y: m.fit(X, y, cv=[([0], [1])]), "leaves 1 rows to train on"),
        (lambda m, X, y: m.fit(X, y, validation_data=(X,)), r"must be \(X, y\)"),
        (
            lambda m, X, y: m.fit(X, y).predict_interval(X, coverage=1.0),
            r"coverage must be .*\(0, 1\)",
        ),
        (lambda m, X, y: m.fit(X, y).predict_interval(X, coverage=[0.5, 0.0]), "coverage must be"),
        (lambda m, X, y: m.fit(X, y).predict_quantiles(X, alpha=1.5), r"must lie in \[0, 1\]"),
    ],
)
def test_bad_calls(method, call, message: str) -> None:
    X, y = make_data(40)
    with pytest.raises(CalibrantError, match=message) as caught:
        call(method(**QUICK), X, y)
    assert isinstance(caught.value, ValueError)


BAD_PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"epochs": 0}, r"'epochs' parameter of \w+ must be .* \[1, inf\).* Got 0"),
    ({"batch_size": 0}, "'batch_size' parameter .* Got 0"),
    ({"batch_size": "small"}, "'batch_size' parameter .* among {'auto'}. Got 'small'"),
    ({"lr": 0.0}, "'lr' parameter .* Got 0.0"),
    ({"training__scaling": "rank"}, "'scaling' parameter of Training .* Got 'rank'"),
    ({"training__patience": 0}, "'patience' parameter of Training .* Got 0"),
    ({"training__weight_decay": -1.0}, "'weight_decay' parameter of Training .* Got -1.0"),
    ({"training__validation_fraction": 1.0}, "'validation_fraction' parameter of Training"),
    ({"training": 5}, "'training' parameter .* must be an instance of .*Training"),
    ({"training__beta": 2.0}, "'beta' parameter of Training .* Got 2.0"),
    ({"network": "resnet"}, "'network' parameter .* Got 'resnet'"),
    ({"hidden": ()}, "at least one layer"),
    ({"bounds": (1.0, 0.0)}, "bounds must be"),
    ({"dropout": 1.0}, "'dropout' parameter .* Got 1.0"),
    ({"members": 0}, "'members' parameter .* Got 0"),
    ({"combine": "product"}, "'combine' parameter .* Got 'product'"),
    ({"adversarial": -1.0}, "'adversarial' parameter .* Got -1.0"),
    ({"passes": 1}, "'passes' parameter .* Got 1"),
    ({"training_passes": 1}, "'training_passes' parameter .* Got 1"),
    ({"noise": "white"}, "'noise' parameter .* Got 'white'"),
    ({"levels": (0.5,)}, "levels must be at least two strictly increasing"),
    ({"levels": (0.5, 0.1)}, "levels must be at least two strictly increasing"),
    ({"components": 0}, "'components' parameter .* Got 0"),
    ({"mc_passes": 5, "dropout": 0.0}, "need dropout > 0"),
    ({"matching__epochs": 0}, "'epochs' parameter of Matching .* Got 0"),
    ({"matching__score_weight": -1.0}, "'score_weight' parameter of Matching .* Got -1.0"),
    ({"matching__score_kernel": "laplace"}, "'score_kernel' parameter of Matching"),
    ({"matching__statistic": "w"}, "'statistic' parameter of Matching .* Got 'w'"),
    ({"matching__bandwidths": "wide"}, "'bandwidths' parameter of Matching .* Got 'wide'"),
    ({"device": "abacus"}, 'device must be "auto"'),
]


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (name, parameters, message)
        for name, make in ESTIMATORS.items()
        for parameters, message in BAD_PARAMETERS
        if parameters.keys() <= make().get_params().keys()
    ],
)
def test_bad_parameters(name: str, parameters: dict[str, Any], message: str) -> None:
    X, y = make_data(40)
    with pytest.raises(ParameterError, match=message):
        ESTIMATORS[name](**QUICK).set_params(**parameters).fit(X, y)


def test_predict_before_fit(method) -> None:
    for call in (method().predict, method().predict_dist, method().predict_interval):
        with pytest.raises(NotFittedError, match=r"Call fit\(X, y\) first") as caught:
            call(np.zeros((3, 2)))
        assert isinstance(caught.value, SklearnNotFittedError)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        method().save("nowhere")


def test_column_vector_target_works_with_a_warning(method) -> None:
    X, y = make_data()
    with pytest.warns(DataConversionWarning):
        model = method(**QUICK).fit(X, y[:, None])
    np.testing.assert_array_equal(model.predict(X), method(**QUICK).fit(X, y).predict(X))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_tiny_and_huge_targets(method, scale: float, shift: float) -> None:
    X, y = make_data()
    plain = method(**QUICK).fit(X, y).predict_dist(X)
    scaled = method(**QUICK).fit(X, (y + shift) * scale).predict_dist(X)
    np.testing.assert_allclose(scaled.mean / scale - shift, plain.mean, atol=1e-3)
    np.testing.assert_allclose(scaled.stddev / scale, plain.stddev, rtol=1e-3)


def test_constant_target_gives_a_narrow_distribution_and_a_warning(method) -> None:
    X, _ = make_data()
    for value in (5.0, 0.0, -1e-9):
        with pytest.warns(DataWarning, match="constant"):
            model = method(**QUICK).fit(X, np.full(120, value))
        dist = model.predict_dist(X)
        np.testing.assert_allclose(dist.mean, value, atol=1e-5 * (abs(value) or 1.0))
        assert np.all(dist.stddev < 1e-4 * (abs(value) or 1.0))
        assert np.all(dist.stddev > 0)


def test_constant_and_duplicate_columns(method) -> None:
    X, y = make_data()
    wide = np.column_stack([X, np.full(120, 288.0), X[:, 0], np.full(120, 0.998)])
    assert method(**(QUICK | {"epochs": 80, "lr": 1e-2})).fit(wide, y).score(wide, y) > 0.5


def test_fewer_rows_than_a_batch(method) -> None:
    X, y = make_data(12)
    model = method(**(QUICK | {"batch_size": 1024})).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_bounds_keep_every_quantile_inside(method) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 1))
    y = np.maximum(0, X[:, 0] + rng.normal(size=150))
    dist = method(bounds=(0, None), **QUICK).fit(X, y).predict_dist(X)
    quantiles = dist.ppf([1e-9, 0.01, 0.5, 0.99])
    assert quantiles.min() >= 0
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert dist.sample(20, random_state=0).min() >= 0
    both = method(bounds=(0, 1), **QUICK).fit(X, y).predict_dist(X)
    assert both.ppf(0.999).max() <= 1


def test_explicit_validation_rows_are_used(method) -> None:
    X, y = make_data()
    good = method(**(QUICK | {"epochs": 30})).fit(X[:80], y[:80], validation_data=(X[80:], y[80:]))
    wild = method(**(QUICK | {"epochs": 30})).fit(
        X[:80], y[:80], validation_data=(X[80:], 100 + y[80:], np.ones(40))
    )
    assert good.history_[-1]["validation_score"] < wild.history_[-1]["validation_score"]


def test_groups_and_time_order_are_respected(method) -> None:
    X, y = make_data()
    X[:, 0] = np.arange(120)  # a row is known again by its first column
    groups = np.repeat(np.arange(12), 10)

    def positions(sample: Any) -> np.ndarray:
        return sample.x[:, 0].astype(int)

    for options in ({}, {"cv": 4}):
        plan = method(**QUICK).plan(X, y, groups=groups, **options)
        if plan.held_out is None:
            pairs = list(plan.folds)
        else:
            pairs = [(positions(plan.sample), positions(plan.held_out))]
        for train, held_out in pairs:
            assert not set(groups[train]) & set(groups[held_out])
    plan = method(**QUICK).plan(X, y, cv=TimeSeriesSplit(3))
    assert positions(plan.sample).max() < positions(plan.held_out).min()
    assert positions(plan.held_out).max() == 119


def test_zero_weight_rows_leave_no_trace(method) -> None:
    X, y = make_data()
    spoilt_X, spoilt_y = np.vstack([X, 1e6 * np.ones((30, 3))]), np.append(y, np.full(30, 1e6))
    weights = np.append(np.ones(120), np.zeros(30))
    with_them = method(**QUICK).fit(spoilt_X, spoilt_y, weights)
    np.testing.assert_array_equal(with_them.predict(X), method(**QUICK).fit(X, y).predict(X))


def test_weights_are_repetitions_in_the_objective() -> None:
    """A row of weight two counts in both stages as the row twice would."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    weights = np.where(np.arange(9) < 4, 2.0, 1.0)
    twice = np.repeat(np.arange(9), weights.astype(int))
    matching = Matching(match="marginal", statistic="v", score_weight=0.7, bandwidths=[0.5])
    model = MMDRegressor(matching=matching)

    def rows(index: np.ndarray, weight: np.ndarray) -> Rows:
        return Rows(*(torch.tensor(a) for a in (x[index], y[index], weight / weight.mean())))

    class Network:
        head = GaussianHead()

        def outputs(self, x: torch.Tensor) -> torch.Tensor:
            return torch.stack([x[:, 0], 2.0 * torch.log(0.1 + x[:, 1] ** 2)], dim=-1)

        def __call__(self, x: torch.Tensor) -> torch.distributions.Normal:
            return self.head.torch_distribution(self.outputs(x))

    for stage in model._stages(model.settings(), None, rows(np.arange(9), weights)):
        for objective in (stage.loss, stage.score):
            values = [
                float(objective(Network(), r))
                for r in (rows(np.arange(9), weights), rows(twice, np.ones(len(twice))))
            ]
            assert values[0] == pytest.approx(values[1], rel=1e-10)


@pytest.mark.slow
def test_weights_move_the_fit(method) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = np.where(np.arange(400) % 2, 1.0, -1.0) + 0.1 * rng.normal(size=400)
    weights = np.where(np.arange(400) % 2, 9.0, 1.0)
    model = method(**(QUICK | {"epochs": 60, "lr": 1e-2})).fit(X, y, weights)
    assert model.predict(X).mean() == pytest.approx(0.8, abs=0.15)
    # P(Y > 0) = 0.9 of the weight
    assert model.predict_dist(X).variance.mean() == pytest.approx(0.37, abs=0.15)


def test_nothing_of_the_test_rows_reaches_the_model(method) -> None:
    X, y = make_data()
    model = method(**QUICK).fit(X[:90], y[:90])
    first = model.predict(X[90:100])
    model.predict(1e9 * X[90:])  # predicting must not change anything either
    np.testing.assert_array_equal(model.predict(X[90:100]), first)


def test_pickle(method) -> None:
    X, y = make_data()
    model = method(**QUICK).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "dgp"])
def test_own_module(name: str) -> None:
    method = ESTIMATORS[name]
    X, y = make_data()
    body = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(0.1))
    before = body[0].weight.detach().clone()
    model = method(**(QUICK | {"network": body, "epochs": 40, "lr": 1e-2})).fit(X, y)
    assert torch.equal(body[0].weight, before)
    assert model.score(X, y) > 0.3
    assert clone(model).fit(X, y).score(X, y) > 0.3

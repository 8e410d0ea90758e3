"""A pilot decides whether networks use their periodic embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant import Ensemble, Matching, MMDRegressor
from calibrant.estimators import fit_batched
from calibrant.networks import PeriodicEmbedding


def make(**changes: Any) -> MMDRegressor:
    model = MMDRegressor(quality="best", hidden=(16,), batch_size=64, epochs=2, device="cpu")
    model.set_params(
        periodic="auto",
        random_state=0,
        ensemble=Ensemble(members=1, folds=0, neighbours=False),
        matching=Matching(epochs=30, lr=1e-2),
    )
    return model.set_params(**changes)


def wiggly(n: int = 900) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 1))
    return {"X": X, "y": np.sin(8 * X[:, 0]) + 0.05 * rng.standard_normal(n)}


def straight(n: int = 150) -> dict[str, Any]:
    """Many columns, of which a finer view can only be learned by heart."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 40))
    return {"X": X, "y": X.sum(axis=1) + 0.1 * rng.standard_normal(n)}


def gates(model: MMDRegressor) -> list[float]:
    (values,) = (v for k, v in model.module_.by_name().items() if k.endswith("gate"))
    return [float(v) for v in values]


@pytest.mark.slow
def test_wiggles_are_seen_through_embeddings_and_lines_are_not() -> None:
    models = [make() for _ in range(2)]
    fit_batched(models, [wiggly(), wiggly(850)])
    assert gates(models[0]) == gates(models[1]) == [1.0]
    plain = make().fit(**straight())
    assert gates(plain) == [0.0]


def test_a_closed_gate_shows_the_numbers_alone() -> None:
    model = make().fit(**straight())
    (embedding,) = (m for m in model.module_.modules() if isinstance(m, PeriodicEmbedding))
    X = straight()["X"][:5]
    before = model.predict(X)
    embedding.frequencies.data += 1.0
    np.testing.assert_array_equal(model.predict(X), before)


def test_the_choice_is_saved(tmp_path) -> None:
    model = make().fit(**straight())
    model.save(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(straight()["X"]), model.predict(straight()["X"]))


def test_a_scale_of_ones_own_is_no_question() -> None:
    model = make(periodic=0.2).fit(**straight())
    assert gates(model) == [1.0]

"""Networks that are trained with matrix products in bfloat16."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant import (
    DeepEnsembleRegressor,
    HeteroscedasticRegressor,
    MCDropoutLikelihoodRegressor,
    MMDRegressor,
    QuantileNetworkRegressor,
)
from calibrant.errors import ParameterError
from calibrant.estimators import objectives

SMALL = {"epochs": 4, "hidden": (16,), "random_state": 0}


def table(n: int = 400):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X[:, 0] + (0.1 + 0.2 * (X[:, 1] > 0)) * rng.standard_normal(n)


@pytest.mark.parametrize(
    "model",
    [
        HeteroscedasticRegressor(**SMALL),
        HeteroscedasticRegressor(**SMALL | {"network": torch.nn.Linear(3, 4)}),
        DeepEnsembleRegressor(members=2, **SMALL),
        MCDropoutLikelihoodRegressor(**SMALL),
        QuantileNetworkRegressor(**SMALL),
        MMDRegressor(**SMALL).set_params(matching__epochs=2, ensemble__members=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_weights_and_predictions_are_float32_and_scores_close(model) -> None:
    X, y = table()
    crps = {}
    for precision in ("float32", "bfloat16"):
        fitted = model.set_params(training__precision=precision).fit(X, y)
        assert all(weight.dtype == torch.float32 for weight in fitted.module_.parameters())
        crps[precision] = fitted.predict_dist(X).crps(y).mean()
    # 8 significant bits: something differs, but little.
    assert crps["bfloat16"] != crps["float32"]
    assert crps["bfloat16"] == pytest.approx(crps["float32"], rel=0.05)


def test_losses_are_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    mean_loss = objectives.mean_loss

    def recording(loss, head, outputs, rows):
        seen.add((outputs.dtype, torch.is_autocast_enabled("cpu"), outputs.requires_grad))
        return mean_loss(loss, head, outputs, rows)

    monkeypatch.setattr(objectives, "mean_loss", recording)
    X, y = table()
    HeteroscedasticRegressor(**SMALL).set_params(training__precision="bfloat16").fit(X, y)
    assert seen == {(torch.float32, False, True), (torch.float32, False, False)}


def test_matrix_products_are_bfloat16_while_training_alone() -> None:
    X, y = table()
    plan = HeteroscedasticRegressor(**SMALL).set_params(training__precision="bfloat16").plan(X, y)
    network = plan.groups[0].network.build()
    from calibrant.networks import MemberNetworks

    networks = MemberNetworks([network])
    x = torch.randn(5, 3)
    exact = networks.outputs(x)
    with networks.in_precision("bfloat16"):
        rounded = networks.outputs(x)
    assert rounded.dtype == torch.float32
    assert 0 < (rounded - exact).abs().max() < 0.05
    assert torch.equal(networks.outputs(x), exact)


@pytest.mark.parametrize("network", ["lstm", "gru"])
def test_recurrent_networks_refuse(network: str) -> None:
    X, y = table(60)
    model = HeteroscedasticRegressor(**SMALL | {"network": network})
    model.set_params(training__precision="bfloat16")
    with pytest.raises(ParameterError, match="is for perceptrons and your own modules"):
        model.fit(X[:, :, None], y)


def test_other_precisions_are_unknown() -> None:
    with pytest.raises(ParameterError, match="precision"):
        HeteroscedasticRegressor().set_params(training__precision="float16").fit(*table(60))

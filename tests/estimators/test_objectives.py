"""Objectives that several methods share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.errors import ConvergenceWarning
from calibrant.estimators import (
    DeepEnsembleRegressor,
    HeteroscedasticRegressor,
    LaplaceRegressor,
    MMDRegressor,
)
from calibrant.estimators._objectives import mean_nll
from calibrant.losses import negative_log_likelihood
from calibrant.networks import MLP, GaussianHead, MemberNetworks, build_network
from calibrant.training import Rows


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("members", [1, 3])
def test_the_likelihood_of_normals_in_one_node_is_that_of_the_formula(
    members: int, beta: float
) -> None:
    torch.manual_seed(0)
    networks = [build_network("mlp", 2, (8,), GaussianHead()) for _ in range(members)]
    network = MemberNetworks(networks).double()
    rows = Rows(*(torch.rand(members, 30, *shape).double() for shape in ((2,), (), ())))
    scale = torch.arange(1.0, members + 1.0)  # members' losses go different ways

    loss = mean_nll(network, rows, beta)
    gradients = torch.autograd.grad((scale * loss).sum(), list(network.parameters()))

    each = negative_log_likelihood(network(rows.x), rows.y, beta=beta)
    formula = (rows.weight * each).mean(dim=-1)
    torch.testing.assert_close(loss, formula)
    expected = torch.autograd.grad((scale * formula).sum(), list(network.parameters()))
    torch.testing.assert_close(gradients, expected)
    with torch.no_grad():
        torch.testing.assert_close(mean_nll(network, rows, beta), formula.detach())


@pytest.mark.parametrize(
    ("model", "has_one"),
    [
        (HeteroscedasticRegressor(), True),
        (HeteroscedasticRegressor(head="mixture"), False),
        (LaplaceRegressor(), True),
        (DeepEnsembleRegressor(), True),
        (DeepEnsembleRegressor(adversarial=0.01), False),
        (MMDRegressor(quality="fast"), True),
        (MMDRegressor(), False),
    ],
)
def test_a_slope_is_that_of_the_loss_that_it_stands_beside(model, has_one: bool) -> None:
    torch.manual_seed(0)
    rows = Rows(*(torch.rand(1, 30, *shape) for shape in ((2,), (), ())))
    stage = model._stages([Rows(*(part[0] for part in rows))], torch.Generator())[0]
    assert (stage.slope is not None) == has_one
    if stage.slope:
        network = MemberNetworks([build_network("mlp", 2, (8,), GaussianHead())])
        outputs = network.outputs(rows.x)
        losses, slope = stage.slope(outputs.detach(), rows)
        torch.testing.assert_close(losses, stage.loss(network, rows).detach())
        expected = torch.autograd.grad(stage.loss(network, rows).sum(), network.parameters())
        gradients = torch.autograd.grad((slope * outputs).sum(), network.parameters())
        torch.testing.assert_close(gradients, expected)


@pytest.mark.parametrize("shape", [(2,), (3, 2)], ids=["rows", "windows"])
def test_fits_by_hand_are_those_by_autograd(shape, monkeypatch) -> None:
    """Sample weights and the steps of windows included."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, *shape))
    y, weight = x.reshape(300, -1)[:, 0] + 0.1 * rng.normal(size=300), rng.random(300)
    answers = []
    for by_hand in (True, False):
        if not by_hand:
            monkeypatch.setattr(MemberNetworks, "by_hand", lambda self: None)
        model = HeteroscedasticRegressor(hidden=(16,), epochs=5, random_state=0, device="cpu")
        answers.append(model.fit(x, y, sample_weight=weight).predict_dist(x))
    np.testing.assert_allclose(answers[0].mean, answers[1].mean, atol=1e-5)
    np.testing.assert_allclose(answers[0].stddev, answers[1].stddev, rtol=1e-4)


def test_divergence_by_hand_is_told() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    model = HeteroscedasticRegressor(lr=1e30, epochs=3, random_state=0, device="cpu")
    with pytest.warns(ConvergenceWarning):
        model.fit(x, x[:, 0])
    assert np.isfinite(model.predict(x)).all()


def test_a_module_of_the_users_own_keeps_what_is_its_own() -> None:
    """Layers that are frozen stay, those without a bias do without, hooks are called."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    body, calls = MLP(2, (8, 8)), []
    body[0].requires_grad_(False)
    body[2] = torch.nn.Linear(8, 8, bias=False)
    body[2].register_forward_hook(lambda *_: calls.append(1))
    model = HeteroscedasticRegressor(network=body, epochs=2, random_state=0, device="cpu")
    model.fit(x, x[:, 0])
    assert torch.equal(model.module_.single.body[0].weight, body[0].weight)
    assert calls

"""Networks, heads and modules of the user's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from calibrant.errors import ParameterError
from calibrant.networks import MLP, GaussianHead, build_network


def test_mlp_is_the_papers() -> None:
    body = MLP(5, (256, 256))
    kinds = [type(layer).__name__ for layer in body]
    assert kinds == ["Linear", "ReLU", "Linear", "ReLU"]
    assert body(torch.zeros(3, 5)).shape == (3, 256)


def test_gaussian_head_is_mean_and_log_variance() -> None:
    outputs = torch.tensor([[1.0, -2.0], [0.0, 3.0]], dtype=torch.float64)
    dist = GaussianHead().torch_distribution(outputs)
    np.testing.assert_allclose(dist.loc, [1.0, 0.0])
    np.testing.assert_allclose(dist.variance, np.exp([-2.0, 3.0]), rtol=2e-3)
    same = GaussianHead().distribution(outputs)
    np.testing.assert_array_equal(same.stddev, dist.scale)


@pytest.mark.parametrize("log_variance", [-1e4, -60.0, 60.0, 1e4])
def test_extreme_log_variance_stays_finite_and_finds_back(log_variance: float) -> None:
    outputs = torch.tensor([[0.0, log_variance]], requires_grad=True)
    dist = GaussianHead().torch_distribution(outputs)
    assert 1e-6 < dist.scale.item() < 1e3
    dist.log_prob(torch.tensor([1.0])).sum().backward()
    assert torch.isfinite(outputs.grad).all()


def test_own_module_gets_a_head_and_is_not_changed() -> None:
    mine = nn.Sequential(nn.Linear(4, 7), nn.Tanh())
    network = build_network(mine, 4, (), GaussianHead())
    assert network.output.in_features == 7
    assert network.body is not mine
    assert network(torch.zeros(3, 4)).loc.shape == (3,)


def test_errors_say_what_was_expected() -> None:
    with pytest.raises(ParameterError, match=r'network must be "mlp" or a torch\.nn\.Module'):
        build_network("transformer", 4, (8,), GaussianHead())
    with pytest.raises(ParameterError, match="at least one layer"):
        build_network("mlp", 4, (), GaussianHead())
    with pytest.raises(ParameterError, match="does not accept 4 inputs"):
        build_network(nn.Linear(5, 2), 4, (), GaussianHead())
    with pytest.raises(ParameterError, match=r"\(n, k\) features"):
        build_network(nn.Flatten(0), 4, (), GaussianHead())

"""Likelihood in the stable form of the paper, and its safeguard."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Normal

from calibrant.losses import negative_log_likelihood


def test_is_the_printed_formula() -> None:
    mu, s, y = torch.randn(3, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    stable = 0.5 * torch.exp(-s) * (y - mu) ** 2 + 0.5 * s + 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(negative_log_likelihood(Normal(mu, torch.exp(0.5 * s)), y), stable)


def test_beta_weights_rows_by_a_constant_power_of_the_variance() -> None:
    mu = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor([0.01, 0.1, 1.0, 10.0], dtype=torch.float64, requires_grad=True)
    y = torch.ones(4, dtype=torch.float64)
    negative_log_likelihood(Normal(mu, sigma), y, beta=1.0).sum().backward()
    # beta = 1: the mean gets the gradient of least squares, whatever the variance
    torch.testing.assert_close(mu.grad, torch.full((4,), -1.0, dtype=torch.float64))
    # and the variance still has its zero at the squared residual: sign unchanged by the weight
    assert (torch.sign(sigma.grad) == torch.sign(sigma.detach() ** 2 - 1)).all()


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_value_and_gradient_are_those_of_the_density(beta: float) -> None:
    torch.manual_seed(0)
    mu, y = torch.randn(2, 3, 7, dtype=torch.float64)
    sigma = 0.1 + torch.rand(3, 7, dtype=torch.float64)
    leaves = [part.clone().requires_grad_() for part in (mu, sigma)]
    plain = [part.clone().requires_grad_() for part in (mu, sigma)]
    value = negative_log_likelihood(Normal(*leaves), y, beta=beta)
    expected = -Normal(*plain).log_prob(y) * plain[1].detach() ** (2 * beta)
    torch.testing.assert_close(value, expected)
    upstream = torch.randn(3, 7, dtype=torch.float64)
    value.backward(upstream)
    expected.backward(upstream)
    for own, other in zip(leaves, plain, strict=True):
        torch.testing.assert_close(own.grad, other.grad)

"""Random features against the exact value."""

from __future__ import annotations

import math

import pytest
from tests.losses.twins import evaluate, rows, value_and_gradients

from calibrant.errors import ParameterError
from calibrant.losses import DistributionMatchingLoss


@pytest.mark.parametrize("match", ["joint", "distribution"])
def test_random_features_are_within_their_stated_error(match: str) -> None:
    options = {"match": match, "bandwidths": (0.01, 0.1), "condition_bandwidth": 0.2}
    exact = value_and_gradients(DistributionMatchingLoss(method="fused", **options), 400)
    loss = DistributionMatchingLoss(method="linear", features=2000, **options)
    value, gradients = value_and_gradients(loss, 400)
    stated = math.sqrt(2 / 2000)
    assert abs(float(value / exact[0]) - 1) < 4 * stated
    for ours, theirs in zip(gradients[:2], exact[1][:2], strict=True):
        assert (ours - theirs).norm() / theirs.norm() < 0.25


def test_random_features_of_a_mixture_and_members() -> None:
    options = {"match": "joint", "bandwidths": (0.01, 0.1), "condition_bandwidth": 0.2}
    case = {"components": 2, "members": 2}
    exact = value_and_gradients(DistributionMatchingLoss(**options), 150, **case)[0]
    loss = DistributionMatchingLoss(method="linear", features=4000, **options)
    value = value_and_gradients(loss, 150, **case)[0]
    assert ((value / exact - 1).abs() < 4 * math.sqrt(2 / 4000)).all()


def test_random_features_refuse_a_kernel_that_they_cannot_resolve() -> None:
    mu, sigma, y, x = rows()
    mu[3] = 1e6
    with pytest.raises(ParameterError, match=r'can\'t resolve .* use method="fused"'):
        evaluate("linear", mu, sigma, y, x, match="joint")

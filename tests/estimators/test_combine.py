"""Each way to combine the outputs of networks, on outputs that are given."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from calibrant.distributions import Distribution, Mixture, Normal
from calibrant.estimators.combine import (
    PASS_SEED,
    MatchedMoments,
    PointSpread,
    SingleNetwork,
    WeightedMixture,
    normal_of_points,
    stretched,
)
from calibrant.networks import GaussianHead, Head, MemberNetworks, MixtureHead, PointHead

ROWS = torch.zeros(3, 1)


class GivenOutputs:
    """Networks that always answer the same: (M, n, n_outputs)."""

    def __init__(self, head: Head, outputs: Tensor) -> None:
        self.head, self.size, self._outputs = head, len(outputs), outputs

    def outputs(self, x: Tensor) -> Tensor:
        return self._outputs

    def passes(self, x: Tensor, count: int, seed: int) -> Tensor:
        assert seed == PASS_SEED
        return self._outputs[:count]


def draw(members: int, head: Head) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(members, 3, head.n_outputs, generator=generator, dtype=torch.float64)


def combined(step: Any, head: Head, outputs: Tensor) -> Distribution:
    return step(cast(MemberNetworks, GivenOutputs(head, outputs)), ROWS)


@pytest.mark.parametrize(
    ("step", "answers"),
    [
        (SingleNetwork(), 1),
        (MatchedMoments(), 4),
        (MatchedMoments(passes=7), 7),
        (WeightedMixture(), 4),
        (PointSpread(), 4),
        (PointSpread(passes=7), 7),
    ],
)
def test_answers_per_row(step: Any, answers: int) -> None:
    networks = GivenOutputs(GaussianHead(), draw(4, GaussianHead()))
    assert step.n_answers(networks) == answers


def test_one_network_is_what_its_head_makes_of_it() -> None:
    outputs = draw(1, GaussianHead())
    for step in (SingleNetwork(), WeightedMixture()):
        dist = combined(step, GaussianHead(), outputs)
        assert isinstance(dist, Normal)
        np.testing.assert_array_equal(dist.mean, outputs[0, :, 0])


@pytest.mark.parametrize("head", [GaussianHead(), MixtureHead(2)])
@pytest.mark.parametrize("passes", [0, 3])
def test_matched_moments_are_those_of_the_mixture(head: Head, passes: int) -> None:
    outputs = draw(4, head)
    dist = combined(MatchedMoments(passes), head, outputs)
    used = outputs[:passes] if passes else outputs
    parts = [head.distribution(each) for each in used]
    means, variances = (
        np.array([getattr(p, name) for p in parts]) for name in ("mean", "variance")
    )
    assert isinstance(dist, Normal)
    np.testing.assert_allclose(dist.mean, means.mean(axis=0))
    np.testing.assert_allclose(dist.variance, variances.mean(axis=0) + means.var(axis=0))
    np.testing.assert_allclose(dist.epistemic, means.var(axis=0))


@pytest.mark.parametrize(
    ("shares", "weights"),
    [
        ([1.0], [0.25, 0.25, 0.25, 0.25]),
        ([0.8, 0.2], [0.4, 0.4, 0.1, 0.1]),
        ([0.0, 1.0], [0.0, 0.0, 0.5, 0.5]),
    ],
)
def test_kinds_of_networks_share_their_weight(shares: list[float], weights: list[float]) -> None:
    outputs, y = draw(4, GaussianHead()), np.linspace(-1.0, 1.0, 3)
    dist = combined(WeightedMixture(np.array(shares)), GaussianHead(), outputs)
    parts = [GaussianHead().distribution(each) for each in outputs]
    np.testing.assert_allclose(dist.cdf(y), np.array(weights) @ [part.cdf(y) for part in parts])
    means = np.array([part.mean for part in parts])
    spread = np.array(weights) @ (means - np.array(weights) @ means) ** 2
    np.testing.assert_allclose(dist.epistemic, spread)


@pytest.mark.parametrize("head", [GaussianHead(), MixtureHead(2, spikes=1, submodels=3)])
@pytest.mark.parametrize("stretch", [1.0, 1.3])
def test_all_members_at_once_are_the_mixture_of_each(head: Head, stretch: float) -> None:
    outputs, shares = draw(4, head), np.array([0.7, 0.3])
    dist = WeightedMixture(shares, stretch).of_outputs(head, outputs)
    assert isinstance(dist, Mixture)
    parts = [stretched(head, each, stretch) for each in outputs]
    one_by_one = Mixture.of(parts, [0.35, 0.35, 0.15, 0.15])
    for name in ("weights", "locs", "scales"):
        np.testing.assert_allclose(getattr(dist, name), getattr(one_by_one, name), rtol=1e-14)


@pytest.mark.parametrize("passes", [0, 2])
def test_the_spread_of_points(passes: int) -> None:
    points = draw(4, PointHead())
    used = (points[:passes] if passes else points)[..., 0].numpy()
    plain = combined(PointSpread(passes), PointHead(), points)
    np.testing.assert_allclose(plain.mean, used.mean(axis=0))
    np.testing.assert_allclose(plain.variance, used.var(axis=0), atol=2e-8)
    noisy = combined(PointSpread(passes, noise=0.5), PointHead(), points)
    np.testing.assert_allclose(noisy.variance, plain.variance + 0.5)
    np.testing.assert_allclose(noisy.epistemic, plain.variance)


def test_points_that_agree_still_have_a_spread() -> None:
    dist = normal_of_points(torch.ones(5, 3, 1))
    assert dist.batch_shape == (3,)
    assert (dist.scale > 0).all()
    assert (dist.scale < 1e-3).all()
    assert torch.isfinite(dist.log_prob(torch.ones(3))).all()


def test_a_stretch_moves_neither_the_mean_nor_spikes() -> None:
    head = MixtureHead(2, spikes=1, submodels=2)
    fixed = torch.tensor([0.5, -4.0]).expand(6, -1)
    outputs = torch.cat([torch.randn(6, head.n_outputs - 2), fixed], dim=-1)
    plain, wide = (stretched(head, outputs, factor) for factor in (1.0, 2.0))
    assert isinstance(plain, Mixture)
    assert isinstance(wide, Mixture)
    spikes = [2, 5]
    np.testing.assert_array_equal(wide.locs[:, spikes], plain.locs[:, spikes])
    np.testing.assert_array_equal(wide.scales[:, spikes], plain.scales[:, spikes])
    free = [0, 1, 3, 4]
    parts = (Mixture(d.weights[:, free], d.locs[:, free], d.scales[:, free]) for d in (plain, wide))
    before, after = parts
    np.testing.assert_allclose(after.mean, before.mean)
    np.testing.assert_allclose(after.stddev, 2.0 * before.stddev)


def test_a_normal_is_stretched() -> None:
    outputs = torch.randn(6, 2)
    plain, wide = (stretched(GaussianHead(), outputs, factor) for factor in (1.0, 1.5))
    np.testing.assert_array_equal(wide.mean, plain.mean)
    np.testing.assert_allclose(wide.stddev, 1.5 * plain.stddev)

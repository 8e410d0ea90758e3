"""The kernel calibration family: formula, gradients, statistics, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from calibrant import DistributionMatchingLoss
from calibrant.errors import ParameterError
from calibrant.kernels import EnergyKernel
from calibrant.losses import kernel_score

SIZES = [1, 2, 3, 17]


def make_batch(n: int, dtype: torch.dtype = torch.float64, seed: int = 0):
    rng = np.random.default_rng(seed)
    mu, sigma = rng.normal(size=n), 0.2 + rng.random(n)
    y, x = mu + sigma * rng.normal(size=n), rng.normal(size=(n, 2))
    return [torch.tensor(a, dtype=dtype) for a in (mu, sigma, y, x)]


def expected_kernel(m1, v1, m2, v2, bandwidths):
    total = 0.0
    for h in bandwidths:
        wide = h + v1 + v2
        total += np.sqrt(h / wide) * np.exp(-((m1 - m2) ** 2) / (2 * wide))
    return total


def by_hand(mu, sigma, y, bandwidths, statistic, condition, weight):
    """The formula of the docstring as two plain loops."""
    n, total, norm = len(y), 0.0, 0.0
    for i, j in itertools.product(range(n), range(n)):
        if statistic == "u" and i == j:
            continue
        w = weight[i] * weight[j]
        term = (
            expected_kernel(y[i], 0, y[j], 0, bandwidths)
            - expected_kernel(mu[i], sigma[i] ** 2, y[j], 0, bandwidths)
            - expected_kernel(y[i], 0, mu[j], sigma[j] ** 2, bandwidths)
            + expected_kernel(mu[i], sigma[i] ** 2, mu[j], sigma[j] ** 2, bandwidths)
        )
        total += w * condition(i, j) * term
        norm += w
    return total / norm if norm else 0.0


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("match", ["marginal", "joint"])
@pytest.mark.parametrize("bandwidths", [(1.0, 4.0, 64.0), (0.01, 0.2)])
def test_pairwise_is_the_formula(n: int, statistic: str, match: str, bandwidths) -> None:
    mu, sigma, y, x = make_batch(n)
    weight = torch.rand(n, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.1
    loss = DistributionMatchingLoss(
        match=match, bandwidths=bandwidths, statistic=statistic, condition_bandwidth=0.7
    )

    def condition(i: int, j: int) -> float:
        if match == "marginal":
            return 1.0
        return float(np.exp(-np.sum((x[i].numpy() - x[j].numpy()) ** 2) / (2 * 0.7)))

    truth = by_hand(
        mu.numpy(), sigma.numpy(), y.numpy(), bandwidths, statistic, condition, weight.numpy()
    )
    value = loss(Normal(mu, sigma), y, x, weight)
    assert float(value) == pytest.approx(truth, rel=1e-10, abs=1e-14)


def test_distribution_match_conditions_on_the_prediction() -> None:
    mu, sigma, y, _ = make_batch(9)
    z = np.stack([mu.numpy(), np.log(sigma.numpy())], axis=1)
    loss = DistributionMatchingLoss(match="distribution", bandwidths=[1.0], condition_bandwidth=0.5)
    truth = by_hand(
        mu.numpy(), sigma.numpy(), y.numpy(), [1.0], "v",
        lambda i, j: np.exp(-np.sum((z[i] - z[j]) ** 2)), np.ones(9),
    )  # fmt: skip
    assert float(loss(Normal(mu, sigma), y)) == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("match", ["marginal", "joint"])
def test_gradients_against_finite_differences(statistic: str, match: str) -> None:
    mu, sigma, y, x = make_batch(5)
    loss = DistributionMatchingLoss(
        match=match, bandwidths=[0.1, 1.0], statistic=statistic, condition_bandwidth=1.0
    )
    mu.requires_grad_()
    sigma.requires_grad_()
    assert torch.autograd.gradcheck(lambda m, s: loss(Normal(m, s), y, x), (mu, sigma))


def test_a_mixture_of_one_is_a_normal_and_a_split_component_changes_nothing() -> None:
    mu, sigma, y, x = make_batch(11)
    loss = DistributionMatchingLoss(match="joint", bandwidths=[0.3, 2.0])
    plain = loss(Normal(mu, sigma), y, x)
    weights = torch.tensor([0.25, 0.75], dtype=torch.float64).expand(11, 2)
    mixture = MixtureSameFamily(
        Categorical(probs=weights),
        Normal(torch.stack([mu, mu], 1), torch.stack([sigma, sigma], 1)),
    )
    torch.testing.assert_close(loss(mixture, y, x), plain)


@pytest.mark.parametrize("match", ["marginal", "joint", "distribution"])
@pytest.mark.parametrize("statistic", ["u", "v"])
def test_members_at_once_are_the_members_one_by_one(match: str, statistic: str) -> None:
    batches = [make_batch(8, seed=seed) for seed in range(3)]
    mu, sigma, y, x = (torch.stack(parts) for parts in zip(*batches, strict=True))
    weight = torch.rand(3, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    loss = DistributionMatchingLoss(
        match=match, bandwidths=[0.3, 2.0], statistic=statistic, condition_bandwidth=0.8
    )
    together = loss(Normal(mu, sigma), y, x, weight)
    alone = [loss(Normal(mu[i], sigma[i]), y[i], x[i], weight[i]) for i in range(3)]
    torch.testing.assert_close(together, torch.stack(alone))
    scores = kernel_score(Normal(mu, sigma), y, EnergyKernel())
    torch.testing.assert_close(
        scores[1], kernel_score(Normal(mu[1], sigma[1]), y[1], EnergyKernel())
    )


def test_float32_input_is_accumulated_in_float64() -> None:
    mu, sigma, y, _ = make_batch(300, torch.float32)
    y = (mu + sigma * 0.01).float()
    loss = DistributionMatchingLoss(bandwidths=[1, 4, 8, 16, 32, 64])
    exact = loss(Normal(mu.double(), sigma.double()), y.double())
    value = loss(Normal(mu, sigma), y)
    assert value.dtype == torch.float64
    assert float(value) == pytest.approx(float(exact), rel=1e-9)


def test_sampled_agrees_with_closed_form_on_average() -> None:
    mu, sigma, y, x = make_batch(40)
    options = {"match": "joint", "bandwidths": [0.2, 1.0], "statistic": "u"}
    closed = float(DistributionMatchingLoss(**options)(Normal(mu, sigma), y, x))
    sampled = DistributionMatchingLoss(expectation="sampled", **options)
    generator = torch.Generator().manual_seed(0)
    draws = [float(sampled(Normal(mu, sigma), y, x, generator=generator)) for _ in range(400)]
    error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - closed) < 4 * error


def test_sampling_follows_the_generator_and_passes_gradients() -> None:
    mu, sigma, y, _ = make_batch(20)
    sigma.requires_grad_()
    loss = DistributionMatchingLoss(expectation="sampled", bandwidths=[1.0])
    values = [
        loss(Normal(mu, sigma), y, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    ]
    assert values[0].item() == values[1].item() != values[2].item()
    values[0].backward()
    assert sigma.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"match": "conditional"}, "match must be one of marginal, joint, distribution"),
        ({"statistic": "w"}, "statistic must be one of u, v"),
        ({"expectation": "exact"}, "expectation must be one of closed, sampled"),
        ({"method": "quadratic"}, "method must be one of auto, pairwise, fused, linear"),
        ({"condition_bandwidth": 0.0}, "condition_bandwidth must be > 0"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        DistributionMatchingLoss(**options)


def test_bad_calls_say_what_to_do() -> None:
    mu, sigma, y, _ = make_batch(4)
    loss = DistributionMatchingLoss(match="joint")
    with pytest.raises(ParameterError, match="pass x"):
        loss(Normal(mu, sigma), y)
    with pytest.raises(ParameterError, match=r"needs .squeeze\(-1\)"):
        loss(Normal(mu[:, None], sigma[:, None]), y)
    with pytest.raises(ParameterError, match=r"y must have shape \(4,\)"):
        loss(Normal(mu, sigma), y[:, None])
    with pytest.raises(ParameterError, match=r"Expected a torch\.distributions\.Normal"):
        loss(torch.distributions.Laplace(mu, sigma), y)

"""What theory says of distribution matching, by simulation and by finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.special import ndtr, ndtri
from torch.distributions import Categorical, MixtureSameFamily, Normal

from calibrant import DistributionMatchingLoss
from calibrant.kernels import EnergyKernel, GaussianKernel
from calibrant.losses import kernel_score

# ---- coverage: the two theorems of the paper ----------------------------------------------------

LEVELS = np.linspace(0.05, 0.95, 19)
SIZES = np.array([100, 400, 1600, 6400])
REPEATS = 32


def fitted_by_likelihood(y: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Location and scale of each row of samples, (R, n), in closed form."""
    return y.mean(dim=1).numpy(), y.std(dim=1, correction=0).numpy()


def fitted_by_matching(y: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The same by minimising the squared MMD between the samples and the model's marginal."""
    loss = DistributionMatchingLoss(bandwidths=(0.25, 1.0, 4.0), method="linear")
    location = y.median(dim=1, keepdim=True).values.clone()
    log_scale = torch.zeros_like(location)
    parameters = [location.requires_grad_(), log_scale.requires_grad_()]
    optimiser = torch.optim.LBFGS(
        parameters, max_iter=25, tolerance_grad=1e-8, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        # One model for all rows of a sample: the batch dimension holds the repetitions.
        values = loss(Normal(location.expand_as(y), log_scale.exp().expand_as(y)), y)
        values.sum().backward()
        return values.sum().detach()

    optimiser.step(closure)
    return location.detach().numpy()[:, 0], log_scale.exp().detach().numpy()[:, 0]


def coverage_error(location: np.ndarray, scale: np.ndarray, sides: int) -> np.ndarray:
    """Mean over levels of |true coverage - level| where the truth is a standard normal, (R,)."""
    if sides == 1:
        covered = ndtr(location[:, None] + scale[:, None] * ndtri(LEVELS))
    else:
        half = scale[:, None] * ndtri(0.5 + 0.5 * LEVELS)
        covered = ndtr(location[:, None] + half) - ndtr(location[:, None] - half)
    return np.abs(covered - LEVELS).mean(axis=1)


@pytest.fixture(scope="module")
def fits() -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    rng = np.random.default_rng(0)
    samples = [torch.tensor(rng.normal(size=(REPEATS, n))) for n in SIZES]
    methods = {"likelihood": fitted_by_likelihood, "matching": fitted_by_matching}
    return {name: [fit(y) for y in samples] for name, fit in methods.items()}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["likelihood", "matching"])
@pytest.mark.parametrize("sides", [1, 2])
def test_coverage_error_falls_like_one_over_root_n(fits, method: str, sides: int) -> None:
    """Theorems 1 and 2: with a well-specified model the error is of order n^(-1/2)."""
    errors = np.array([coverage_error(*fit, sides) for fit in fits[method]])  # (sizes, R)
    log_n = np.log(SIZES) - np.log(SIZES).mean()
    logs = np.log(errors.mean(axis=1))
    slope = log_n @ logs / (log_n @ log_n)
    # Standard error of the log of a mean of R, carried through the least-squares line.
    of_logs = errors.std(axis=1, ddof=1) / errors.mean(axis=1) / math.sqrt(REPEATS)
    standard_error = np.linalg.norm(log_n * of_logs) / (log_n @ log_n)
    assert standard_error < 0.06  # or the test would say little
    assert abs(slope + 0.5) < 4 * standard_error


# ---- what the objectives see --------------------------------------------------------------------
def test_u_statistic_is_unbiased_under_the_null() -> None:
    rng = np.random.default_rng(3)
    loss = DistributionMatchingLoss(
        match="joint", bandwidths=[0.1, 1.0], statistic="u", condition_bandwidth=1.0
    )
    values = []
    for _ in range(300):
        mu, sigma = rng.normal(size=30), 0.2 + rng.random(30)
        y, x = mu + sigma * rng.normal(size=30), rng.normal(size=(30, 1))
        mu, sigma, y, x = (torch.tensor(a) for a in (mu, sigma, y, x))
        values.append(float(loss(Normal(mu, sigma), y, x)))
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(len(values))


def test_marginal_is_blind_to_a_collapsed_mean_and_joint_is_not() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + 0.3 * rng.normal(size=400)
    xt, yt = torch.tensor(x)[:, None], torch.tensor(y)
    truth = Normal(torch.tensor(x), torch.full((400,), 0.3, dtype=torch.float64))
    collapsed = Normal(torch.zeros(400).double(), torch.full((400,), np.sqrt(1.09)).double())
    marginal = DistributionMatchingLoss(match="marginal", bandwidths=[0.1, 1.0], statistic="u")
    joint = DistributionMatchingLoss(match="joint", bandwidths=[0.1, 1.0], statistic="u")
    assert float(marginal(collapsed, yt)) < 3 * abs(float(marginal(truth, yt))) + 5e-3
    assert float(joint(collapsed, yt, xt)) > 20 * abs(float(joint(truth, yt, xt)))


# ---- closed forms against draws -----------------------------------------------------------------

KERNELS = {"gaussian": GaussianKernel([0.05, 0.7]), "energy": EnergyKernel()}
DRAWS = 40_000


def mixture_of(components: int, seed: int) -> MixtureSameFamily:
    """One row, (1,), of a mixture."""
    rng = np.random.default_rng(seed)
    weights, means = rng.dirichlet(np.ones(components)), rng.normal(size=components)
    parts = Normal(torch.tensor(means)[None], torch.tensor(0.2 + rng.random(components))[None])
    return MixtureSameFamily(Categorical(probs=torch.tensor(weights)[None]), parts)


def between(kernel, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The kernel itself: its expectation without variance."""
    return kernel.expectation(a - b, torch.zeros_like(a))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("components", [1, 3])
def test_closed_form_against_monte_carlo(name: str, components: int) -> None:
    """``k(y, y) - 2 E k(Y, y) + E k(Y, Y')`` from independent draws, within 4 standard errors."""
    kernel, dist = KERNELS[name], mixture_of(components, seed=components)
    torch.manual_seed(0)
    first, second = dist.sample((DRAWS,))[:, 0], dist.sample((DRAWS,))[:, 0]
    y = torch.tensor([0.4], dtype=torch.float64)
    terms = (
        between(kernel, y, y)
        - between(kernel, first, y)
        - between(kernel, second, y)
        + between(kernel, first, second)
    )
    closed = float(kernel_score(dist, y, kernel))
    error = float(terms.std()) / math.sqrt(DRAWS)
    assert abs(float(terms.mean()) - closed) < 4 * error
    assert error < 0.02 * closed  # or the test would say little


@pytest.mark.parametrize("name", KERNELS)
def test_expectation_between_two_normals_against_monte_carlo(name: str) -> None:
    kernel, rng = KERNELS[name], np.random.default_rng(1)
    a = torch.tensor(0.3 + 0.5 * rng.normal(size=DRAWS))
    b = torch.tensor(-0.2 + 0.8 * rng.normal(size=DRAWS))
    values = between(kernel, a, b)
    distance, variance = (torch.tensor(v, dtype=torch.float64) for v in (0.5, 0.25 + 0.64))
    closed = float(kernel.expectation(distance, variance))
    assert abs(float(values.mean()) - closed) < 4 * float(values.std()) / math.sqrt(DRAWS)


# ---- gradients against finite differences -------------------------------------------------------


@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize(
    ("method", "match", "kernel"),
    [
        ("linear", "marginal", GaussianKernel([1.0, 4.0])),  # Gauss-Hermite nodes
        ("linear", "marginal", GaussianKernel([0.3])),  # the trapezoidal rule
        ("linear", "marginal", GaussianKernel([1e-3])),  # a grid
        ("linear", "joint", GaussianKernel([0.3])),  # random features
        ("fused", "marginal", GaussianKernel([0.1, 1.0])),
        ("fused", "joint", GaussianKernel([0.1, 1.0])),
        ("fused", "joint", EnergyKernel()),
    ],
)
def test_gradients_against_finite_differences(statistic, method, match, kernel) -> None:
    rng = np.random.default_rng(0)
    n, k = 5, 2
    arrays = rng.normal(size=(n, k)), rng.normal(size=(n, k)), 0.02 + rng.random((n, k))
    logits, means, spreads = (torch.tensor(a).requires_grad_() for a in arrays)
    y, x, weight = (
        torch.tensor(a) for a in (rng.normal(size=n), rng.random((n, 2)), rng.random(n))
    )
    loss = DistributionMatchingLoss(
        match, kernel=kernel, statistic=statistic, condition_bandwidth=0.5, method=method,
        features=16,
    )  # fmt: skip

    def value(logits: torch.Tensor, means: torch.Tensor, spreads: torch.Tensor) -> torch.Tensor:
        dist = MixtureSameFamily(Categorical(logits=logits), Normal(means, spreads))
        return loss(dist, y, x, weight)

    assert torch.autograd.gradcheck(value, (logits, means, spreads), atol=1e-7, rtol=1e-4)

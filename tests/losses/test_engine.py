"""The fast twins of distribution matching against the pairwise reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from calibrant.errors import ParameterError
from calibrant.kernels import (
    PUBLISHED_BANDWIDTHS,
    EnergyKernel,
    GaussianKernel,
    adaptive_bandwidths,
)
from calibrant.losses import DistributionMatchingLoss
from calibrant.losses._spectral import waves

SIZES = [1, 2, 3, 127]
BANDWIDTHS = {
    "published": PUBLISHED_BANDWIDTHS,
    "adaptive": adaptive_bandwidths(0.27),
    "narrow": (1e-7, 1e-5),
}


def batch(n: int, *, components: int = 1, members: int = 0, seed: int = 0):
    """Means, spreads, logits (requiring gradients), targets in [0, 1], inputs and weights."""
    rng = np.random.default_rng(seed)
    lead = (members,) if members else ()
    x = rng.random((*lead, n, 3))
    centre = 0.15 + 0.7 * x[..., :1]
    means = centre + 0.1 * rng.standard_normal((*lead, n, components)) * (components > 1)
    spreads = 0.03 + 0.1 * rng.random((*lead, n, components))
    logits = rng.standard_normal((*lead, n, components))
    y = centre[..., 0] + 0.12 * rng.standard_normal((*lead, n))
    weight = 0.2 + rng.random((*lead, n))
    return [torch.tensor(each) for each in (means, spreads, logits, y, x, weight)]


def predict(means, spreads, logits):
    if means.shape[-1] == 1:
        return Normal(means[..., 0], spreads[..., 0])
    return MixtureSameFamily(Categorical(logits=logits), Normal(means, spreads))


def value_and_gradients(loss, n, dtype=torch.float64, **options):
    *parameters, y, x, weight = (each.to(dtype) for each in batch(n, **options))
    for each in parameters:
        each.requires_grad_()
    value = loss(predict(*parameters), y, x, weight)
    value.sum().backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return value.detach(), [g.double() for g in gradients]


def compare(method: str, n: int, *, value_error: float, dtype=torch.float64, case=None, **options):
    truth = value_and_gradients(
        DistributionMatchingLoss(method="pairwise", **options), n, **(case or {})
    )
    twin = value_and_gradients(
        DistributionMatchingLoss(method=method, **options), n, dtype, **(case or {})
    )
    assert twin[0].dtype == torch.float64
    # The U-statistic of few rows is a difference of larger numbers: errors count against those.
    scale = truth[0].abs().clamp_min(1e-3 / n)
    assert ((twin[0] - truth[0]).abs() / scale).max() < value_error
    for ours, theirs in zip(twin[1], truth[1], strict=True):
        assert (ours - theirs).norm() <= 10 * value_error * theirs.norm() + 1e-9 * value_error


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("name", BANDWIDTHS)
def test_marginal_matching_in_linear_time(n: int, statistic: str, name: str) -> None:
    compare("linear", n, bandwidths=BANDWIDTHS[name], statistic=statistic, value_error=1e-9)


@pytest.mark.slow
def test_marginal_matching_of_many_rows() -> None:
    """4097 rows against the fused pass, and that against the matrix of pairs."""
    fused, linear, pairwise = (
        DistributionMatchingLoss(bandwidths=(1e-4, 1.0), method=method)
        for method in ("fused", "linear", "pairwise")
    )
    truth, gradients = value_and_gradients(fused, 4097)
    value, ours = value_and_gradients(linear, 4097)
    assert float((value / truth - 1).abs()) < 1e-9
    for mine, theirs in zip(ours, gradients, strict=True):
        assert (mine - theirs).norm() <= 1e-8 * theirs.norm()
    means, spreads, logits, y, x, weight = batch(4097)
    with torch.no_grad():
        matrix = pairwise(predict(means, spreads, logits), y, x, weight)
    assert float((truth / matrix - 1).abs()) < 1e-9


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_float32_input_keeps_five_digits(dtype: torch.dtype) -> None:
    """The rounding of the input itself is all that is left of float32."""
    for name in ("published", "adaptive"):
        compare(
            "linear", 500, bandwidths=BANDWIDTHS[name], statistic="v", dtype=dtype,
            value_error=1e-5,
        )  # fmt: skip


def test_very_many_rows_in_float32_waves(monkeypatch) -> None:
    """Above a size waves are computed in float32; the sums, and five digits, stay."""
    from calibrant.losses import _linear, _spectral

    monkeypatch.setattr(_linear, "_MANY", 1 << 30)  # no moments
    loss = DistributionMatchingLoss(bandwidths=PUBLISHED_BANDWIDTHS, method="linear")
    exact = value_and_gradients(loss, 20_000)
    monkeypatch.setattr(_spectral, "_MANY", 1000)
    value, gradients = value_and_gradients(loss, 20_000)
    assert float((value / exact[0] - 1).abs()) < 1e-5
    for ours, theirs in zip(gradients, exact[1], strict=True):
        assert (ours - theirs).norm() <= 1e-5 * theirs.norm()


def test_waves_are_kept_or_made_again(monkeypatch) -> None:
    from calibrant.losses import _linear, _spectral

    monkeypatch.setattr(_linear, "_MANY", 1 << 30)  # no moments
    loss = DistributionMatchingLoss(bandwidths=PUBLISHED_BANDWIDTHS, method="linear")
    made = []
    plain = _spectral.waves_at
    monkeypatch.setattr(_spectral, "waves_at", lambda *rows: made.append(rows) or plain(*rows))
    value, gradients = value_and_gradients(loss, 5_000)
    kept, _ = len(made), made.clear()
    monkeypatch.setattr(_spectral, "_KEPT", 0)
    again = value_and_gradients(loss, 5_000)
    assert len(made) > kept
    assert value == again[0]
    for ours, theirs in zip(gradients, again[1], strict=True):
        assert torch.equal(ours, theirs)


@pytest.fixture
def moments_of_few_rows(monkeypatch):
    """Moments for any number of rows, in several chunks."""
    from calibrant.losses import _linear, _moments, _spectral

    monkeypatch.setattr(_linear, "_MANY", 1)
    monkeypatch.setattr(_moments, "_ELEMENTS", 1 << 10)
    # What moments stand for must not be computed otherwise.
    monkeypatch.setattr(
        _spectral._Characteristic, "apply", lambda *_: pytest.fail("waves were taken")
    )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("bandwidths", [PUBLISHED_BANDWIDTHS, (0.07, 3.0)])
@pytest.mark.parametrize("case", [{}, {"components": 2, "members": 3}])
def test_moments(moments_of_few_rows, n: int, bandwidths, case: dict) -> None:
    for statistic in ("u", "v"):
        compare(
            "linear", n, bandwidths=bandwidths, statistic=statistic, case=case, value_error=1e-9
        )


def test_moments_of_equal_rows(moments_of_few_rows) -> None:
    """No range and no variance to divide by: the loss is 0, and so is its slope."""
    mean = torch.full((5,), 0.3, dtype=torch.float64).requires_grad_()
    dist = Normal(mean, torch.zeros(5), validate_args=False)
    value = DistributionMatchingLoss(method="linear")(dist, mean.detach())
    value.backward()
    assert abs(float(value.detach())) < 1e-20
    assert mean.grad.abs().max() < 1e-12


def test_a_member_without_a_number_keeps_to_itself(moments_of_few_rows) -> None:
    means, spreads, _, y, _, _ = batch(50, members=2)
    loss = DistributionMatchingLoss(method="linear")
    alone = loss(Normal(means[1, :, 0], spreads[1, :, 0]), y[1])
    means[0, 3] = torch.nan
    together = loss(Normal(means[..., 0], spreads[..., 0], validate_args=False), y)
    assert together[0].isnan()
    torch.testing.assert_close(together[1], alone, rtol=1e-9, atol=0)


@pytest.mark.parametrize("match", ["marginal", "joint", "distribution"])
@pytest.mark.parametrize("n", SIZES[:4])
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("kernel", [GaussianKernel(adaptive_bandwidths(0.27)), EnergyKernel()])
def test_fused(match: str, n: int, statistic: str, kernel) -> None:
    compare(
        "fused", n, match=match, statistic=statistic, kernel=kernel, condition_bandwidth=0.2,
        value_error=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "error"), [("published", 6e-4), ("adaptive", 2e-5)])
def test_fused_in_float32(name: str, error: float) -> None:
    compare(
        "fused", 300, match="joint", bandwidths=BANDWIDTHS[name], condition_bandwidth=0.2,
        dtype=torch.float32, value_error=error,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["linear", "fused"])
@pytest.mark.parametrize(
    "case", [{"components": 3}, {"members": 4}, {"components": 2, "members": 3}]
)
def test_mixtures_and_members(method: str, case: dict) -> None:
    for statistic in ("u", "v"):
        compare(
            method, 41, bandwidths=(1e-5, 1e-2, 1.0), statistic=statistic, case=case,
            value_error=1e-9,
        )  # fmt: skip


@pytest.mark.parametrize("method", ["pairwise", "fused", "linear"])
@pytest.mark.parametrize("match", ["joint", "distribution"])
@pytest.mark.parametrize("bandwidth", [torch.tensor([0.03, 0.4, 2.0]), None])
def test_each_member_has_a_bandwidth_of_its_own(method: str, match: str, bandwidth) -> None:
    """Three members at once are three calls, whose inputs differ in scale."""
    means, spreads, _, y, x, weight = batch(23, members=3)
    x = x * torch.tensor([0.2, 1.0, 5.0])[:, None, None]
    means.requires_grad_()

    def evaluate(own, members):
        loss = DistributionMatchingLoss(match, (0.02, 0.3), condition_bandwidth=own, method=method)
        parts = (each[members] for each in (means, spreads, y, x, weight))
        mean, spread, target, given, count = parts
        value = loss(Normal(mean[..., 0], spread[..., 0]), target, given, count)
        return value.detach(), torch.autograd.grad(value.sum(), means)[0]

    values, gradient = evaluate(bandwidth, slice(None))
    alone = [evaluate(None if bandwidth is None else float(bandwidth[m]), m) for m in range(3)]
    # float32 bandwidths are exact, their roots are not
    torch.testing.assert_close(values, torch.stack([each for each, _ in alone]))
    torch.testing.assert_close(gradient, sum(each for _, each in alone))


def test_members_share_an_input_under_bandwidths_of_their_own() -> None:
    means, spreads, _, y, x, _ = batch(19, members=2)
    own = torch.tensor([0.1, 0.7])
    dist = Normal(means[..., 0], spreads[..., 0])
    together = DistributionMatchingLoss("joint", condition_bandwidth=own)(dist, y, x[0])
    for m in range(2):
        loss = DistributionMatchingLoss("joint", condition_bandwidth=float(own[m]))
        alone = loss(Normal(means[m, :, 0], spreads[m, :, 0]), y[m], x[0])
        torch.testing.assert_close(together[m], alone)


def test_bandwidths_must_match_the_members() -> None:
    loss = DistributionMatchingLoss("joint", condition_bandwidth=torch.ones(3))
    means, spreads, _, y, x, _ = batch(5, members=2)
    with pytest.raises(ParameterError, match=r"one number for each batch, of shape \(2,\)"):
        loss(Normal(means[..., 0], spreads[..., 0]), y, x)
    with pytest.raises(ParameterError, match="must be > 0"):
        DistributionMatchingLoss("joint", condition_bandwidth=torch.tensor([1.0, 0.0]))


@pytest.mark.parametrize("statistic", ["u", "v"])
def test_energy_distance_of_draws_is_sorted(statistic: str) -> None:
    y, mu, sigma = (torch.tensor(a) for a in np.random.default_rng(0).random((3, 200)))
    mu.requires_grad_()
    results = []
    for method in ("pairwise", "linear"):
        loss = DistributionMatchingLoss(
            kernel=EnergyKernel(), expectation="sampled", statistic=statistic, method=method
        )
        value = loss(Normal(mu, sigma), y, generator=torch.Generator().manual_seed(0))
        results.append((value, *torch.autograd.grad(value, mu)))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("n", [*SIZES, 400])
@pytest.mark.parametrize("case", [{}, {"components": 2, "members": 3}])
def test_energy_distance_of_normals(n: int, case: dict) -> None:
    for statistic in ("u", "v"):
        options = {"kernel": EnergyKernel(), "statistic": statistic}
        compare("linear", n, value_error=1e-9, case=case, **options)


def test_energy_distance_of_normals_takes_waves_where_they_are_fewer(monkeypatch) -> None:
    from calibrant.losses import _energy

    monkeypatch.setattr(_energy, "fused_v", lambda *_, **__: torch.full((1,), -1.0))
    means, _, _, y, _, _ = batch(400)
    loss = DistributionMatchingLoss(kernel=EnergyKernel(), method="linear")
    assert loss(Normal(means[:, 0], 0.1), y) > 0
    assert loss(Normal(means[:, 0], 1e-5), y) == -1.0


def test_energy_distance_against_scipy() -> None:
    from scipy.stats import energy_distance

    a, b = np.random.default_rng(0).normal(size=(2, 500))
    points = Normal(torch.tensor(b), torch.full((500,), 1e-9, dtype=torch.float64))
    loss = DistributionMatchingLoss(kernel=EnergyKernel(), expectation="sampled")
    value = float(loss(points, torch.tensor(a), generator=torch.Generator().manual_seed(0)))
    assert value == pytest.approx(energy_distance(a, b) ** 2, rel=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-6, 1e-3, 0.03, 0.5, 1.0, 64.0])
@pytest.mark.parametrize("variance", [0.0, 0.01, 0.5])
def test_waves_are_the_kernel(bandwidth: float, variance: float) -> None:
    w, weight = waves(bandwidth, 1.3, variance)
    d = np.linspace(0, 1.3, 500)
    wide = bandwidth + 2 * variance
    truth = math.sqrt(bandwidth / wide) * np.exp(-0.5 * d**2 / wide) - 1.0
    damping = np.exp(-(w**2) * variance)
    assert np.abs((weight * damping) @ np.cos(np.outer(w, d)) - weight.sum() - truth).max() < 1e-11


def test_wide_kernels_need_few_waves() -> None:
    counts = [len(waves(h, 1.0, 0.02).frequencies) for h in PUBLISHED_BANDWIDTHS]
    assert sum(counts) <= 30


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


def test_auto_takes_the_fastest_exact_method() -> None:
    def chosen(y=None, **options):
        y = torch.zeros(3) if y is None else y
        return DistributionMatchingLoss(**options)._choose(y)

    assert chosen() == "linear"
    assert chosen(match="joint") == "fused"
    assert chosen(kernel=EnergyKernel()) == "linear"
    assert chosen(kernel=EnergyKernel(), y=torch.zeros(3, device="meta")) == "fused"
    assert chosen(kernel=EnergyKernel(), expectation="sampled") == "linear"
    assert chosen(y=torch.zeros(3, requires_grad=True)) == "pairwise"
    assert chosen(match="joint", method="pairwise") == "pairwise"


class OtherKernel:
    """A kernel of which nothing is known."""


@pytest.mark.parametrize(
    "options", [{"kernel": OtherKernel()}, {"kernel": EnergyKernel(), "match": "joint"}]
)
def test_linear_says_what_it_cannot_do(options: dict) -> None:
    loss = DistributionMatchingLoss(method="linear", **options)
    with pytest.raises(ParameterError, match='use method="fused"'):
        loss(Normal(torch.zeros(3), torch.ones(3)), torch.zeros(3), torch.zeros(3, 1))


def test_no_matrix_of_pairs_is_kept() -> None:
    """What the fused pass keeps for the gradient grows with n, not with its square."""
    mu, sigma, _, y, x, _ = batch(3000)
    mu.requires_grad_()
    loss = DistributionMatchingLoss(match="joint", bandwidths=(0.01,), condition_bandwidth=0.2)
    sizes: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.append(t.numel()) or t, lambda t: t
    ):
        loss(Normal(mu[:, 0], sigma[:, 0]), y, x)
    assert max(sizes) <= 3000

"""What every head keeps, and what heads do in fewer operations than torch (Triton: conftest)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Categorical

from calibrant import networks
from calibrant.networks import (
    GaussianHead,
    Head,
    MixtureHead,
    PointHead,
    QuantileHead,
    heads,
    quantiles,
)
from calibrant.networks.heads import bounded_scale
from calibrant.persistence import pack, unpack

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HEADS = [
    GaussianHead(),
    MixtureHead(3),
    MixtureHead(2, spikes=1),
    MixtureHead(2, spikes=1, submodels=3),
    PointHead(),
    QuantileHead((0.1, 0.5, 0.9)),
]
every_head = pytest.mark.parametrize("head", HEADS, ids=repr)


def test_every_head_is_tested() -> None:
    public = {name for name in networks.__all__ if name.endswith("Head")} - {"Head"}
    defined = {name for each in (heads, quantiles) for name in vars(each) if name.endswith("Head")}
    assert defined - {"Head"} == public
    assert {type(head).__name__ for head in HEADS} == public


@every_head
def test_training_and_users_see_the_same_distribution(head: Head) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(2, 6, head.n_outputs, generator=generator, dtype=torch.float64)
    y = torch.linspace(-2.0, 2.0, 6, dtype=torch.float64)
    trained = head.torch_distribution(outputs)
    assert trained.batch_shape == (2, 6)
    for member in range(2):
        shown = head.distribution(outputs[member])
        assert len(shown) == 6
        np.testing.assert_allclose(shown.cdf(y.numpy()), trained.cdf(y)[member], atol=1e-12)


@every_head
def test_networks_start_at_the_distribution_of_the_target(head: Head) -> None:
    bias = head.initial_bias(0.3, 2.0)
    fixed = torch.zeros(head.n_outputs - len(bias))  # those of spikes are not learned
    start = head.distribution(torch.cat([bias, fixed])[None].double())
    if not len(fixed):
        assert start.mean[0] == pytest.approx(0.3, abs=1e-6)
    assert 0.5 <= start.stddev[0] <= 2.5


@every_head
def test_heads_are_saved_with_a_model(head: Head) -> None:
    assert unpack(pack(head, {}, "head"), {}) == head


def test_the_weights_of_a_mixture_are_those_of_its_logits() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = 30.0 * torch.randn(2, 4, 9, generator=generator, dtype=torch.float64)
    outputs.requires_grad_()
    ours = MixtureHead(3).torch_distribution(outputs).mixture_distribution
    torchs = Categorical(logits=outputs[..., :3])
    assert ours.batch_shape == torchs.batch_shape == (2, 4)
    chosen = torch.tensor([[0, 1, 2, 0], [2, 2, 1, 0]])
    slopes = []
    for each in (ours, torchs):
        (each.log_prob(chosen).sum() + each.probs[..., 0].sum()).backward()
        slopes.append(outputs.grad.clone())
        outputs.grad = None
    torch.testing.assert_close(ours.logits, torchs.logits)
    torch.testing.assert_close(ours.probs, torchs.probs)
    torch.testing.assert_close(*slopes)
    assert ours.sample((5,)).shape == (5, 2, 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_scale_is_a_log_variance_between_two_softplus(dtype) -> None:
    given = torch.linspace(-40.0, 30.0, 201, dtype=dtype, requires_grad=True)
    bounded_scale(given).sum().backward()
    exact = given.detach().double().requires_grad_()
    below = 33.0 - torch.nn.functional.softplus(10.0 - exact, threshold=100.0)
    expected = torch.exp(0.5 * (torch.nn.functional.softplus(below, threshold=100.0) - 23.0))
    expected.sum().backward()
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    torch.testing.assert_close(
        bounded_scale(given).detach().double(), expected.detach(), rtol=tolerance, atol=0
    )
    torch.testing.assert_close(given.grad.double(), exact.grad, rtol=tolerance, atol=1e-20)


@pytest.mark.parametrize("shape", [(1,), (300,), (2, 7, 3)])
@pytest.mark.parametrize("part", [slice(None), slice(1, None, 2)])
def test_the_scale_in_triton_is_that_in_float64(shape, part) -> None:
    pytest.importorskip("triton", reason="Triton is not installed (Linux only)")
    from calibrant.networks.fast.triton_scale import bound_scale

    wide = torch.linspace(-40.0, 30.0, 2 * torch.Size(shape).numel(), device=DEVICE)
    log_variance = wide.view(*shape[:-1], 2 * shape[-1])[..., part]
    scale, slope = bound_scale(log_variance, -23.0, 10.0)
    exact = log_variance.double().requires_grad_()
    expected = bounded_scale(exact)
    expected.sum().backward()
    assert scale.shape == slope.shape == log_variance.shape
    torch.testing.assert_close(scale.double(), expected.detach(), rtol=1e-5, atol=0)
    torch.testing.assert_close(slope.double(), exact.grad, rtol=1e-5, atol=1e-20)


def test_no_log_variance_is_too_far_out_for_triton() -> None:
    pytest.importorskip("triton", reason="Triton is not installed (Linux only)")
    from calibrant.networks.fast.triton_scale import bound_scale

    far = torch.tensor([-1e4, 1e4, float("nan")], device=DEVICE)
    scale, slope = bound_scale(far, -23.0, 10.0)
    bounds = torch.tensor([-11.5, 5.0], device=DEVICE).exp()
    torch.testing.assert_close(scale[:2], bounds, rtol=1e-6, atol=0)
    assert (slope[:2] == 0).all()
    assert scale[2].isnan()
    assert slope[2].isnan()


def test_a_mixture_of_submodels_is_their_equal_mixture() -> None:
    """With spikes, whose fixed outputs the submodels share."""
    torch.manual_seed(0)
    head = MixtureHead(2, spikes=1, submodels=3)
    fixed = torch.tensor([0.5, -4.0]).expand(5, -1)
    own = torch.randn(5, head.n_outputs - 2)
    outputs = torch.cat([own, fixed], dim=-1)
    alone = MixtureHead(2, spikes=1)
    parts = [
        alone.torch_distribution(torch.cat([part, fixed], dim=-1))
        for part in own.view(5, 3, -1).unbind(dim=1)
    ]
    y = torch.linspace(-1.0, 1.0, 5)
    each = head.submodel_distribution(outputs)
    assert each.batch_shape == (3, 5)
    for k, part in enumerate(parts):
        torch.testing.assert_close(each.log_prob(y.expand(3, 5))[k], part.log_prob(y))
    pooled = head.torch_distribution(outputs)
    expected = torch.stack([part.cdf(y) for part in parts]).mean(dim=0)
    torch.testing.assert_close(pooled.cdf(y), expected)
    np.testing.assert_allclose(head.distribution(outputs).cdf(y.numpy()), expected, rtol=1e-5)
    np.testing.assert_allclose(head.initial_bias(0.2, 2.0), alone.initial_bias(0.2, 2.0).repeat(3))

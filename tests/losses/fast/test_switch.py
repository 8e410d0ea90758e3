"""Which path computes a loss."""

from __future__ import annotations

import pytest
import torch
from tests.losses.twins import rows
from torch.distributions import Normal

from calibrant.errors import ParameterError
from calibrant.kernels import EnergyKernel, GaussianKernel, Kernel
from calibrant.losses import DistributionMatchingLoss
from calibrant.losses.fast import switch
from calibrant.losses.fast.switch import choose_path


class OtherKernel(Kernel):
    """A kernel that no fast path knows."""

    def expectation(self, distance: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
        return 1.0 / (1.0 + distance**2 + variance)


def path(method="auto", match="marginal", kernel=None, y=None, needs_grad=False):
    kernel = kernel or GaussianKernel([1.0])
    y = torch.zeros(3) if y is None else y
    return choose_path(method, match, kernel, y, needs_grad=needs_grad)


def test_auto_takes_the_fastest_exact_path() -> None:
    assert path().name == "linear"
    assert path(match="joint").name == "fused"
    assert path(kernel=EnergyKernel()).name == "fused"
    assert path(kernel=OtherKernel()).name == "fused"
    assert path(needs_grad=True).name == "pairwise"


@pytest.mark.parametrize("match", ["marginal", "joint", "distribution"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_pairwise_is_always_the_reference(monkeypatch, match: str, dtype: torch.dtype) -> None:
    monkeypatch.setattr(switch, "triton_applies", lambda _: True)
    for kernel in (None, EnergyKernel(), OtherKernel()):
        chosen = path("pairwise", match, kernel, torch.zeros(10**6, dtype=dtype))
        assert chosen == ("pairwise", torch.float64)


def test_triton_takes_gaussian_kernels_in_the_dtype_of_the_data(monkeypatch) -> None:
    monkeypatch.setattr(switch, "triton_applies", lambda _: True)
    assert path() == ("linear_triton", torch.float32)
    assert path("fused") == ("fused_triton", torch.float32)
    assert path("fused", y=torch.zeros(3, dtype=torch.float16)).dtype == torch.float32
    assert path("fused", kernel=EnergyKernel()).name == "fused"
    assert path("linear", "joint") == ("features", torch.float64)


@pytest.mark.parametrize("match", ["marginal", "joint"])
def test_linear_says_what_it_cannot_do(match: str) -> None:
    loss = DistributionMatchingLoss(match, kernel=EnergyKernel(), method="linear")
    with pytest.raises(ParameterError, match="needs Gaussian kernels, got EnergyKernel"):
        loss(Normal(torch.zeros(3), torch.ones(3)), torch.zeros(3), torch.zeros(3, 1))


def test_weights_with_a_gradient_take_the_reference() -> None:
    mu, sigma, y, _ = rows()
    gradients = []
    for method in ("auto", "pairwise"):
        weight = torch.linspace(0.5, 1.0, 40, dtype=torch.float64).requires_grad_()
        DistributionMatchingLoss(method=method)(Normal(mu, sigma), y, None, weight).backward()
        gradients.append(weight.grad)
    torch.testing.assert_close(*gradients)

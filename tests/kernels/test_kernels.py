"""Kernels against Monte Carlo, integration and their own limits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from calibrant import kernels
from calibrant.errors import ParameterError
from calibrant.kernels import (
    PUBLISHED_BANDWIDTHS,
    EnergyKernel,
    GaussianKernel,
    Kernel,
    adaptive_bandwidths,
    condition_kernel,
    median_squared_distance,
)

KERNELS = {
    "gaussian": (
        GaussianKernel([0.05, 1.0, 16.0]),
        lambda d: sum(np.exp(-(d**2) / (2 * h)) for h in (0.05, 1.0, 16.0)),
    ),
    "energy": (EnergyKernel(), lambda d: -np.abs(d)),
}


def test_every_kernel_is_tested() -> None:
    public = {getattr(kernels, name) for name in kernels.__all__}
    known = {each for each in public if isinstance(each, type) and issubclass(each, Kernel)}
    assert known - {Kernel} == {type(kernel) for kernel, _ in KERNELS.values()}


@pytest.fixture(params=list(KERNELS))
def kernel_and_formula(request: pytest.FixtureRequest):
    return KERNELS[request.param]


def test_no_variance_gives_the_kernel_itself(kernel_and_formula) -> None:
    kernel, formula = kernel_and_formula
    d = torch.linspace(-4, 4, 17, dtype=torch.float64)
    value = kernel.expectation(d, torch.zeros_like(d))
    np.testing.assert_allclose(value, formula(d.numpy()), atol=1e-14)


@pytest.mark.parametrize("variance", [1e-4, 0.3, 25.0])
@pytest.mark.parametrize("distance", [-2.0, 0.0, 0.7])
def test_expectation_is_the_integral_over_the_normal(
    kernel_and_formula, distance: float, variance: float
) -> None:
    kernel, formula = kernel_and_formula
    normal = stats.norm(distance, np.sqrt(variance))
    low, high = normal.ppf(1e-13), normal.ppf(1 - 1e-13)
    breaks = [p for p in (0.0, distance) if low < p < high]
    truth, _ = integrate.quad(
        lambda t: formula(t) * normal.pdf(t), low, high, points=breaks, epsabs=1e-11, limit=400
    )
    value = kernel.expectation(
        torch.tensor(distance, dtype=torch.float64), torch.tensor(variance, dtype=torch.float64)
    )
    assert float(value) == pytest.approx(truth, rel=1e-7, abs=1e-9)


def test_gradients_against_finite_differences(kernel_and_formula) -> None:
    kernel: Kernel = kernel_and_formula[0]
    d = torch.tensor([-1.5, 0.2, 0.9], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([0.4, 1.0, 2.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(kernel.expectation, (d, v))


def test_closed_form_of_the_gradient_is_that_of_autograd(kernel_and_formula) -> None:
    kernel: Kernel = kernel_and_formula[0]
    d = torch.linspace(-3.0, 3.0, 21, dtype=torch.float64).view(7, 3)
    v = torch.tensor([0.1, 1.0, 4.0], dtype=torch.float64)
    torch.testing.assert_close(
        kernel.value_and_grad(d, v), Kernel.value_and_grad(kernel, d, v), rtol=1e-9, atol=1e-12
    )


def test_energy_gradient_is_finite_between_equal_points() -> None:
    d = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    EnergyKernel().expectation(d, torch.zeros(3, dtype=torch.float64)).sum().backward()
    assert torch.isfinite(d.grad).all()


def test_condition_kernel_formula() -> None:
    z = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    assert float(condition_kernel(z / np.sqrt(2.0))[0, 1]) == pytest.approx(np.exp(-25 / 4))


def test_bandwidth_rules() -> None:
    assert PUBLISHED_BANDWIDTHS == (1, 4, 8, 16, 32, 64)
    assert adaptive_bandwidths(2.0)[0] == pytest.approx(0.01)
    z = torch.randn(5000, 3, generator=torch.Generator().manual_seed(0))
    # |z - z'|^2 of standard normals is twice a chi-squared with three degrees of freedom
    assert float(median_squared_distance(z)) == pytest.approx(2 * stats.chi2(3).median(), rel=0.05)
    assert median_squared_distance(torch.zeros(7, 2)) == 1.0
    assert median_squared_distance(torch.zeros(1, 2)) == 1.0


@pytest.mark.parametrize("bandwidths", [[], [1.0, 0.0], [-1.0]])
def test_bad_bandwidths(bandwidths: list[float]) -> None:
    with pytest.raises(ParameterError, match="non-empty list of positive numbers"):
        GaussianKernel(bandwidths)

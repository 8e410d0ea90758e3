"""The contract of kernels on the target."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Kernel(ABC):
    """A translation-invariant kernel k(a - b) on the real line.

    Distribution matching only needs the expected kernel between two normal distributions: a point
    is a normal of variance 0, a mixture is a weighted sum of normals. A new kernel therefore has
    to write `expectation` alone.
    """

    @abstractmethod
    def expectation(self, distance: Tensor, variance: Tensor) -> Tensor:
        """E k(D) for D normal with mean `distance` and the given variance, element by element.

        For independent normals A and B, ``E k(A, B)`` has the difference of their means and the
        sum of their variances; variance 0 gives the kernel itself. `variance` broadcasts to the
        shape of `distance`.
        """

    def value_and_grad(self, distance: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Expectation and its derivatives in distance and variance, each like `distance`.

        Here by autograd; kernels override it with a closed form, which is faster.
        """
        with torch.enable_grad():
            d = distance.detach().requires_grad_()
            v = variance.detach().expand_as(distance).requires_grad_()
            value = self.expectation(d, v)
            by_distance, by_variance = torch.autograd.grad(value.sum(), (d, v))
        return value.detach(), by_distance, by_variance

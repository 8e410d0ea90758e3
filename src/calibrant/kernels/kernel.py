"""The contract of kernels on the target."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Kernel(Protocol):
    """A translation-invariant kernel k(a - b) on the real line.

    All that distribution matching needs is the kernel between two normal distributions: a
    point is a normal of no variance, a mixture is a weighted sum of normals.
    """

    def expectation(self, distance: Tensor, variance: Tensor) -> Tensor:
        """E k(D) for D normal with the given mean and variance, element by element.

        For independent normals A and B, ``E k(A, B)`` has the distance of their means and the
        sum of their variances; variance 0 gives the kernel itself.
        """
        ...

    def slopes(self, distance: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Expectation and its derivatives by distance and by variance."""
        ...

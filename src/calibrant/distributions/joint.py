"""Joint predictive distributions of several outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, as_numbers
from calibrant.distributions._base import Distribution
from calibrant.distributions.copula import joint_sample
from calibrant.errors import DataError, ParameterError


class JointDistribution:
    """Predictive distributions of n rows and m outputs: a marginal per output, and a copula.

    Parameters
    ----------
    marginals : sequence of m distributions of n rows
    correlation : array of shape (m, m), optional
        Correlation of the normal scores of the outputs; independent without it.
    names : sequence of m str, optional
        "y0", "y1" ... without it.

    Examples
    --------
    >>> from calibrant.distributions import JointDistribution, Normal
    >>> parts = [Normal([0.0, 1.0], [1.0, 1.0]), Normal([5.0, 6.0], [2.0, 2.0])]
    >>> dist = JointDistribution(parts, [[1.0, 0.7], [0.7, 1.0]], names=["co", "nox"])
    >>> dist.mean
    array([[0., 5.],
           [1., 6.]])
    >>> dist.marginal("nox").interval(0.9).round(2)
    array([[1.71, 8.29],
           [2.71, 9.29]])
    >>> dist.sample(100, random_state=0).shape
    (2, 100, 2)
    """

    def __init__(
        self,
        marginals: Sequence[Distribution],
        correlation: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.marginals = tuple(marginals)
        m = len(self.marginals)
        if m == 0 or len({len(each) for each in self.marginals}) > 1:
            raise DataError(
                "A joint distribution needs marginals with as many rows each, got "
                f"{[len(each) for each in self.marginals]} rows."
            )
        self.correlation = np.eye(m) if correlation is None else as_numbers(correlation, "it")
        if self.correlation.shape != (m, m) or not np.allclose(np.diag(self.correlation), 1.0):
            raise ParameterError(
                f"correlation must have shape ({m}, {m}) with ones on its diagonal, got shape "
                f"{self.correlation.shape}."
            )
        self.names = tuple(f"y{j}" for j in range(m)) if names is None else tuple(names)
        if len(self.names) != m or len(set(self.names)) < m:
            raise ParameterError(
                f"names must be {m} different names, one per output, got {list(self.names)}."
            )

    def marginal(self, output: int | str) -> Distribution:
        """Return the distribution of one output, by its name or position."""
        if isinstance(output, str):
            if output not in self.names:
                raise ParameterError(
                    f"There is no output {output!r}; the outputs are {', '.join(self.names)}."
                )
            return self.marginals[self.names.index(output)]
        return self.marginals[output]

    def independent(self) -> JointDistribution:
        """Return the same marginals without dependence between the outputs."""
        return JointDistribution(self.marginals, None, self.names)

    @property
    def mean(self) -> Array:
        """Expectations, (n, m)."""
        return self._of_each(lambda dist: dist.mean)

    @property
    def stddev(self) -> Array:
        """Standard deviations, (n, m)."""
        return self._of_each(lambda dist: dist.stddev)

    def ppf(self, q: ArrayLike) -> Array:
        """Quantiles of each output, (n, m), or (n, m, L) for L levels."""
        return self._of_each(lambda dist: dist.ppf(q))

    def interval(self, coverage: ArrayLike = 0.9) -> Array:
        """Central intervals of each output, (n, m, 2), or (n, m, 2, L) for L coverages."""
        return self._of_each(lambda dist: dist.interval(coverage))

    def sample(self, k: int = 1, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw k joint values per row, (n, k, m)."""
        if k < 1:
            raise ParameterError(f"sample needs k >= 1, got {k}.")
        drawn = joint_sample(self.marginals, self.correlation, k, random_state)
        return drawn.transpose(1, 0, 2)

    def _of_each(self, what: Callable[[Distribution], Array]) -> Array:
        return np.stack([what(dist) for dist in self.marginals], axis=1)

    def __len__(self) -> int:
        return len(self.marginals[0])

    def __getitem__(self, rows: Any) -> Self:
        """Rows by position, slice, mask or index array, with all outputs."""
        return type(self)([dist[rows] for dist in self.marginals], self.correlation, self.names)

    def __array__(self, *args: object, **options: object) -> Array:
        raise TypeError(f"{type(self).__name__} is not an array; ask for its mean, ppf, sample ...")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows, outputs {', '.join(self.names)})"

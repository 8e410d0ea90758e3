"""The contract of predictive distributions."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Flags, as_numbers, check_levels, percent_hint, show
from calibrant.distributions._chunks import over_rows, row_chunks
from calibrant.distributions._costs import mean_distance, unit_costs
from calibrant.distributions._rows import RowWise, row_positions
from calibrant.distributions._search import without_crossing
from calibrant.errors import DataError, MissingDependencyError, ParameterError

# What scipy, torch and pandas call the same.
_OTHER_NAMES = {
    **dict.fromkeys(("quantile", "quantiles", "icdf"), "ppf(q)"),
    **dict.fromkeys(("std", "sd"), "stddev"),
    **dict.fromkeys(("pdf", "prob"), "exp(log_prob(y))"),
    **{"var": "variance", "logpdf": "log_prob(y)", "sf": "prob_above(y)", "rvs": "sample(n)"},
}


class Distribution(RowWise, ABC):
    """Predictive distributions of ``n`` rows, one per row.

    Public methods check and reshape their arguments, then hand chunks of rows to private methods,
    which see only matrices: ``y`` of shape (n, k) and levels of shape (1, k) or (n, k).

    Notes
    -----
    Shapes for n rows: ``cdf(y)``, ``cdf_left(y)``, ``log_prob(y)``, ``crps(y)`` and
    ``prob_above(t)`` are (n,) for a scalar or an (n,) argument and (n, k) for an (n, k) one;
    ``ppf(0.9)`` is (n,), ``ppf([.1, .9])`` is (n, 2); ``interval(0.9)`` is (n, 2) and
    ``interval([.5, .9])`` is (n, 2, 2): row, bound, level; ``sample(k)`` is (n, k).
    """

    _epistemic_share: Array | None = None  # share of the variance, (n,); None where unknown

    # ---- what a subclass writes -------------------------------------------------------------

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    @abstractmethod
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""

    @property
    @abstractmethod
    def variance(self) -> Array:
        """Variance of each row, (n,)."""

    @abstractmethod
    def _cdf(self, y: Array) -> Array: ...

    @abstractmethod
    def _ppf(self, tail: Array, upper: Flags) -> Array:
        """Quantiles of tail probabilities: P(Y <= .) = tail or, where upper, P(Y > .) = tail.

        A level is given as its nearer tail because 1 - 1e-12 has lost the digits of 1e-12.
        """

    @abstractmethod
    def _log_prob(self, y: Array) -> Array: ...

    @abstractmethod
    def _crps(self, y: Array) -> Array: ...

    @abstractmethod
    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Distribution:
        """Return the distribution of ``loc + scale * Y``, with ``scale > 0``.

        Parameters
        ----------
        loc, scale : float or array of shape (n,)
        """

    @abstractmethod
    def _panels(self) -> Array:
        """Edges of panels that a wrapper of this distribution integrates over, sorted, (n, P).

        All but a vanishing part of the mass lies between the first and the last, and the cdf is
        smooth, or constant, between neighbours; P >= 2.
        """

    def _cdf_left(self, y: Array) -> Array:
        return self._cdf(y)

    def _sf(self, y: Array) -> Array:
        return 1.0 - self._cdf(y)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        level = np.maximum(rng.random((len(self), n)), 2.0**-54)  # 0 would be minus infinity
        upper = level > 0.5
        return self._ppf(np.where(upper, 1.0 - level, level), upper)

    def _mean_and_shortfall(self, y: Array) -> tuple[Array, Array, Array] | None:
        """Mean, (n,), ``E max(y - Y, 0)`` and cdf, (n, k), or None where they need an integral.

        Single rows that need one have a mean of nan.
        """
        return None

    def _cells_per_row(self) -> int:
        """About how many numbers temporary tables hold per row; sets the size of chunks."""
        return 1

    # ---- what users call --------------------------------------------------------------------

    @property
    def stddev(self) -> Array:
        """Standard deviation of each row, (n,)."""
        return np.sqrt(self.variance)

    @property
    def epistemic(self) -> Array:
        """Part of the variance that comes from uncertainty about the model, (n,)."""
        return self._epistemic_part() * self.variance

    @property
    def aleatoric(self) -> Array:
        """Part of the variance that more data would not remove, (n,)."""
        return (1.0 - self._epistemic_part()) * self.variance

    def with_epistemic(self, variance: ArrayLike) -> Self:
        """Return the same distribution with a known epistemic part of its variance.

        Parameters
        ----------
        variance : array of shape (n,)
            At most the variance of each row.
        """
        part, whole = as_numbers(variance, "variance"), self.variance
        # Stored as a share it holds in any unit and after any recalibration.
        share = np.divide(part, whole, out=np.zeros(len(self)), where=whole > 0)
        return self._with(_epistemic_share=np.clip(share, 0.0, 1.0))

    def _epistemic_part(self) -> Array:
        """Share of the variance that is epistemic, (n,)."""
        if self._epistemic_share is None:
            raise ParameterError(
                "This distribution does not know its epistemic and aleatoric parts: they come from "
                "methods with several members or passes, such as DeepEnsembleRegressor or "
                "HeteroscedasticRegressor with dropout and mc_passes, and from LaplaceRegressor."
            )
        return self._epistemic_share

    @property
    def median(self) -> Array:
        """Median of each row, (n,)."""
        return self.ppf(0.5)

    def cdf(self, y: ArrayLike) -> Array:
        """P(Y <= y); shapes as in the notes of `Distribution`."""
        return self._at(lambda part, at: part._cdf(at), y)

    def cdf_left(self, y: ArrayLike) -> Array:
        """P(Y < y): the limit of the cdf from below, equal to it where continuous."""
        return self._at(lambda part, at: part._cdf_left(at), y)

    def prob_above(self, threshold: ArrayLike) -> Array:
        """P(Y > threshold), without the cancellation of ``1 - cdf`` where a tail is known."""
        return self._at(lambda part, at: part._sf(at), threshold)

    def log_prob(self, y: ArrayLike) -> Array:
        """Logarithm of the density, or of the mass where y is an atom."""
        return self._at(lambda part, at: part._log_prob(at), y)

    def crps(self, y: ArrayLike) -> Array:
        """Continuous ranked probability score, ``int (F(t) - 1{t >= y})^2 dt``, >= 0."""
        return self._at(lambda part, at: part._crps(at), y, finite=True)

    def ppf(self, q: ArrayLike) -> Array:
        """Quantiles ``inf {y : F(y) >= q}``, which never cross.

        Levels 0 and 1 give the ends of the support, which may be infinite.

        Parameters
        ----------
        q : float, array of shape (L,) (levels common to all rows) or (n, L)

        Returns
        -------
        array of shape (n,) for a scalar, otherwise (n, L)
        """
        levels = as_numbers(q, "Quantile levels")
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ParameterError(
                f"Quantile levels must lie in [0, 1], got {show(levels)}.{percent_hint(levels)}"
            )
        if levels.ndim > 2 or (levels.ndim == 2 and levels.shape[0] not in (1, len(self))):
            raise ParameterError(
                f"Levels must be a scalar, (L,) or ({len(self)}, L), got shape {levels.shape}."
            )
        table = levels if levels.ndim == 2 else levels.reshape(1, -1)
        out = np.empty((len(self), table.shape[1]))

        def work(rows: slice) -> None:
            at = table if len(table) == 1 else table[rows]
            upper = at > 0.5
            found = self._part(rows)._ppf(np.where(upper, 1.0 - at, at), upper)
            out[rows] = without_crossing(found, at)

        over_rows(len(self), out.shape[1] + self._cells_per_row(), work)
        return out[:, 0] if levels.ndim == 0 else out

    def expected_cost(self, decision: ArrayLike, *, under: ArrayLike, over: ArrayLike) -> Array:
        """Expected cost ``under E(Y - d)+ + over E(d - Y)+`` of a decision d.

        Parameters
        ----------
        decision : float, or array of shape (n,) or (n, k)
            Such as a quantity to order, a capacity to reserve.
        under, over : float or array of shape (n,)
            Cost of one unit too little, and of one unit too much; above 0.

        Returns
        -------
        array of shape (n,), or (n, k) for (n, k) decisions

        Examples
        --------
        >>> from calibrant.distributions import Normal
        >>> demand = Normal([100.0], [20.0])
        >>> demand.expected_cost(100.0, under=3.0, over=1.0).round(2)
        array([31.92])
        """
        cost_under, cost_over = unit_costs(under, over, len(self))
        values = self._checked_values(decision, finite=True)
        distance = self._at(mean_distance, values)
        excess = values - self.mean[:, None]  # of d over Y, on average
        cost = 0.5 * (cost_under * (distance - excess) + cost_over * (distance + excess))
        return cost if np.ndim(decision) == 2 else cost[:, 0]

    def newsvendor(self, *, under: ArrayLike, over: ArrayLike) -> Array:
        """Return the decision with the lowest expected cost, (n,): the quantile u / (u + o).

        Parameters
        ----------
        under, over : float or array of shape (n,)
            Cost of one unit too little, and of one unit too much; above 0.

        Examples
        --------
        >>> from calibrant.distributions import Normal
        >>> Normal([100.0], [20.0]).newsvendor(under=3.0, over=1.0).round(2)
        array([113.49])
        """
        cost_under, cost_over = unit_costs(under, over, len(self))
        return self.ppf(cost_under / (cost_under + cost_over))[:, 0]

    def interval(self, coverage: ArrayLike = 0.9) -> Array:
        """Central interval between the levels ``(1 - coverage) / 2`` and ``(1 + coverage) / 2``.

        Returns
        -------
        array of shape (n, 2) for one coverage, (n, 2, L) for L of them
        """
        share = check_levels(coverage, "coverage")
        tails = (1.0 - np.atleast_1d(share)) / 2.0
        bounds = self.ppf(np.concatenate([tails, 1.0 - tails]))  # (n, 2 L)
        bounds = bounds.reshape(len(self), 2, len(tails))
        return bounds[:, :, 0] if share.ndim == 0 else bounds

    def sample(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw n values per row, (len(self), n).

        Parameters
        ----------
        random_state : int, Generator or None
            Seed or generator; None draws differently each time.
        """
        try:
            count = operator.index(n)
        except TypeError as cause:
            raise ParameterError(f"sample needs a whole number n, got {n!r}.") from cause
        if count < 1:
            raise ParameterError(f"sample needs n >= 1, got {n}.")
        try:
            rng = np.random.default_rng(random_state)
        except (TypeError, ValueError) as cause:
            raise ParameterError(
                "random_state must be None, a whole number >= 0 or a numpy Generator, "
                f"got {random_state!r}."
            ) from cause
        out = np.empty((len(self), count))
        for rows in row_chunks(len(self), count + self._cells_per_row()):
            out[rows] = self._part(rows)._sample(count, rng)
        return out

    # ---- other libraries --------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Return a frozen distribution of ``scipy.stats`` with the same cdf and quantiles.

        It has the shape (n,), one entry per row; arguments broadcast with it. A normal is
        ``scipy.stats.norm``. Where a distribution has atoms, cdf and quantiles hold; a density
        does not exist there.
        """
        from calibrant.distributions.to_scipy import to_scipy

        return to_scipy(self)

    def to_torch(self) -> Any:
        """Return a ``torch.distributions`` object of batch shape (n,), in float64.

        Normals and mixtures of normals become those of torch, with gradients; others get ``cdf``,
        ``icdf``, ``log_prob``, ``sample``, ``mean`` and ``variance`` without.
        """
        from calibrant.distributions.to_torch import to_torch

        return to_torch(self)

    def to_skpro(self, index: Any = None, columns: Any = None) -> Any:
        """Return an skpro distribution of shape (n, 1) (extra ``sktime``).

        Parameters
        ----------
        index, columns : labels of the n rows and of the target, optional
        """
        try:
            from calibrant.distributions.to_skpro import to_skpro
        except ImportError as cause:
            raise MissingDependencyError(
                "to_skpro needs skpro: pip install 'calibrant[sktime]'."
            ) from cause
        return to_skpro(self, index, columns)

    def to_arrow(self, coverage: ArrayLike = 0.9, alpha: ArrayLike = ()) -> Any:
        """Return means, spreads, intervals and quantiles as a ``pyarrow.Table`` of n rows.

        Any library that reads Arrow streams (``__arrow_c_stream__``) takes it without a copy:
        polars, DuckDB, pandas and others.

        Parameters
        ----------
        coverage, alpha : float or array of shape (L,)
            Of the intervals and of the quantiles, in columns such as ``lower_90``, ``upper_90``
            and ``quantile_5``.
        """
        from calibrant.distributions.prediction_table import as_container, prediction_columns

        return as_container(prediction_columns(self, coverage, alpha), "arrow")

    def moments_and_crps(self, y: ArrayLike) -> tuple[Array, Array, Array]:
        """Return mean, variance and CRPS at y: where they are integrals, cheaper than one by one.

        Parameters
        ----------
        y : array of shape (n,) or (n, k)

        Returns
        -------
        mean, variance : arrays of shape (n,)
        crps : array of the shape of y
        """
        return self.mean, self.variance, self.crps(y)

    # ---- rows -------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Self:
        """Rows by position, slice, mask or index array; a whole number gives one row."""
        rows = index if isinstance(index, slice) else row_positions(index, len(self))
        return self._take(rows)

    def __array__(self, *args: object, **options: object) -> NoReturn:
        # Without this NumPy would index rows of rows of rows.
        raise TypeError(f"{type(self).__name__} is not an array; ask for its mean, ppf, sample ...")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows)"

    def _row_names(self) -> tuple[str, ...]:
        known = self._epistemic_share is not None
        return (*self._row_parts, "_epistemic_share") if known else self._row_parts

    def _part(self, rows: slice) -> Self:
        """Return a chunk of rows, without a copy where it is all of them."""
        return self if (rows.start, rows.stop) == (0, len(self)) else self._take(rows)

    if not TYPE_CHECKING:  # mypy would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name in _OTHER_NAMES:
                raise AttributeError(
                    f"{type(self).__name__} has no {name!r}: use {_OTHER_NAMES[name]}."
                )
            return super().__getattribute__(name)  # the error of Python

    # ---- shapes -----------------------------------------------------------------------------

    def _at(
        self,
        core: Callable[[Distribution, Array], Array],
        y: ArrayLike,
        *,
        finite: bool = False,
    ) -> Array:
        """Evaluate a private method at y, chunk by chunk."""
        values = self._checked_values(y, finite=finite)
        out = np.empty(values.shape)

        def work(rows: slice) -> None:
            out[rows] = core(self._part(rows), values[rows])

        over_rows(len(self), values.shape[1] + self._cells_per_row(), work)
        return out if np.ndim(y) == 2 else out[:, 0]

    def _checked_values(self, y: ArrayLike, *, finite: bool) -> Array:
        """Return y, one value, (n,) or (n, k) of them, as (n, k)."""
        values, n = as_numbers(y, "y", DataError), len(self)
        if values.ndim > 2 or (values.ndim > 0 and values.shape[0] != n):
            raise DataError(
                f"Expected one value, ({n},) or ({n}, k) values for {n} rows, "
                f"got an array of shape {values.shape}."
            )
        wrong = ~np.isfinite(values) if finite else np.isnan(values)
        if wrong.any():
            raise DataError(
                f"y must be {'finite' if finite else 'numbers'}, got {show(values[wrong])}."
            )
        return values if values.ndim == 2 else np.broadcast_to(values, (n,))[:, None]

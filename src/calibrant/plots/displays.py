"""Displays as in scikit-learn: figures from an estimator, or from its predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.plots._intervals import intervals
from calibrant.plots._pit import pit_histogram
from calibrant.plots._reliability import reliability
from calibrant.plots._sharpness import sharpness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ForecastDisplay(ABC):
    """A forecast and its targets, ready to be drawn.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)
        Observed targets.
    name : str
        Name of the model, for legend or title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    """

    ax_: Axes

    def __init__(self, dist: Distribution, y: ArrayLike, *, name: str = "") -> None:
        self.dist = dist
        self.y = y
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Predict the rows of X with a fitted model and draw.

        Parameters
        ----------
        estimator : fitted model with ``predict_dist``
        X : array or frame of shape (n, d)
        y : array of shape (n,) or (n, 1)
            Observed targets.
        name : str, optional
            Name of the model; its class by default.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **options
            Keyword arguments of the function that draws.
        """
        if not hasattr(estimator, "predict_dist"):
            raise ParameterError(
                f"Expected a model with predict_dist, got {type(estimator).__name__}. A model "
                "with predict alone becomes one in ConformalRecalibrator().fit(model, X, y)."
            )
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(estimator.predict_dist(X), y, name=name, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        dist: Distribution,
        y: ArrayLike,
        *,
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a predicted distribution; the parameters are those of the class and of `plot`."""
        return cls(dist, y, name=name).plot(ax=ax, **options)

    def plot(self, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw into `ax`, or a new figure, with keyword arguments of the function that draws."""
        self.ax_ = self._draw(ax=ax, **options)
        return self

    @property
    def figure_(self) -> Figure:
        """Figure that `ax_` belongs to."""
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        return figure

    @abstractmethod
    def _draw(self, **options: Any) -> Axes: ...


class ReliabilityDisplay(ForecastDisplay):
    """Reliability diagram of one model; see `reliability`.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions(Normal([0.0, 0.0], [1.0, 1.0]), [0.5, -1.0])
    >>> display.ax_.get_xlabel()
    'nominal coverage of the central interval (probability)'
    """

    def _draw(self, **options: Any) -> Axes:
        return reliability({self.name: self.dist}, self.y, **options)


class PITDisplay(ForecastDisplay):
    """PIT histogram of one model; see `pit_histogram`."""

    def _draw(self, **options: Any) -> Axes:
        ax = pit_histogram(self.dist, self.y, **options)
        ax.set_title(self.name, fontsize="medium")
        return ax


class IntervalDisplay(ForecastDisplay):
    """Intervals of one model over its rows; see `intervals`."""

    def _draw(self, **options: Any) -> Axes:
        return intervals(self.dist, self.y, **options)


class SharpnessDisplay(ForecastDisplay):
    """Widths of the intervals of one model; see `sharpness`."""

    def _draw(self, **options: Any) -> Axes:
        return sharpness({self.name: self.dist}, **options)

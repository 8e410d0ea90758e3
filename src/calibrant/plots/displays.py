"""Figures as scikit-learn draws them: from an estimator, or from its predictions."""

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
    from matplotlib.collections import Collection
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


class ForecastDisplay(ABC):
    """A forecast and its targets, ready to be drawn again and again.

    Parameters
    ----------
    dist : Distribution of n rows
        The forecast.
    y : array of shape (n,) or (n, 1)
        Observed targets.
    name : str, optional
        Of the model, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
        What `ax_` belongs to.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, dist: Distribution, y: ArrayLike, *, name: str | None = None) -> None:
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
        estimator : fitted model
            Of this library or any other, with ``predict_dist``.
        X : array or frame of shape (n, d)
            Rows to predict.
        y : array of shape (n,) or (n, 1)
            Their observed targets.
        name : str, optional
            For the legend; the name of the class if None.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **options
            Keyword arguments of the function that draws.

        Returns
        -------
        display
            With the drawn parts as attributes.
        """
        if not hasattr(estimator, "predict_dist"):
            raise ParameterError(
                f"Expected a model with predict_dist, got {type(estimator).__name__}. A model "
                "with predict alone becomes one in ConformalRecalibrator().fit(model, X, y)."
            )
        shown = type(estimator).__name__ if name is None else name
        dist = estimator.predict_dist(X)
        return cls.from_predictions(dist, y, name=shown, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        dist: Distribution,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a forecast that is already there.

        Parameters
        ----------
        dist : Distribution of n rows
            The forecast.
        y : array of shape (n,) or (n, 1)
            Observed targets.
        name : str, optional
            Of the model, for the legend.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **options
            Keyword arguments of the function that draws.

        Returns
        -------
        display
            With the drawn parts as attributes.
        """
        return cls(dist, y, name=name).plot(ax=ax, **options)

    def plot(self, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw once more.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.
        **options
            Keyword arguments of the function that draws.

        Returns
        -------
        display
            Itself, with the drawn parts as attributes.
        """
        self.ax_ = self._draw(ax, options)
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        return self

    @abstractmethod
    def _draw(self, ax: Axes | None, options: dict[str, Any]) -> Axes: ...

    def _named(self) -> Distribution | dict[str, Distribution]:
        return self.dist if self.name is None else {self.name: self.dist}


class ReliabilityDisplay(ForecastDisplay):
    """Reliability diagram of one model; see `reliability` for what it shows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
        What `ax_` belongs to.
    line_ : matplotlib Line2D
        Empirical against nominal coverage.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions(Normal([0.0, 0.0], [1.0, 1.0]), [0.5, -1.0])
    >>> display.line_.get_xdata()[:3]
    array([0.01, 0.02, 0.03])
    """

    line_: Line2D

    def _draw(self, ax: Axes | None, options: dict[str, Any]) -> Axes:
        drawn = reliability(self._named(), self.y, ax=ax, **options)
        self.line_ = drawn.get_lines()[-1]
        return drawn


class PITDisplay(ForecastDisplay):
    """PIT histogram of one model; see `pit_histogram` for what it shows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
        What `ax_` belongs to.
    bars_ : matplotlib BarContainer
        Relative frequencies of the PIT values, a bar a bin.
    band_ : matplotlib Patch or None
        Where most perfect forecasts have their bars.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import PITDisplay
    >>> display = PITDisplay.from_predictions(Normal([0.0, 0.0], [1.0, 1.0]), [0.5, -1.0], bins=4)
    >>> len(display.bars_)
    4
    """

    bars_: BarContainer
    band_: Patch | None

    def _draw(self, ax: Axes | None, options: dict[str, Any]) -> Axes:
        before = 0 if ax is None else len(ax.patches)
        drawn = pit_histogram(self.dist, self.y, ax=ax, **options)
        if self.name is not None:
            drawn.set_title(self.name, fontsize="medium")
        self.bars_ = drawn.containers[-1]  # type: ignore[assignment]
        rest = drawn.patches[before + len(self.bars_) :]
        self.band_ = rest[0] if rest else None
        return drawn


class IntervalDisplay(ForecastDisplay):
    """Intervals of one model over its rows; see `intervals` for what it shows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
        What `ax_` belongs to.
    line_ : matplotlib Line2D
        The medians.
    bands_ : list of matplotlib Collection
        The intervals, the widest first.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import IntervalDisplay
    >>> dist = Normal([0.0, 1.0], [1.0, 1.0])
    >>> len(IntervalDisplay.from_predictions(dist, [0.5, -1.0], coverage=[0.5, 0.9]).bands_)
    2
    """

    line_: Line2D
    bands_: list[Collection]

    def _draw(self, ax: Axes | None, options: dict[str, Any]) -> Axes:
        lines, bands = (0, 0) if ax is None else (len(ax.lines), len(ax.collections))
        drawn = intervals(self.dist, self.y, ax=ax, **options)
        self.line_, self.bands_ = drawn.lines[lines], list(drawn.collections[bands:])
        return drawn


class SharpnessDisplay(ForecastDisplay):
    """Widths of the intervals of one model; see `sharpness` for what it shows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
        What `ax_` belongs to.
    box_ : matplotlib Patch
        Where the middle half of the widths lies.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import SharpnessDisplay
    >>> dist = Normal([0.0, 1.0], [1.0, 2.0])
    >>> ax = SharpnessDisplay.from_predictions(dist, [0.5, -1.0], coverage=0.5).ax_
    >>> ax.get_xlabel()
    'width of 50% intervals (target units)'
    """

    box_: Patch

    def _draw(self, ax: Axes | None, options: dict[str, Any]) -> Axes:
        drawn = sharpness(self._named(), ax=ax, **options)
        self.box_ = drawn.patches[-1]
        return drawn

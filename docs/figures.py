"""Draw the figures of the documentation: python docs/figures.py

Needs nothing but the library; takes seconds. The pictures of two models on
skewed data (reliability.png, report.png, scores.json) are those of
`calibrant demo`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from torch.distributions import Normal as TorchNormal

from calibrant import (
    DistributionMatchingLoss,
    Forecaster,
    HeteroscedasticRegressor,
    backtest,
    datasets,
)
from calibrant.distributions import Normal
from calibrant.kernels import adaptive_bandwidths
from calibrant.metrics import ecpe
from calibrant.plots import coverage_over_time, intervals, reliability

IMAGES = Path(__file__).parent / "images"


def reading() -> Figure:
    """Four forecasts of the same targets."""
    n, rng = 2000, np.random.default_rng(0)
    mean = rng.normal(size=n)
    y = mean + rng.normal(size=n)
    forecasts = {
        "calibrated": Normal(mean, np.full(n, 1.0)),
        "overconfident": Normal(mean, np.full(n, 0.7)),
        "underconfident": Normal(mean, np.full(n, 1.5)),
        "biased": Normal(mean + 0.7, np.full(n, 1.2)),
    }
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    for ax, (name, dist) in zip(
        figure.subplots(1, 4), forecasts.items(), strict=True
    ):
        reliability({name: dist}, y, ax=ax).set_title(
            f"{name}\nECPE {ecpe(dist, y):.3f}"
        )
    return _tidied(figure)


def rows() -> Figure:
    """A perfect forecaster on few rows and on many."""
    rng = np.random.default_rng(1)
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    for ax, n in zip(figure.subplots(1, 3), (50, 500, 5000), strict=True):
        dist, y = Normal(np.zeros(n), np.ones(n)), rng.normal(size=n)
        reliability({"perfect": dist}, y, ax=ax).set_title(
            f"{n:,} rows\nECPE {ecpe(dist, y):.3f}"
        )
    return _tidied(figure)


def collapse() -> Figure:
    """The loss between the truth and a mean that ignores the input."""
    torch.manual_seed(0)
    n, noise = 400, 0.5
    x = torch.randn(n, 1)
    y = x[:, 0] + noise * torch.randn(n)
    total = float(x.var()) + noise**2
    along = np.linspace(0, 1, 21)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    ax = figure.subplots()
    for match, look in (("marginal", "--"), ("joint", "-")):
        loss = DistributionMatchingLoss(
            match=match,
            statistic="u",
            bandwidths=adaptive_bandwidths(float(y.std())),
        )
        values = []
        for share in along:  # the mean shrinks, the spread makes up for it
            mean = (1 - share) * x[:, 0]
            spread = (total - (1 - share) ** 2 * float(x.var())) ** 0.5
            values.append(
                float(loss(TorchNormal(mean, torch.full((n,), spread)), y, x))
            )
        ax.plot(along, values, look, label=f"{match} matching")
    ax.set(
        xlabel="0: the true prediction, 1: the same mean for every row",
        ylabel="squared MMD (U-statistic)",
    )
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def forecast() -> Figure:
    """A back-test: intervals against what came, and coverage over time."""
    data = datasets.load("seasonal", n=1500)
    y, X = data.frame["y"], data.frame[["temperature"]]
    estimator = HeteroscedasticRegressor(
        network="lstm", hidden=(32,), epochs=60
    )
    model = Forecaster(
        estimator, window=24, future=["temperature"], random_state=0
    )
    results = {
        policy: backtest(model, y, X, start=1000, policy=policy)
        for policy in ("static", "update")
    }
    figure = Figure(figsize=(8, 5.2), layout="constrained")
    above, below = figure.subplots(2)
    last, result = slice(-96, None), results["update"]
    intervals(
        result.dist[last],
        result.y_true[last],
        x=result.index[last],
        coverage=(0.5, 0.95),
        ax=above,
    ).set(xlabel="", ylabel="y, one hour ahead")
    coverage_over_time(results, level=0.9, ax=below).set_xlabel("")
    return figure


def _tidied(figure: Figure) -> Figure:
    """One label for all panels; the titles say what the legends would."""
    figure.supxlabel(figure.axes[0].get_xlabel(), fontsize="medium")
    for ax in figure.axes:
        ax.set(xlabel="", ylabel="")
        ax.get_legend().remove()
    figure.axes[0].set_ylabel("share of targets inside")
    return figure


if __name__ == "__main__":
    for draw in (reading, rows, collapse, forecast):
        draw().savefig(IMAGES / f"{draw.__name__}.png", dpi=90)

"""Draw the figures of the documentation: python docs/figures.py

Takes minutes. report.png is a screenshot, in Chromium, of the report of
`calibrant demo` (apt-get install chromium chromium-driver). Other pictures are
saved by the code of their page: docs/outputs.py keeps them.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from matplotlib.figure import Figure
from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.wait import WebDriverWait
from torch import nn
from torch.distributions import Normal as TorchNormal

from calibrant import (
    DistributionMatchingLoss,
    Forecaster,
    HeteroscedasticRegressor,
    MMDRegressor,
    backtest,
    calibrate,
    datasets,
)
from calibrant.distributions import Normal
from calibrant.kernels import adaptive_bandwidths
from calibrant.metrics import ecpe
from calibrant.plots import (
    coverage_over_time,
    intervals,
    pit_histogram,
    reliability,
    risk_coverage,
    training_history,
)

IMAGES = Path(__file__).parent / "images"


def reading() -> Figure:
    """Four forecasts of the same targets, one of them calibrated."""
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
    for match, line_style in (("marginal", "--"), ("joint", "-")):
        loss = DistributionMatchingLoss(
            match=match,
            statistic="u",
            bandwidths=adaptive_bandwidths(float(y.std())),
        )
        values = []
        for share in along:  # the mean shrinks, the spread grows to compensate
            mean = (1 - share) * x[:, 0]
            spread = (total - (1 - share) ** 2 * float(x.var())) ** 0.5
            values.append(
                float(loss(TorchNormal(mean, torch.full((n,), spread)), y, x))
            )
        ax.plot(along, values, line_style, label=f"{match} matching")
    ax.set(
        xlabel="0: the true prediction, 1: the same mean for every row",
        ylabel="squared MMD (U-statistic)",
    )
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def history() -> Figure:
    """A second stage that helps, and one that is rolled back."""
    data = datasets.load("skewed", n=2000)
    models = {
        "the default": MMDRegressor(random_state=0),
        "matching as published, with roll-back": MMDRegressor.as_published(
            random_state=0,
            matching__rollback=True,
            epochs=200,
            matching__epochs=60,
            matching__lr=1e-3,
        ),
    }
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    for ax, (name, model) in zip(
        figure.subplots(1, 2), models.items(), strict=True
    ):
        model.fit(data.X, data.y)
        training_history(model.history_, ax=ax).set_title(name, pad=52)
    return figure


def final_map() -> Figure:
    """The same network without and with the monotone map."""
    data = datasets.load("skewed", n=6000)
    X, y = data.X, np.asarray(data.y)
    forecasts = {}
    for name, recalibrate in (("without map", False), ("with map", True)):
        model = MMDRegressor(
            quality="fast", recalibrate=recalibrate, random_state=0
        )
        model.fit(X[:4000], y[:4000])
        forecasts[name] = model.predict_dist(X[4000:])
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, *others = figure.subplots(1, 3)
    reliability(forecasts, y[4000:], ax=left)
    left.set_xlabel("nominal coverage of the interval")
    for ax, (name, dist) in zip(others, forecasts.items(), strict=True):
        pit_histogram(dist, y[4000:], ax=ax).set_title(name)
    top = max(ax.get_ylim()[1] for ax in others)
    for ax in others:
        ax.set(xlabel="PIT value", ylim=(0, top))
    others[1].set_ylabel("")
    return figure


def any_model() -> Figure:
    """An overconfident network before and after `calibrate`."""
    data = datasets.load("heteroscedastic", n=4000)
    X, y = data.X.to_numpy(copy=True), np.asarray(data.y)
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(X.shape[1], 64), nn.Tanh(), nn.Linear(64, 2)
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    x_train, y_train = (torch.tensor(a[:300]).float() for a in (X, y))
    for _ in range(800):
        mean, log_variance = network(x_train).unbind(dim=1)
        optimiser.zero_grad()
        torch.nn.functional.gaussian_nll_loss(
            mean, y_train, log_variance.exp()
        ).backward()
        optimiser.step()
    model = calibrate(network, X[300:2300], y[300:2300], output="mean_logvar")
    forecasts = {
        "before": model.source.predict(X[2300:]),
        "after": model.predict_dist(X[2300:]),
    }
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, *others = figure.subplots(1, 3)
    reliability(forecasts, y[2300:], ax=left).set(
        xlabel="nominal coverage", ylabel="share of targets inside"
    )
    order = np.argsort(X[2300:2360, 0])
    for ax, (name, dist) in zip(others, forecasts.items(), strict=True):
        score = dist.crps(y[2300:]).mean()
        intervals(
            dist[:60][order],
            y[2300:2360][order],
            x=X[2300:2360, 0][order],
            coverage=(0.5, 0.9),
            ax=ax,
        ).set(xlabel="first feature", ylabel="", ylim=(-4, 4))
        ax.get_legend().remove()
        ax.set_title(f"{name}: 50% and 90% intervals\nCRPS {score:.3f}")
    return figure


def rejection() -> Figure:
    """The error that is left when the least certain rows are rejected."""
    data = datasets.load("diabetes")
    order = np.random.default_rng(0).permutation(442)
    train, test = order[:300], order[300:]
    X, y = data.X, np.asarray(data.y)
    model = MMDRegressor(random_state=0).fit(X.iloc[train], y[train])
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    risk_coverage(
        {"MMDRegressor": model.predict_dist(X.iloc[test])},
        y[test],
        ax=figure.subplots(),
    )
    return figure


def forecast() -> Figure:
    """A back-test: intervals and observations, and coverage over time."""
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
    coverage_over_time(results, coverage=0.9, ax=below).set_xlabel("")
    return figure


def report() -> None:
    """Take a screenshot of the report of `calibrant demo`."""
    with TemporaryDirectory() as work:
        demo = Path(work, "demo")
        command = [sys.executable, "-m", "calibrant", "demo", "--out", demo]
        subprocess.run(command, check=True)
        page = demo / "report.html"
        screenshot(page, IMAGES / "report.png", level=80)
        screenshot(page, IMAGES / "slider.png", level=80, top="level-title")


def screenshot(
    page: Path, picture: Path, level: int, top: str | None = None
) -> None:
    """Save a report down to the intervals, with the slider at this level.

    `top` is the id of the heading that the picture begins with; None is the
    top of the page.
    """
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    chrome = webdriver.Chrome(options=options, service=service)
    try:
        # Tall enough: charts outside the window are not drawn.
        metrics = {"width": 1100, "height": 2000, "deviceScaleFactor": 1}
        chrome.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", metrics | {"mobile": False}
        )
        chrome.get(page.as_uri())
        WebDriverWait(chrome, 20).until(
            lambda it: it.execute_script(
                "return document.documentElement.dataset.drawn"
            )
        )
        chrome.execute_async_script(
            "const slider = document.getElementById('level');"
            "slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'));"
            "setTimeout(arguments[1], 1000);",
            level,
        )
        first, last = chrome.execute_script(
            "const box = id => "
            "document.getElementById(id).getBoundingClientRect();"
            "return [box(arguments[0]).top - 12, box('intervals-0').bottom];",
            top or "verdict-title",
        )
        png = chrome.get_screenshot_as_png()
    finally:
        chrome.quit()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    start = 0 if top is None else int(first)
    image = image.crop((0, start, image.width, int(last)))
    # A palette keeps the file small; this method keeps rare colours apart.
    palette = image.quantize(128, method=Image.Quantize.MAXCOVERAGE)
    palette.save(picture, optimize=True)


def _tidied(figure: Figure) -> Figure:
    """Use one label for all panels; titles replace the legends."""
    figure.supxlabel(figure.axes[0].get_xlabel(), fontsize="medium")
    for ax in figure.axes:
        ax.set(xlabel="", ylabel="")
        ax.get_legend().remove()
    figure.axes[0].set_ylabel("share of targets inside")
    return figure


if __name__ == "__main__":
    for draw in (
        reading,
        rows,
        collapse,
        history,
        final_map,
        any_model,
        rejection,
        forecast,
    ):
        draw().savefig(IMAGES / f"{draw.__name__}.png", dpi=90)
    report()

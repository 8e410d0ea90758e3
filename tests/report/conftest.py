"""Rows whose truth is known, with everything in their names that a page must not trip over."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant.distributions import Normal

N = 500
SCRIPT = "</script><script>window.hacked = 1</script><!-- <script>"
IMAGE = "<img src=x onerror='window.hacked = 1'>"


class Rows:
    """A table, its targets and two forecasts: the truth, and one too narrow where x is large."""

    def __init__(self, n: int = N) -> None:
        rng = np.random.default_rng(1)
        self.X = pd.DataFrame(
            {
                "x": rng.uniform(0.0, 1.0, n),
                SCRIPT: rng.normal(size=n),
                "fuel": pd.Categorical(rng.choice(["diesel", IMAGE, "<b>petrol</b>"], n)),
            }
        )
        self.truth = Normal(1000.0 * self.X["x"], np.full(n, 100.0))
        self.narrow = Normal(1000.0 * self.X["x"], np.where(self.X["x"] > 0.9, 20.0, 100.0))
        self.y = self.truth.sample(random_state=2)[:, 0]


@pytest.fixture(scope="session")
def rows() -> Rows:
    return Rows()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium that records what it says and what it asks the network for."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no chromium and chromedriver here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    chrome.set_window_size(1200, 900)
    yield chrome
    chrome.quit()

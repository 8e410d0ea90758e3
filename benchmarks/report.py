"""Time how fast a report opens in a browser: python benchmarks/report.py.

Each opening has a Chromium of its own with an empty profile, so that nothing is cached. The
browser's tools are attached only after the page has been drawn: while they watch, scripts are
read several times over. Times count from the start of the navigation.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from statistics import median
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
from selenium import webdriver

from calibrant.distributions import Normal
from calibrant.report import write_report

# What the page itself records, in the order in which it happens.
MARKS = {"usable": "slider usable", "first-contentful-paint": "words", "drawn": "first charts"}
SETTLE = 2.0  # seconds that a new browser gets to become quiet
READ = "return arguments[0].map((name) => performance.getEntriesByName(name)[0]?.startTime)"


def write_page(path: Path, rows: int, models: int) -> None:
    """A report of a table with numbers, categories and times."""
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.normal(size=rows) for i in range(8)}
    X = pd.DataFrame(columns).assign(
        kind=pd.Categorical(rng.choice(list("abcdef"), rows)),
        time=pd.date_range("2000-01-01", periods=rows, freq="min"),
    )
    mean = 100.0 * columns["x0"]
    y = Normal(mean, np.full(rows, 50.0)).sample(random_state=1)[:, 0]
    spreads = 50.0 + 2.0 * np.arange(models)
    forecasts = {f"spread {s:g}": Normal(mean, np.full(rows, s)) for s in spreads}
    write_report(path, forecasts, X, y)


@contextmanager
def fresh_browser(binary: str) -> Iterator[str]:
    """A quiet Chromium with an empty profile; the address of its tools."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [binary, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage"]
        command += ["--window-size=1200,900", "--remote-debugging-port=0"]
        command += [f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            written = Path(profile, "DevToolsActivePort")
            while not (written.exists() and written.read_text()):
                time.sleep(0.05)
            time.sleep(SETTLE)
            yield f"127.0.0.1:{written.read_text().split()[0]}"
        finally:
            process.terminate()
            process.wait()


def open_once(page: Path, binary: str, driver: str, wait: float) -> list[float]:
    """Milliseconds from the start of the navigation to each of the marks."""
    with fresh_browser(binary) as address:
        url = f"http://{address}/json/new?{quote(page.as_uri(), safe=':/')}"
        urlopen(Request(url, method="PUT")).close()
        time.sleep(wait)
        options = webdriver.ChromeOptions()
        options.debugger_address = address
        chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            for handle in chrome.window_handles:
                chrome.switch_to.window(handle)
                if chrome.current_url == page.as_uri():
                    break
            times = chrome.execute_script(READ, list(MARKS))
        finally:
            chrome.quit()
    if None in times:
        raise SystemExit(f"The page was not drawn within {wait:g} s. Try a larger --wait.")
    return [float(value) for value in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--models", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--wait", type=float, default=4.0, help="seconds before times are read")
    parser.add_argument("--quick", action="store_true", help="one model, opened once")
    options = parser.parse_args()
    models, repeats = ([1], 1) if options.quick else (options.models, options.repeats)
    # Debian's chromium is a script that only adds options: its browser can be ended by its id.
    debian = "/usr/lib/chromium/chromium"
    binary = debian if os.access(debian, os.X_OK) else shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        sys.exit("This needs a browser: apt-get install chromium chromium-driver")

    browser = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"report of {options.rows:,} rows, {date.today()}, {browser}, {platform.machine()},")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; median of {repeats} (range), ms")
    print(f"\n{'models':<8}{'MB':>5}" + "".join(f"{name:>20}" for name in MARKS.values()))
    with tempfile.TemporaryDirectory() as folder:
        for count in models:
            page = Path(folder, f"{count}.html")
            write_page(page, options.rows, count)
            runs = [open_once(page, binary, driver, options.wait) for _ in range(repeats)]
            cells = [
                f"{median(times):.0f} ({min(times):.0f} to {max(times):.0f})"
                for times in zip(*runs, strict=True)
            ]
            size = page.stat().st_size / 1e6
            print(f"{count:<8}{size:>5.1f}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()

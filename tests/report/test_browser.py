"""The page in a real browser: what it shows, what it runs, and what it asks the network for."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant.metrics import LEVELS, coverage, mean_width, pit
from calibrant.metrics.floor import binomial_band
from calibrant.report import write_report
from calibrant.report._plotly import plotly_script

from .conftest import IMAGE, SCRIPT, N, Rows

pytestmark = pytest.mark.slow

A4_WIDTH = 703  # within margins of 12 mm, in CSS pixels


def opened(browser: Any, path: Path) -> Any:
    """Load a page and wait until its first charts are drawn."""
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what earlier pages said
    browser.get(path.as_uri())
    wait(browser, "return document.documentElement.dataset.drawn === 'true'")
    return browser


def wait(browser: Any, condition: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not browser.execute_script(condition):
        assert time.monotonic() < end, f"waited {seconds} s for: {condition}"
        time.sleep(0.02)


def traces(browser: Any, chart: str) -> list[dict[str, Any]]:
    """What plotly has drawn, once the chart has been scrolled to."""
    browser.execute_script(f"document.getElementById('{chart}').scrollIntoView()")
    wait(browser, f"return Boolean(document.getElementById('{chart}').data)")
    return browser.execute_script(
        f"return document.getElementById('{chart}').data.map((t) => ({{...t}}))"
    )


def requests(browser: Any, page: Path) -> list[str]:
    """Addresses that were asked for, besides the page itself and what it carries."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if url != page.as_uri() and not url.startswith(("data:", "blob:"))]


def stat(browser: Any, model: int, name: str) -> str:
    return browser.execute_script(
        f"""return document.querySelector('tr[data-model="{model}"] [data-stat="{name}"]')"""
        ".textContent"
    )


def slide(browser: Any, level: int) -> None:
    browser.execute_script(
        "const s = document.getElementById('level'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input', {bubbles: true}));",
        level,
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    models = {"truth": rows.truth, f"narrow {IMAGE}": rows.narrow}
    write_report(path, models, rows.X, rows.y, title=SCRIPT, target=f"price {IMAGE}")
    return path


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> Path:
    """A report of one model, with a column of dates."""
    path = tmp_path_factory.mktemp("report") / "single.html"
    X = rows.X.assign(day=pd.date_range("2024-01-01", periods=N))
    write_report(path, rows.truth, X, rows.y)
    return path


@pytest.fixture
def fresh(browser: Any, page: Path) -> Any:
    """The page as it opens."""
    return opened(browser, page)


@pytest.fixture
def shown(browser: Any, page: Path) -> Any:
    """The page as the last test has left it: its slider may stand anywhere."""
    return browser if browser.current_url == page.as_uri() else opened(browser, page)


def test_loads_in_silence_and_asks_the_network_for_nothing(fresh, page) -> None:
    fresh.execute_script("scrollTo(0, document.body.scrollHeight)")
    traces(fresh, "slice-0")
    assert fresh.get_log("browser") == []
    assert requests(fresh, page) == []


def test_the_recorder_would_see_a_request(browser, tmp_path) -> None:
    path = tmp_path / "loud.html"
    path.write_text('<html data-drawn="true"><img src="http://127.0.0.1:9/x.png">')
    opened(browser, path)
    assert requests(browser, path) == ["http://127.0.0.1:9/x.png"]
    assert browser.get_log("browser") != []


def test_arrow_keys_move_coverage_width_and_band(fresh, rows) -> None:
    slider = fresh.find_element("id", "level")
    assert slider.get_attribute("value") == "90"
    slider.send_keys("\ue012" * 3)  # left arrow
    assert slider.get_attribute("value") == "87"
    assert fresh.find_element("id", "level-text").text == "87%"
    low, high = binomial_band(N, 0.87, 0.95)
    for model, dist in enumerate((rows.truth, rows.narrow)):
        share = coverage(dist, rows.y, coverage=0.87)
        assert stat(fresh, model, "covered") == f"{100 * share:.1f}%"
        assert stat(fresh, model, "band") == f"{100 * low:.1f}% to {100 * high:.1f}%"
        assert stat(fresh, model, "width") == f"{mean_width(dist, 0.87):,.1f}"
        inside = low <= share <= high
        assert stat(fresh, model, "state") == ("within chance" if inside else "too narrow")


@pytest.mark.parametrize("level", [1, 50, 99])
def test_intervals_follow_the_slider(shown, rows, level) -> None:
    traces(shown, "intervals-0")
    slide(shown, level)
    share = coverage(rows.truth, rows.y, coverage=level / 100)
    assert stat(shown, 0, "covered") == f"{100 * share:.1f}%"
    kept = np.linspace(0, N - 1, 200).round().astype(int)
    at = np.argsort(rows.truth.median, kind="stable")[kept]
    bounds = rows.truth[at].interval(level / 100)
    target = f"{bounds[0, 0]:.1f}"  # wait for the frame in which the chart is redrawn
    wait(
        shown,
        f"return document.getElementById('intervals-0').data[0].y[0].toFixed(1) === '{target}'",
    )
    lower, upper, median, covered, outside = traces(shown, "intervals-0")
    # Numbers are rounded to one digit more than are shown: 0.01 here.
    assert np.allclose(lower["y"], bounds[:, 0], atol=0.0051)
    assert np.allclose(upper["y"], bounds[:, 1], atol=0.0051)
    assert np.allclose(median["y"], rows.truth[at].median, atol=0.0051)
    inside = np.abs(2 * pit(rows.truth, rows.y)[at] - 1) <= level / 100
    for trace, wanted in ((covered, inside), (outside, ~inside)):
        assert [value is not None for value in trace["y"]] == wanted.tolist()


def test_the_table_behind_the_intervals_follows_too(shown, rows) -> None:
    shown.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    slide(shown, 60)
    cells = shown.execute_script(
        "return [...document.querySelector('table[data-intervals]').rows[1].cells]"
        ".map((c) => c.textContent)"
    )
    first = np.argsort(rows.truth.median, kind="stable")[0]
    lower, upper = rows.truth[[first]].interval(0.6)[0]
    assert float(cells[3]) == pytest.approx(lower, abs=0.0051)
    assert float(cells[4]) == pytest.approx(upper, abs=0.0051)


def test_reliability_pit_and_widths_have_the_right_points(shown, rows) -> None:
    drawn = traces(shown, "reliability")
    low, high = binomial_band(N, LEVELS, 0.95)
    assert np.allclose(drawn[0]["y"], 100 * low)
    assert np.allclose(drawn[1]["y"], 100 * high)
    for trace, dist in zip(drawn[3:5], (rows.truth, rows.narrow), strict=True):
        assert np.allclose(trace["y"], 100 * coverage(dist, rows.y, coverage=LEVELS))
    slide(shown, 30)
    wait(shown, "return document.getElementById('reliability').data[5].x[0] === 30")
    point = traces(shown, "reliability")[5]
    assert point["y"] == pytest.approx([100 * coverage(rows.truth, rows.y, coverage=0.3)])
    bars = traces(shown, "pit-1")[0]
    counts, _ = np.histogram(pit(rows.narrow, rows.y), bins=20, range=(0, 1))
    assert np.allclose(bars["y"], counts / N * 20, atol=1e-4)
    box = traces(shown, "widths")[1]
    widths = np.diff(rows.narrow.interval(0.3), axis=1)
    assert np.allclose(
        [box["q1"][0], box["mean"][0]], [np.quantile(widths, 0.25), widths.mean()], atol=0.01
    )


def test_the_legend_is_in_the_order_of_the_models(shown) -> None:
    traces(shown, "reliability")
    legend = shown.execute_script(
        "return [...document.querySelectorAll('#reliability .legendtext')]"
        ".map((t) => t.textContent)"
    )
    assert legend == ["chance (95%)", "perfect", "truth", f"narrow {IMAGE}"]


def test_every_slice_has_its_label_within_the_chart(browser, single) -> None:
    opened(browser, single)
    for k in range(5):
        (drawn,) = traces(browser, f"slice-{k}")
        inside = browser.execute_script(
            f"const chart = document.getElementById('slice-{k}');"
            "const edge = chart.getBoundingClientRect();"
            "return [...chart.querySelectorAll('.xtick text')]"
            ".filter((t) => getComputedStyle(t).display !== 'none')"
            ".map((t) => t.getBoundingClientRect())"
            ".map((b) => b.left >= edge.left && b.right <= edge.right && b.bottom <= edge.bottom)"
        )
        assert inside == [True] * len(drawn["x"])


def test_names_and_categories_are_text_and_never_run(shown) -> None:
    assert shown.find_element("tag name", "h1").text == SCRIPT
    assert shown.title == SCRIPT
    for chart in (
        "intervals-0",
        "reliability",
        "slice-0",
        "slice-1",
        "slice-2",
        "slice-3",
        "slice-4",
    ):
        traces(shown, chart)
    labels = shown.execute_script(
        "return [...document.querySelectorAll('.xtick text, .legendtext, .ytitle')]"
        ".map((t) => t.textContent)"
    )
    assert f"narrow {IMAGE}" in labels  # legend
    assert f"price {IMAGE}" in labels  # axis
    assert "<b>petrol</b>" in labels  # category
    titles = [title.text for title in shown.find_elements("css selector", "figure h3")]
    assert SCRIPT in titles
    assert shown.execute_script("return window.hacked") is None
    assert shown.find_elements("css selector", "main img, main script") == []


def test_even_an_injected_script_would_not_run(shown) -> None:
    shown.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.appendChild(s);"
    )
    assert shown.execute_script("return window.hacked") is None


def test_light_dark_and_print(fresh) -> None:
    def colours() -> list[str]:
        return fresh.execute_script(
            "return [getComputedStyle(document.body).backgroundColor,"
            "document.getElementById('intervals-0').layout.font.color]"
        )

    traces(fresh, "intervals-0")
    light = colours()
    button = fresh.find_element("id", "theme")
    assert button.text == "Switch to dark theme"
    button.send_keys("\ue007")  # the enter key
    assert button.text == "Switch to light theme"
    dark = colours()
    traces(fresh, "pit-0")
    shapes = fresh.execute_script("return document.getElementById('pit-0').layout.shapes")
    assert [shape["type"] for shape in shapes] == ["line"] * 3  # a band would tint the bars
    assert light[0] == "rgb(255, 255, 255)"
    assert len({*light, *dark}) == 4
    fresh.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert colours() == light
    widths = fresh.execute_script(
        "return [...document.querySelectorAll('.chart')].map((c) => c.layout.width)"
    )
    assert len(widths) >= 8
    assert set(widths) == {330}
    fresh.execute_script("dispatchEvent(new Event('afterprint'))")
    assert colours() == dark


@contextmanager
def emulated(browser: Any, width: int, media: str = "screen") -> Iterator[None]:
    """A window, or a sheet, of another width."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": media == "screen"},
    )
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_paper_loses_nothing(fresh) -> None:
    with emulated(fresh, A4_WIDTH, "print"):
        fresh.execute_script("dispatchEvent(new Event('beforeprint'))")
        lost = fresh.execute_script(
            "return [...document.querySelectorAll('main *')].filter((e) => !e.closest('.chart')"
            " && (e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1"
            " && getComputedStyle(e).overflowX !== 'visible')).map((e) => e.outerHTML.slice(0, 80))"
        )
        assert lost == []
        charts = fresh.execute_script(
            "return [...document.querySelectorAll('.chart')].map((c) => c.offsetWidth)"
        )
        assert set(charts) == {330, 0}  # the answer to a question is not printed
        assert (
            fresh.execute_script(
                "return getComputedStyle(document.querySelector('.key')).printColorAdjust"
            )
            == "exact"
        )
    fresh.execute_script("dispatchEvent(new Event('afterprint'))")


def test_a_single_model_has_the_whole_width_of_paper(browser, single) -> None:
    opened(browser, single)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert base64.b64decode(printed).count(b"/Type /Page\n") <= 5
    with emulated(browser, A4_WIDTH, "print"):
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        for chart, width in (("intervals-0", 680), ("pit-0", 330), ("reliability", 330)):
            assert (
                browser.execute_script(f"return document.getElementById('{chart}').layout.width")
                == width
            )


def test_every_chart_says_what_it_shows_and_has_a_table(shown) -> None:
    for figure in shown.find_elements("tag name", "figure"):
        chart = figure.find_element("class name", "chart")
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 60
        shown.execute_script("arguments[0].open = true", figure.find_element("tag name", "details"))
    time.sleep(0.2)  # the event of an opened table comes a moment later
    filled = shown.execute_script(
        "return [...document.querySelectorAll('figure table')].map((t) => t.tBodies[0].rows.length)"
    )
    assert min(filled) >= 2
    label = shown.find_element("css selector", "label[for=level]")
    assert label.text.startswith("Coverage of the intervals")


WIDTHS = (1440, 768, 390)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_width_hides_a_column(browser, page, width, theme) -> None:
    features = [{"name": "prefers-color-scheme", "value": theme}]
    with emulated(browser, width):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        opened(browser, page)
        assert browser.execute_script("return document.documentElement.dataset.theme") == theme
        assert browser.execute_script("return document.documentElement.scrollWidth") == width
        # Every cell of a visible table ends within the window; tables behind charts may scroll.
        beyond = browser.execute_script(
            "return [...document.querySelectorAll('.numbers td, .numbers tbody th')]"
            ".filter((cell) => cell.getBoundingClientRect().right > innerWidth + 1)"
            ".map((cell) => cell.outerHTML.slice(0, 90))"
        )
        assert beyond == []
        contrast = browser.execute_script(
            "const rgb = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number);"
            "const light = (c) => { const v = rgb(c).map((x) => x / 255).map((x) =>"
            " x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);"
            " return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };"
            "const paper = light(getComputedStyle(document.body).backgroundColor);"
            "return [...document.querySelectorAll('p, td, th, summary, button, label, dd, dt')]"
            ".filter((e) => e.textContent.trim()).map((e) => light(getComputedStyle(e).color))"
            ".map((ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05))"
        )
        assert min(contrast) >= 4.5  # WCAG AA


def test_slices_follow_the_slider(shown, rows) -> None:
    shown.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for level in (40, 95):
        slide(shown, level)
        titles = shown.execute_script(
            "return [...document.querySelectorAll('[id^=slice-] h3')].map((h) => h.textContent)"
        )
        at = titles.index("x")
        wanted = f"document.getElementById('slice-{at}')"
        traces(shown, f"slice-{at}")
        wait(shown, f"return {wanted}.layout.shapes.at(-1).y0 === {level}")
        drawn = traces(shown, f"slice-{at}")[0]
        deciles = np.searchsorted(
            np.quantile(rows.X["x"], np.arange(1, 10) / 10), rows.X["x"], "right"
        )
        for k, share in enumerate(drawn["y"]):
            own = (deciles == k).to_numpy() if hasattr(deciles, "to_numpy") else deciles == k
            expected = coverage(rows.truth[own], rows.y[own], coverage=level / 100)
            assert share == pytest.approx(100 * expected, abs=0.006)
        table = shown.execute_script(
            f"return document.querySelector('table[data-slices=slice-{at}]').rows[1].cells[3]"
            ".textContent"
        )
        assert table == f"{drawn['y'][0]:.1f}%"


def test_a_row_is_found_by_its_inputs_and_shown(fresh, rows) -> None:
    slide(fresh, 80)
    # The page opens with the largest surprise of the first model.
    z = np.abs(rows.y - rows.truth.mean) / rows.truth.stddev
    assert fresh.find_element("id", "answer-title").text == f"Row {np.argmax(z)}"
    picked = fresh.execute_script("return window.report.page.rows.label[7]")
    row = int(picked)
    field = fresh.find_element("id", "ask")
    field.send_keys(f"{rows.X['x'][row]:.6g}")
    wait(fresh, "return document.querySelectorAll('#ask-results button').length === 1")
    assert fresh.find_element("id", "ask-count").text == "1 found."
    field.send_keys("\ue007")  # the enter key
    assert fresh.find_element("id", "answer-title").text == f"Row {row}"
    assert fresh.switch_to.active_element.get_attribute("id") == "answer"
    cells = fresh.execute_script(
        "return [...document.querySelector('#answer-models tbody tr').cells]"
        ".map((c) => c.textContent)"
    )
    low, high = rows.truth[[row]].interval(0.8)[0]
    shown_low, shown_high = (float(part) for part in cells[3].split(" to "))
    assert (shown_low, shown_high) == pytest.approx((low, high), abs=0.0051)
    inside = low <= rows.y[row] <= high
    assert cells[4] == ("yes" if inside else "no")
    values = [each.text for each in fresh.find_elements("css selector", "#answer-inputs dd")]
    assert str(rows.X["fuel"][row]) in values
    drawn = traces(fresh, "detail")
    # The density has its mode at the median and about the height of a normal one.
    top = int(np.argmax(drawn[1]["y"]))
    assert drawn[1]["x"][top] == pytest.approx(rows.truth.median[row], abs=20)
    assert max(drawn[1]["y"]) == pytest.approx(0.3989 / 100, rel=0.03)
    slide(fresh, 20)
    assert "20% interval" in fresh.find_element("id", "answer-models").text


def test_a_slice_is_picked_by_search_and_by_click(fresh, rows) -> None:
    field = fresh.find_element("id", "ask")
    field.send_keys("fuel: diesel")
    wait(fresh, "return document.querySelectorAll('#ask-results button').length > 0")
    fresh.find_element("css selector", "#ask-results button").send_keys("\ue007")
    assert fresh.find_element("id", "answer-title").text == "fuel: diesel"
    own = (rows.X["fuel"].astype(str) == "diesel").to_numpy()
    curve = traces(fresh, "detail")[3]["y"]
    assert np.allclose(
        curve, 100 * coverage(rows.truth[own], rows.y[own], coverage=LEVELS), atol=0.006
    )
    others = fresh.find_elements("css selector", "#answer-others button")
    others[0].click()
    assert fresh.find_element("id", "answer-title").text.startswith("Row ")
    traces(fresh, "slice-0")
    fresh.execute_script(
        "document.getElementById('slice-0').emit('plotly_click', {points: [{pointNumber: 1}]})"
    )
    names = fresh.execute_script("return window.report.page.slices[0].models[0].names")
    assert fresh.find_element("id", "answer-title").text.endswith(names[1])


def test_a_surprise_opens_its_row(fresh) -> None:
    button = fresh.find_elements("css selector", "[data-pick]")[3]
    button.send_keys("\ue007")
    assert fresh.find_element("id", "answer-title").text == f"Row {button.text}"
    assert button.get_attribute("aria-label") == f"Show row {button.text}"


def test_settings_are_folded_away(fresh) -> None:
    details = fresh.find_element("css selector", "details.facts")
    assert details.get_attribute("open") is None
    details.find_element("tag name", "summary").send_keys("\ue007")
    assert details.get_attribute("open") is not None


def test_the_slider_does_not_wait_for_plotly(browser, page, rows, tmp_path) -> None:
    path = tmp_path / "without.html"
    text = page.read_text(encoding="utf-8")
    path.write_text(text.replace(plotly_script(), ""), encoding="utf-8")
    browser.get(path.as_uri())
    slide(browser, 50)
    assert stat(browser, 0, "covered") == f"{100 * coverage(rows.truth, rows.y, coverage=0.5):.1f}%"


def test_a_hundred_thousand_rows_open_as_fast(browser, tmp_path) -> None:
    many = Rows(100_000)
    path = tmp_path / "many.html"
    write_report(path, many.truth, many.X, many.y)
    assert path.stat().st_size < 6_500_000  # of it 4.8 MB are plotly's script
    opened(browser, path)
    shown = browser.execute_script(
        "return [performance.getEntriesByName('first-contentful-paint')[0].startTime,"
        "performance.getEntriesByName('drawn')[0].startTime]"
    )
    # From the start of the navigation to the verdict, and to the charts in the window, in
    # milliseconds. benchmarks/report.py finds less than a second; the bound leaves room for a busy
    # machine and for the tools that watch here.
    assert max(shown) < 5_000, f"first paint and charts after {shown} ms"
    assert stat(browser, 0, "covered") == f"{100 * coverage(many.truth, many.y, coverage=0.9):.2f}%"

"""Four series as the paper ran them.

These files were prepared by the paper's authors and published with their own library; the figures
of the paper agree with them, not with the row counts that it prints.
"""

from __future__ import annotations

from calibrant.datasets._entry import Entry

_PAGE = "https://github.com/RealSeries/realseries"
_LICENCE = "AGPL-3.0 (RealSeries); for measurement, not to be passed on"
_CITATION = (
    "Cui, Hu, Zhu (2020), Calibrated reliable regression using maximum mean discrepancy, Advances "
    "in Neural Information Processing Systems 33"
)
_TIMELESS = "The rows have no time stamps."


def _instructions(name: str) -> str:
    return (
        f"take {name}.csv from examples/exp_data of the repository at commit "
        "ddb20747c21fe040df2ffc10fd6583490afb1e83 into a folder as_run"
    )


AS_RUN = {
    "bike_sharing": Entry(
        title="Bike Sharing, as the paper ran it",
        description="The hours of 2011 and seven columns of bike_sharing.",
        file="as_run/bike_sharing.csv.gz",
        checksum="a2df4a225fc52e7fea60138703a4b272fe65a1fd1bf8fe9ddb8e6612ff6173c2",
        rows=8645,
        columns=7,
        target="cnt",
        task="forecasting",
        licence=_LICENCE,
        citation=_CITATION,
        page=_PAGE,
        flaws=f"{_TIMELESS} No hour of day.",
        paper="Windows of 5 rows, shuffled, then split 70/30.",
        instructions=_instructions("bike_sharing"),
    ),
    "pm25": Entry(
        title="Beijing PM2.5, as the paper ran it",
        description="Daily means of fine dust and weather over six years.",
        file="as_run/pm25.csv.gz",
        checksum="64477b0fd6ef6206f27fd8366d183ad6f66955a99c776f34d392a63fe9a2aa7a",
        rows=2190,
        columns=6,
        target="pm25",
        task="forecasting",
        licence=_LICENCE,
        citation=_CITATION,
        page=_PAGE,
        flaws=f"{_TIMELESS} Another source than pm25: it has humidity, and can't be derived.",
        paper="Windows of 5 rows, shuffled, then split 70/30.",
        instructions=_instructions("pm25"),
    ),
    "metro_traffic": Entry(
        title="Metro Interstate Traffic Volume, as the paper ran it",
        description="Six columns of metro_traffic, text as alphabetical codes, outliers replaced.",
        file="as_run/metro_traffic.csv.gz",
        checksum="4369ab4729187d79f43341f13c60f0beb37537795975bbacaa87af4085e10572",
        rows=48204,
        columns=6,
        target="traffic_volume",
        task="forecasting",
        licence=_LICENCE,
        citation=_CITATION,
        page=_PAGE,
        flaws=f"{_TIMELESS} No hour of day. Hours repeat as in the raw table, so that shuffled "
        "windows share targets between training and test.",
        paper="Windows of 5 rows, shuffled, then split 70/30.",
        instructions=_instructions("metro_traffic"),
    ),
    "air_quality": Entry(
        title="Air Quality, as the paper ran it",
        description="Eleven columns of air_quality, gaps filled, a few rows dropped.",
        file="as_run/air_quality.csv.gz",
        checksum="a1416a5ac4a192cfefb2fa96b9ba64a496f745c7e307b81942127c4edb5e3d01",
        rows=9303,
        columns=11,
        target="NOx(GT)",
        task="forecasting",
        licence=_LICENCE,
        citation=_CITATION,
        page=_PAGE,
        flaws=f"{_TIMELESS} Filled gaps can't be told from measurements.",
        paper="Windows of 5 rows, shuffled, then split 70/30.",
        instructions=_instructions("air_quality"),
    ),
}

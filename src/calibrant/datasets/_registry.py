"""The data sets that are files, as data: adding one is adding an entry here.

No data file is shipped. An entry says where the table comes from, and its checksum identifies
the table behind the figures in our documentation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calibrant.datasets import _prepare as prepare
from calibrant.datasets._dataset import DatasetInfo
from calibrant.datasets._layout import Layout
from calibrant.datasets._stored import StoredDataset

_NAVAL_COLUMNS = (
    *("lp", "v", "GTT", "GTn", "GGn", "Ts", "Tp", "T48", "T1", "T2", "P48", "P1", "P2"),
    *("Pexh", "TIC", "mf", "GT_Compressor_decay", "GT_Turbine_decay"),
)
_WINDOWS = "Windows of 5 rows, shuffled, then split 70/30."


def _uci(
    page: str,
    *,
    file: str,
    member: str,
    prepare: prepare.Prepare = prepare.as_published,
    layout: Layout | None = None,
    **facts: Any,
) -> StoredDataset:
    """Return a data set of the UCI repository; `facts` are fields of `DatasetInfo`."""
    return StoredDataset(
        info=DatasetInfo(
            licence="CC BY 4.0 (UCI Machine Learning Repository)",
            page=f"https://archive.ics.uci.edu/dataset/{page}",
            **facts,
        ),
        file=file,
        prepare=prepare,
        url=f"https://archive.ics.uci.edu/static/public/{page}.zip",
        member=member,
        layout=layout or Layout(),
    )


def _as_run(name: str, *, title: str, flaws: str = "", **facts: Any) -> StoredDataset:
    """Return a series as the paper ran it; `facts` are fields of `DatasetInfo`.

    The files were prepared by the paper's authors and published with their own library. The
    figures of the paper agree with them, not with the row counts that it prints.
    """
    return StoredDataset(
        info=DatasetInfo(
            name=name,
            variant="as_run",
            title=f"{title}, as the paper ran it",
            task="forecasting",
            licence="AGPL-3.0 (RealSeries); for measurement, not to be passed on",
            citation="Cui, Hu, Zhu (2020), Calibrated reliable regression using maximum mean "
            "discrepancy, Advances in Neural Information Processing Systems 33",
            page="https://github.com/RealSeries/realseries",
            flaws=f"The rows have no time stamps. {flaws}",
            paper=_WINDOWS,
            **facts,
        ),
        file=f"as_run/{name}.csv.gz",
        instructions=f"take {name}.csv from examples/exp_data of the repository at commit "
        "ddb20747c21fe040df2ffc10fd6583490afb1e83 into a folder as_run",
    )


_PICKUPS = StoredDataset(
    info=DatasetInfo(
        name="pickups",
        title="Uber Pickups in New York City, enriched",
        description="Uber pick-ups per hour and borough of New York City, January to June 2015, "
        "with weather and holidays.",
        checksum="48700f3f1395c171e61044c699a120a08b8640a618b1b16c19dc8cb668ba1319",
        rows=29101,
        columns=12,
        target="pickups",
        task="forecasting",
        licence="not verified (derived from NYC TLC data released by FiveThirtyEight)",
        citation="FiveThirtyEight (2015), Uber TLC FOIL response; enriched by Yannis Pappas on "
        "Kaggle",
        page="https://www.kaggle.com/datasets/yannisp/uber-pickups-enriched",
        flaws="Seven rows per hour, one per borough; the borough NA (unknown) lacks 1300 of 4343 "
        "hours. Weather is that of the city, repeated for each borough.",
        paper="The hourly total of the city: the variant as_run.",
    ),
    file="uber_nyc_enriched.csv.gz",
    prepare=prepare.pickups,
    instructions="Kaggle asks for a login: download uber_nyc_enriched.csv there",
)
# The paper's version of this series follows from the raw file.
_PICKUPS_TOTAL = replace(
    _PICKUPS,
    info=replace(
        _PICKUPS.info,
        variant="as_run",
        title="Uber Pickups, hourly total of the city",
        description="pickups summed over the boroughs: one row per hour, with the weather.",
        rows=4343,
        columns=11,
        flaws="The published figures fit no split of this series that was tried.",
        paper=_WINDOWS,
    ),
    prepare=prepare.pickups_total,
)

_ENTRIES = [
    _uci(
        "294/combined+cycle+power+plant",
        name="power_plant",
        title="Combined Cycle Power Plant",
        description="Hourly net output of a combined cycle power plant (MW) from four ambient "
        "readings.",
        file="power_plant.csv.gz",
        checksum="abc71dc679054018fb93bc811ce9ccd621974ece3a84b882762cd92d52ba2818",
        rows=9568,
        columns=5,
        target="PE",
        citation="Tüfekci (2014), Prediction of full load electrical power output of a base load "
        "operated combined cycle power plant using machine learning methods, International "
        "Journal of Electrical Power & Energy Systems 60, 126-140",
        flaws="The rows were shuffled by the publisher: not usable as a time series.",
        paper="All rows, split 80/20 at random.",
        member="CCPP/Folds5x2_pp.xlsx",
        layout=Layout(sheet=True),
    ),
    _uci(
        "265/physicochemical+properties+of+protein+tertiary+structure",
        name="protein",
        title="Physicochemical Properties of Protein Tertiary Structure",
        description="Deviation of predicted protein structures (angstrom) from nine "
        "physicochemical properties.",
        file="protein_structure.csv.gz",
        checksum="add8ce351f3ce46f44f183521274d8a222b5797f8c2f34f413e9803e0e168cb0",
        rows=45730,
        columns=10,
        target="RMSD",
        citation="Rana (2013), Physicochemical Properties of Protein Tertiary Structure, UCI "
        "Machine Learning Repository",
        paper="All rows, split 80/20 at random.",
        member="CASP.csv",
    ),
    _uci(
        "316/condition+based+maintenance+of+naval+propulsion+plants",
        name="naval",
        title="Condition Based Maintenance of Naval Propulsion Plants",
        description="Decay of the gas turbine compressor of a simulated frigate from sixteen "
        "measurements.",
        file="naval_propulsion.csv.gz",
        checksum="dde444905ddfad59ef30b6cc5ac1bdb8447ba3e8abbb28e27f85bbb4f7fb2c92",
        rows=11934,
        columns=17,
        target="GT_Compressor_decay",
        prepare=prepare.naval,
        citation="Coraddu, Oneto, Ghio, Savio, Anguita, Figari (2016), Machine learning approaches "
        "for improving condition-based maintenance of naval propulsion plants, Journal of "
        "Engineering for the Maritime Environment 230, 136-153",
        flaws="T1 and P1 are constant and Tp repeats Ts. A noise-free simulation on a full grid: "
        "the target takes 51 values. The second target, GT_Turbine_decay, is left out: it reveals "
        "the state of the simulation.",
        paper="All rows, target GT_Compressor_decay, split 80/20 at random.",
        member="UCI CBM Dataset/data.txt",
        layout=Layout(sep=r"\s+", header=_NAVAL_COLUMNS),
    ),
    _uci(
        "186/wine+quality",
        name="wine",
        title="Wine Quality, white",
        description="Taste score of white wines from eleven laboratory measurements.",
        file="wine_quality_white.csv.gz",
        checksum="f702b322f1fca2ac8757f67e3cfd44f411d74e18c6204de5c0a96a8dc0a0d6df",
        rows=4898,
        columns=12,
        target="quality",
        citation="Cortez, Cerdeira, Almeida, Matos, Reis (2009), Modeling wine preferences by data "
        "mining from physicochemical properties, Decision Support Systems 47, 547-553",
        flaws="The target takes the integers 3 to 9 only. 937 rows repeat earlier ones, so a "
        "random split puts copies of training rows into the test set.",
        paper="All rows, split 80/20 at random.",
        member="winequality-white.csv",
        layout=Layout(sep=";"),
    ),
    _uci(
        "275/bike+sharing+dataset",
        name="bike_sharing",
        title="Bike Sharing, hourly",
        description="Bikes rented per hour in Washington, D.C., 2011 and 2012, with calendar and "
        "weather.",
        file="bike_sharing_hour.csv.gz",
        checksum="5f89b1e9f5a5a2a2cb867ee8670f3f7e868bc3ce05c7db4a84728bba0e574703",
        rows=17379,
        columns=13,
        target="cnt",
        task="forecasting",
        prepare=prepare.bike_sharing,
        citation="Fanaee-T, Gama (2014), Event labeling combining ensemble detectors and "
        "background knowledge, Progress in Artificial Intelligence 2, 113-127",
        flaws="165 of 17544 hours are absent. casual and registered are left out: their sum is the "
        "target. The official page states 17389 rows; the file has 17379.",
        paper="Only 2011 and seven columns: the variant as_run.",
        member="hour.csv",
    ),
    _PICKUPS,
    _uci(
        "381/beijing+pm2+5+data",
        name="pm25",
        title="Beijing PM2.5",
        description="Fine dust at the US embassy in Beijing (ug/m3), hourly from 2010 to 2014, "
        "with weather.",
        file="beijing_pm25.csv.gz",
        checksum="8cbed2734ff7d636b3133ad7ef141899a6d01ee41e2b0f3e33c3cde55c2fb497",
        rows=43824,
        columns=12,
        target="pm2.5",
        task="forecasting",
        prepare=prepare.pm25,
        citation="Liang, Zou, Guo, Li, Zhang, Zhang, Huang, Chen (2015), Assessing Beijing's PM2.5 "
        "pollution: severity, weather impact, APEC and winter heating, Proceedings of the Royal "
        "Society A 471, 20150257",
        flaws="The target is missing in 2067 hours, the first 24 among them.",
        paper="Not this table but daily means from another source: the variant as_run.",
        member="PRSA_data_2010.1.1-2014.12.31.csv",
        layout=Layout(missing=("NA",)),
    ),
    _uci(
        "492/metro+interstate+traffic+volume",
        name="metro_traffic",
        title="Metro Interstate Traffic Volume",
        description="Westbound vehicles per hour on Interstate 94 near Minneapolis, 2012 to 2018, "
        "with weather and holidays.",
        file="metro_interstate_traffic_volume.csv.gz",
        checksum="1d5cf66c6faf1fd707741cd2b4921193f57c1755e68971cef21f038e4284c02e",
        rows=48204,
        columns=8,
        target="traffic_volume",
        task="forecasting",
        prepare=prepare.metro_traffic,
        citation="Hogue (2019), Metro Interstate Traffic Volume, UCI Machine Learning Repository",
        flaws="Hours repeat, one row per weather label: 40575 distinct hours in 48204 rows, so "
        "that a random split puts copies of test targets into the training rows. No data from "
        "August 2014 to June 2015, and shorter gaps. temp is 0 K in 10 rows, rain_1h 9831.3 in "
        "one.",
        paper="All rows, six columns, no hour of day: the variant as_run.",
        member="Metro_Interstate_Traffic_Volume.csv.gz",
    ),
    _uci(
        "360/air+quality",
        name="air_quality",
        title="Air Quality",
        description="Hourly nitrogen oxides (ppb) at a busy road of an Italian city, March 2004 to "
        "April 2005, with five sensors, other pollutants and weather.",
        file="air_quality.csv.gz",
        checksum="3ae171f27214d2416ca6288d0bf41ce6c6105579886feceda03bea782287b403",
        rows=9357,
        columns=13,
        target="NOx(GT)",
        task="forecasting",
        prepare=prepare.air_quality,
        citation="De Vito, Massera, Piga, Martinotto, Di Francia (2008), On field calibration of "
        "an electronic nose for benzene estimation in an urban pollution monitoring scenario, "
        "Sensors and Actuators B 129, 750-757",
        flaws="-200 marked what was not measured and is a gap here: the target in 1639 hours, "
        "NMHC(GT) in 8443. The other (GT) columns come from the same reference analyser as the "
        "target. The official page states 9358 rows; the file has 9357.",
        paper="9303 rows and eleven columns, gaps filled: the variant as_run.",
        member="AirQualityUCI.csv",
        layout=Layout(sep=";", decimal=","),
    ),
    _as_run(
        "bike_sharing",
        title="Bike Sharing",
        description="The hours of 2011 and seven columns of bike_sharing.",
        checksum="a2df4a225fc52e7fea60138703a4b272fe65a1fd1bf8fe9ddb8e6612ff6173c2",
        rows=8645,
        columns=7,
        target="cnt",
        flaws="No hour of day.",
    ),
    _PICKUPS_TOTAL,
    _as_run(
        "pm25",
        title="Beijing PM2.5",
        description="Daily means of fine dust and weather over six years.",
        checksum="64477b0fd6ef6206f27fd8366d183ad6f66955a99c776f34d392a63fe9a2aa7a",
        rows=2190,
        columns=6,
        target="pm25",
        flaws="Another source than pm25: it has humidity, and can't be derived.",
    ),
    _as_run(
        "metro_traffic",
        title="Metro Interstate Traffic Volume",
        description="Six columns of metro_traffic, text as alphabetical codes, outliers replaced.",
        checksum="4369ab4729187d79f43341f13c60f0beb37537795975bbacaa87af4085e10572",
        rows=48204,
        columns=6,
        target="traffic_volume",
        flaws="No hour of day. Hours repeat as in the raw table, so that shuffled windows share "
        "targets between training and test.",
    ),
    _as_run(
        "air_quality",
        title="Air Quality",
        description="Eleven columns of air_quality, gaps filled, a few rows dropped.",
        checksum="a1416a5ac4a192cfefb2fa96b9ba64a496f745c7e307b81942127c4edb5e3d01",
        rows=9303,
        columns=11,
        target="NOx(GT)",
        flaws="Filled gaps can't be told from measurements.",
    ),
]

STORED: dict[str, dict[str, StoredDataset]] = {}
for _entry in _ENTRIES:
    STORED.setdefault(_entry.info.name, {})[_entry.info.variant] = _entry

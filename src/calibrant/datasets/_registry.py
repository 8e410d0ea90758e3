"""The stored data sets, as data: adding one is adding an entry here.

No data file is shipped. An entry names the file to look for, in a folder that the user chooses,
and the checksum that tells whether it is the file every published figure of ours was made with.
"""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.datasets._dataset import Task

_UCI = "CC BY 4.0 (UCI Machine Learning Repository)"


@dataclass(frozen=True, kw_only=True)
class StoredSet:
    """One gzip-compressed CSV file and how to read it.

    Parameters
    ----------
    file : str
        Name of the file inside the data folder.
    sha256 : str
        Checksum of that file, in hexadecimal.
    target : str
        Column to predict.
    drop : tuple of str
        Columns left out of the frame because they would give the target away.
    task : {"regression", "forecasting"}
        Whether the rows are exchangeable or ordered in time.
    description, licence, page, flaws : str
        What the rows are, the terms of use, the official page and the known defects.
    """

    file: str
    sha256: str
    target: str
    description: str
    licence: str
    page: str
    drop: tuple[str, ...] = ()
    task: Task = "regression"
    flaws: str = ""


STORED: dict[str, StoredSet] = {
    "power_plant": StoredSet(
        file="power_plant.csv.gz",
        sha256="250d47d9531f2a24100c9a0d5ca090e8ad4d2f5bab432d12895c590b3108f7bf",
        target="PE",
        description="Hourly net output of a combined cycle power plant (MW) from four ambient "
        "readings; 9568 rows.",
        licence=_UCI,
        page="https://archive.ics.uci.edu/dataset/294/combined+cycle+power+plant",
        flaws="The rows were shuffled by the publisher: not usable as a time series.",
    ),
    "protein": StoredSet(
        file="protein_structure.csv.gz",
        sha256="044e4b7b0b81e3fd3e0fdf5d9f18ce3a4d67a628a1a86a4e46b10b6cea9b472b",
        target="RMSD",
        description="Deviation of predicted protein structures (angstrom) from nine "
        "physicochemical properties; 45730 rows.",
        licence=_UCI,
        page="https://archive.ics.uci.edu/dataset/265/"
        "physicochemical+properties+of+protein+tertiary+structure",
    ),
    "naval": StoredSet(
        file="naval_propulsion.csv.gz",
        sha256="833ee0642fb50aa17a5f1355a0971e77a781533e9d95a13085eb12fe938e1778",
        target="GT_Compressor_decay",
        drop=("GT_Turbine_decay",),
        description="Decay of the gas turbine compressor of a simulated frigate from sixteen "
        "measurements; 11934 rows.",
        licence=_UCI,
        page="https://archive.ics.uci.edu/dataset/316/"
        "condition+based+maintenance+of+naval+propulsion+plants",
        flaws="T1 and P1 are constant and Tp repeats Ts. A noise-free simulation on a full grid: "
        "the target takes 51 values.",
    ),
    "wine": StoredSet(
        file="wine_quality_white.csv.gz",
        sha256="223d5346ff2a1f6da40ccdb94bfcf03f4e78e24aa772f8eff83b178b70ba61e8",
        target="quality",
        description="Taste score of white wines from eleven laboratory measurements; 4898 rows.",
        licence=_UCI,
        page="https://archive.ics.uci.edu/dataset/186/wine+quality",
        flaws="The target takes the integers 3 to 9 only. 937 rows repeat earlier ones, so a "
        "random split puts copies of training rows into the test set.",
    ),
}

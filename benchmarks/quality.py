"""Does `MMDRegressor` meet the requirements on its quality on the paper's nine data sets?

    python benchmarks/quality.py                                   # print what is stored
    python benchmarks/quality.py run --device cuda --minutes 9     # requirements 1 to 4, resumable
    python benchmarks/quality.py run --protocol honest             # the series in order of time
    python benchmarks/quality.py small                             # requirement 6: 200 and 50 rows
    python benchmarks/quality.py ablation                          # each part of "best" on and off
    python benchmarks/quality.py cost --device cpu                 # requirement 5: seconds
    python benchmarks/quality.py show --docs docs/quality.md                      # the page
    python benchmarks/quality.py show --take runs more.parquet     # add other results

Trials 0 to 9 are reported (0 to 19 of small data, 0 to 2 of the ablation). Settings are chosen
with --first-trial 100. Results are written to the folder --store, one file per trial, and packed
at the end into --archive, which is kept with the sources; what it contains is not computed again.
On a GPU all trials of a method on a data set train as one batch. Methods whose packages are not
installed are left out and named. Results name the commit of the code; where the sources have no
git history, set CALIBRANT_COMMIT.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from quality_pages import (
    ABLATION,
    REPORTED,
    STAGE_1,
    STUDY_METHODS,
    quality_page,
    requirements,
)

from calibrant.experiments import (
    METHODS,
    TASKS,
    Outcome,
    PaperExperiment,
    Store,
    add_to_store,
    installed,
    missing,
    pack,
    plan,
    read_results,
    run_cells,
)

HERE = Path(__file__).parent
PACKS = find_spec("pyarrow") is not None
DEVICES = ("cpu", "cuda")
SERIES = [name for name, task in TASKS.items() if task.series]


class Study(NamedTuple):
    """What a command runs by default."""

    protocols: tuple[str, ...]
    methods: list[str]
    trials: int
    datasets: dict[str, list[str]] = {}  # noqa: RUF012, by protocol; all if not named


STUDIES = {
    "run": Study(
        ("shuffled", "honest"),
        [key for key in METHODS if key != "mmd-as-published"] + list(STAGE_1),
        10,
        {"honest": SERIES},
    ),
    "small": Study(("small-200", "small-50"), ["mmd", "mmd-best", "hnn", "ngboost"], 20),
    "ablation": Study(("shuffled",), list(ABLATION), 3),
    "cost": Study(("shuffled",), ["hnn", "mmd-fast", "mmd", "mmd-best"], 3),
}


def run(options: argparse.Namespace, store: Store) -> None:
    """Run the trials that are missing, and report their outcomes."""
    study = STUDIES[options.command]
    keys = options.methods or study.methods
    available = installed(keys, STUDY_METHODS)
    if left_out := [key for key in keys if key not in available]:
        say(f"left out, not installed: {', '.join(left_out)}")
    cells = [
        cell
        for protocol in options.protocol or study.protocols
        for cell in plan(
            options.only or study.datasets.get(protocol, list(TASKS)),
            available,
            options.trials or study.trials,
            protocol,
            first_trial=options.first_trial,
            known=STUDY_METHODS,
        )
    ]
    experiment = PaperExperiment(options.data, STUDY_METHODS)
    todo = missing(cells, store, experiment)
    say(f"{len(cells) - len(todo)} of {len(cells)} trials are stored, {len(todo)} to run")
    timing = options.command == "cost"
    start = time.perf_counter()
    outcomes = run_cells(
        todo,
        store,
        experiment,
        device=options.device,
        engine="serial" if timing and options.device != "cpu" else "processes",
        workers=options.workers,
        together=1 if timing else options.together,  # time each fit by itself
        minutes=options.minutes,
        on_outcome=tell,
    )
    say(f"{len(outcomes)} of {len(todo)} trials in {time.perf_counter() - start:.0f} s")


def tell(outcome: Outcome) -> None:
    say(f"{outcome.cell}: {outcome.status} {outcome.message or f'{outcome.seconds:.1f} s'}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def records_of(path: Path) -> list[dict[str, Any]]:
    """Results of a store or a packed file; none if it does not exist."""
    return read_results(path) if path.exists() else []


def of_name(name: str) -> Path:
    """Path of packed results."""
    return HERE / "results" / f"{name}.parquet"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names: Any = {"type": lambda text: text.split(","), "default": None, "metavar": "A,B"}
    parser.add_argument("command", nargs="?", default="show", choices=("show", *STUDIES))
    parser.add_argument("--data", default=os.environ.get("CALIBRANT_DATA", "../shared/data"))
    parser.add_argument("--only", help="data sets", **names)
    parser.add_argument("--methods", **names)
    parser.add_argument("--protocol", **names)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--first-trial", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--together", type=int, help="trials in a batch; on a GPU all")
    parser.add_argument(
        "--minutes", type=float, help="stop after this many minutes; rerun to resume"
    )
    parser.add_argument("--store", type=Path, help="folder of the results, one file per trial")
    parser.add_argument("--archive", type=Path, help="one .parquet file of all results")
    parser.add_argument("--take", type=Path, nargs="+", default=[], help="add these results")
    parser.add_argument("--docs", type=Path, help="write the page to this file")
    options = parser.parse_args()
    if options.command == "cost" and options.device not in DEVICES:
        parser.error(f"cost needs --device {' or '.join(DEVICES)}.")
    name = f"cost-{options.device}" if options.command == "cost" else "quality"
    options.archive = options.archive or of_name(name)
    options.store = options.store or HERE / "cache" / name
    return options


def main() -> None:
    options = parsed()
    store = Store(options.store)
    for path in ([options.archive] if PACKS else []) + options.take:
        say(f"{add_to_store(records_of(path), store)} results from {path}")
    try:
        if options.command != "show":
            run(options, store)
    finally:  # keep the results of an interrupted run, too
        records = records_of(options.store)
        if records and PACKS:
            pack(records, options.archive)
        elif records:
            say(f"pyarrow is not installed: the results are in {options.store} alone")
    timed = {device: records_of(of_name(f"cost-{device}")) for device in DEVICES if PACKS}
    if options.command == "cost":
        timed[options.device] = records
        records = records_of(of_name("quality")) if PACKS else []
    first = options.first_trial
    trials = REPORTED if first < len(REPORTED) else range(first, first + len(REPORTED))
    for requirement in requirements(records, timed, trials):
        print(requirement.render("text"))
    if options.docs:
        options.docs.write_text(quality_page(records, timed), encoding="utf-8")


if __name__ == "__main__":
    main()

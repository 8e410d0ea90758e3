"""Is `MMDRegressor` what it is meant to be? The bars of quality on the paper's nine data sets.

    python benchmarks/quality.py                                   # prints what is known
    python benchmarks/quality.py run --device cuda --minutes 9     # bars 1 to 4, and goes on later
    python benchmarks/quality.py run --protocol honest             # the series in order of time
    python benchmarks/quality.py small                             # bar 6: 200 and 50 rows
    python benchmarks/quality.py ablation                          # each part of "best" on and off
    python benchmarks/quality.py cost --device cpu                 # bar 5: seconds, fit by fit
    python benchmarks/quality.py show --docs docs/quality.md --readme README.md     # the pages
    python benchmarks/quality.py show --take runs more.parquet     # adds other results

Trials 0 to 9 are reported (0 to 19 of small data, 0 to 2 of the ablation). Settings are chosen
with --first-trial 100. Results are in the store --store, a file a trial, and at the end packed in
--archive, which is small and kept with the sources; what it holds is not computed again.
On a GPU all trials of a method on a data set train as one batch. Methods whose packages are not
installed are left out and named.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from calibrant.experiments import (
    ABLATION,
    METHODS,
    STAGE_1,
    TASKS,
    Outcome,
    PaperExperiment,
    Store,
    add_to_store,
    between_marks,
    installed,
    missing,
    pack,
    plan,
    read_results,
    run_cells,
)
from calibrant.experiments.quality import REPORTED, bars, quality_page, quality_summary

HERE = Path(__file__).parent
PACKS = find_spec("pyarrow") is not None
DEVICES = ("cpu", "cuda")
SERIES = [name for name, task in TASKS.items() if task.series]


class Study(NamedTuple):
    """What a command runs if no option says otherwise."""

    protocols: tuple[str, ...]
    methods: list[str]
    trials: int
    datasets: dict[str, list[str]] = {}  # noqa: RUF012, by protocol, all where it has none


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
    """Run what is missing, and say what came of it."""
    study = STUDIES[options.command]
    keys = options.methods or study.methods
    if left_out := [key for key in keys if key not in installed(keys)]:
        say(f"left out, not installed: {', '.join(left_out)}")
    cells = [
        cell
        for protocol in options.protocol or study.protocols
        for cell in plan(
            options.only or study.datasets.get(protocol, list(TASKS)),
            installed(keys),
            options.trials or study.trials,
            protocol,
            first_trial=options.first_trial,
        )
    ]
    experiment = PaperExperiment(options.data)
    todo = missing(cells, store, experiment)
    say(f"{len(cells) - len(todo)} of {len(cells)} trials are there, {len(todo)} to run")
    timing = options.command == "cost"
    start = time.perf_counter()
    outcomes = run_cells(
        todo,
        store,
        experiment,
        device=options.device,
        engine="here" if timing and options.device != "cpu" else "processes",
        workers=options.workers,
        together=1 if timing else options.together,  # a fit is timed by itself
        minutes=options.minutes,
        on_outcome=tell,
    )
    say(f"{len(outcomes)} of {len(todo)} trials in {time.perf_counter() - start:.0f} s")


def tell(outcome: Outcome) -> None:
    say(f"{outcome.cell}: {outcome.status} {outcome.message or f'{outcome.seconds:.1f} s'}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def records_of(path: Path) -> list[dict[str, Any]]:
    """Results of a store or a packed file, none where there is neither."""
    return read_results(path) if path.exists() else []


def of_name(name: str) -> Path:
    """Where packed results are kept."""
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
    parser.add_argument("--minutes", type=float, help="start nothing after that")
    parser.add_argument("--store", type=Path, help="folder of the results, a file a trial")
    parser.add_argument("--archive", type=Path, help="one file of all results, .parquet")
    parser.add_argument("--take", type=Path, nargs="+", default=[], help="add these results")
    parser.add_argument("--docs", type=Path, help="write the page to this file")
    parser.add_argument("--readme", type=Path, help="put the summary between its marks")
    options = parser.parse_args()
    if options.command == "cost" and options.device not in DEVICES:
        parser.error(f"cost needs --device {' or '.join(DEVICES)}: that is what it measures.")
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
    finally:  # also what an interrupted run has
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
    for bar in bars(records, timed, trials):
        print(bar("text"))
    if options.docs:
        options.docs.write_text(quality_page(records, timed), encoding="utf-8")
    if options.readme:
        text = options.readme.read_text(encoding="utf-8")
        text = between_marks(text, quality_summary(records), "quality")
        options.readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

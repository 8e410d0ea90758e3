"""What `calibrant tune` gains on rows that the search never saw, on development tables.

    python benchmarks/tuning.py run                                  # measure what is missing
    python benchmarks/tuning.py run --methods default --minutes 10
    python benchmarks/tuning.py                                      # print what is stored

1,000 rows to search and fit on, up to 5,000 others to score; one thread. The settings found and
those that the search started from are both fitted to the 1,000 rows with three seeds. The
difference of their CRPS is paired by test row; its standard error is that of test rows alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frontier import split_rows
from frontier import table as development_table
from sklearn.base import clone

RESULTS = Path(__file__).parent / "results" / "tuning.jsonl"
TABLES = ("kin8nm", "abalone")
ROWS, TEST_ROWS, SEEDS = 1_000, 5_000, 3
METHODS = ("fast", "heteroscedastic")  # qualities of `MMDRegressor`, and a method of one network


def measure(name: str, method: str, split: int, minutes: float) -> dict[str, Any]:
    """Search on some rows, and score what was found and what it started from on others."""
    from calibrant import HeteroscedasticRegressor, MMDRegressor
    from calibrant.tuning import tune

    x, y = development_table(name)
    train, test = split_rows(name, x, split)
    train, test = train[:ROWS], test[:TEST_ROWS]
    model: Any = (
        HeteroscedasticRegressor(device="cpu")
        if method == "heteroscedastic"
        else MMDRegressor(quality=method, device="cpu")
    )
    found = tune(model, x[train], y[train], minutes=minutes, seed=split, refit=False)
    crps = {}
    for title, params in {"own": {}, "tuned": found.params}.items():
        fits = [
            clone(model).set_params(**params, random_state=seed).fit(x[train], y[train])
            for seed in range(SEEDS)
        ]
        crps[title] = np.mean([fit.predict_dist(x[test]).crps(y[test]) for fit in fits], axis=0)
    difference = crps["tuned"] - crps["own"]
    return {
        "table": name,
        "method": method,
        "split": split,
        "minutes": minutes,
        "trials": found.trials,
        "pruned": found.pruned,
        "params": found.to_dict()["params"],
        "held_out": found.crps / found.default_crps,
        "clearly_better": found.clearly_better,
        "crps_own": float(crps["own"].mean()),
        "crps_tuned": float(crps["tuned"].mean()),
        "std_error": float(np.std(difference, ddof=1) / np.sqrt(len(test))),
        "test_rows": len(test),
    }


def run(names: list[str], methods: list[str], splits: int, minutes: float) -> None:
    """Measure what is missing, and store every measurement as it comes."""
    import torch

    torch.set_num_threads(1)
    done = {(each["table"], each["method"], each["split"]) for each in known()}
    for split in range(splits):
        for method in methods:
            for name in names:
                if (name, method, split) in done:
                    continue
                result = measure(name, method, split, minutes)
                with RESULTS.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(json.dumps(result), flush=True)


def known() -> list[dict[str, Any]]:
    """All stored measurements."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def show() -> None:
    """Print a line per search."""
    lines = []
    for each in known():
        gain = each["crps_own"] - each["crps_tuned"]
        errors = gain / each["std_error"] if each["std_error"] else 0.0
        lines.append(
            {
                "table": each["table"],
                "from": each["method"],
                "minutes": each["minutes"],
                "split": each["split"],
                "trials": f"{each['trials']} + {each['pruned']} given up",
                "CRPS of the folds": f"{each['held_out'] - 1.0:+.1%}",
                "said": "better" if each["clearly_better"] else "within noise",
                "CRPS": f"{each['crps_own']:.4f} > {each['crps_tuned']:.4f}",
                "of new rows": f"{-gain / each['crps_own']:+.1%} ({errors:+.1f} std errors)",
            }
        )
    print(pd.DataFrame(lines).to_string(index=False))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=3.0)
    options = parser.parse_args()
    if options.what == "run":
        run(options.tables, options.methods, options.splits, options.minutes)
    show()


if __name__ == "__main__":
    main()

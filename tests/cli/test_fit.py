from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import estimators, load_model
from calibrant.estimators import PRESETS, HeteroscedasticRegressor, NetworkRegressor
from calibrant.methods import METHODS


def fit(run: Any, *arguments: object) -> Any:
    done = run("fit", *arguments, "--epochs", 2)
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table.parquet"])
def test_every_format_gives_the_same_model(run, data, tmp_path, model, name) -> None:
    fit(run, data / name, "--target", "price", "--out", tmp_path / "model")
    expected, got = load_model(model), load_model(tmp_path / "model")
    names = ["name", "size", "age", "colour", "sold", "shop", "importance"]
    assert list(got.feature_names_in_) == names
    assert got.encoder_.left_out == ["name"]
    assert got.encoder_.encoders_ == expected.encoder_.encoders_
    for mine, theirs in zip(got.module_.parameters(), expected.module_.parameters(), strict=True):
        np.testing.assert_array_equal(mine.detach(), theirs.detach())


def test_a_table_says_once_what_was_done_to_the_columns(run, data, tmp_path) -> None:
    done = fit(run, data / "table.csv", "--target", "price", "--out", tmp_path / "m")
    assert done.stdout == ""
    table = [line.rstrip() for line in done.stderr.splitlines()[:9]]
    assert table == [
        "column     inputs  how it is read",
        "name            0  left out, 120 different texts in 120 rows look like an",
        "                   identifier",
        "age             2  gaps filled with the median, flagged",
        "colour          4  one-hot, 4 categories",
        "sold            2  one-hot, 2 categories",
        "shop            4  one-hot, 4 categories",
        "2 columns       2  numbers, as they are: size, importance",
        "",
    ]
    assert done.stderr.count("identifier") == 1
    described = load_model(tmp_path / "m").encoder_.describe().splitlines()
    assert [line.rstrip() for line in described] == table[:-1]  # saved with the model


def test_summary_says_where_the_model_is_and_what_was_kept(run, data, tmp_path) -> None:
    out = tmp_path / "m"
    done = fit(run, data / "table.csv", "--target", "price", "--out", out)
    assert f"The model is in {out}." in done.stderr
    assert "120 rows, all held out in turn to stop and calibrate." in done.stderr
    first, second = (load_model(out).history_[i]["validation_score"] for i in (0, 3))
    for stage, score in (("1, by NLL", first), ("2, by CRPS", second)):
        (row,) = [line for line in done.stderr.splitlines() if stage in line]
        assert re.search(r"epoch [12]|its start", row)
        assert row.split()[-1] == f"{score:.4f}"


def test_summary_says_which_rows_were_held_out(run, data, tmp_path) -> None:
    options = ["--target", "price", "--out", tmp_path / "m", "--force"]
    done = fit(run, data / "table.csv", *options, "--method", "heteroscedastic")
    assert re.search(r"120 rows, \d\d of them held out to stop", done.stderr)
    other = data / "table.parquet"  # as many rows, but not the same ones in turn
    done = fit(run, data / "table.csv", *options, "--validation", other)
    assert f"120 rows, 120 of {other} to stop" in done.stderr


def test_json_is_all_of_standard_output(run, data, tmp_path) -> None:
    out = tmp_path / "m"
    done = fit(run, data / "table.csv", "--target", "price", "--out", out, "--json", "--quiet")
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert summary["model"] == str(out)
    assert summary["method"] == "MMDRegressor"
    assert (summary["target"], summary["rows"], summary["held_out_rows"]) == ("price", 120, 120)
    assert [stage["stage"] for stage in summary["stages"]] == [1, 2]
    assert summary["inputs"] == ["size", "age", "colour", "sold", "shop", "importance"]
    assert summary["columns"][1] == {"column": "size", "inputs": 1, "read": "number, as it is"}
    assert summary["test"] is None


def test_quiet_says_nothing(run, data, tmp_path) -> None:
    done = fit(run, data / "table.csv", "--target", "price", "--out", tmp_path / "m", "--quiet")
    assert done.output == ""


def test_method_bounds_and_seed_reach_the_model(run, data, tmp_path) -> None:
    out = tmp_path / "m"
    options = ["--method", "heteroscedastic", "--lower", 0, "--seed", 7, "--device", "cpu"]
    fit(run, data / "table.csv", "--target", "price", "--out", out, *options)
    got = load_model(out)
    assert type(got) is HeteroscedasticRegressor
    assert (got.bounds, got.random_state, got.device, got.epochs) == ((0.0, None), 7, "cpu", 2)
    assert got.target_name_ == "price"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_saves_and_loads(run, data, tmp_path, method: str) -> None:
    out = tmp_path / "m"
    fit(run, data / "table.csv", "--target", "price", "--out", out, "--method", method)
    assert type(load_model(out)).__name__ == METHODS[method]
    done = run("predict", out, data / "table.csv")
    assert done.exit_code == 0
    assert "lower_90" in done.stdout


def test_every_public_method_has_a_name_on_the_command_line() -> None:
    public = {name: getattr(estimators, name) for name in estimators.__all__}
    assert set(METHODS.values()) == {
        name
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, NetworkRegressor)
    } - {"NetworkRegressor"}


def test_python_users_get_the_same_cleaning(run, data, frame, tmp_path) -> None:
    out = tmp_path / "m"
    options = ["--method", "heteroscedastic", "--out", out]
    fit(run, data / "table.csv", "--target", "price", *options)
    X, y = frame.drop(columns="price"), frame["price"]
    model = HeteroscedasticRegressor(epochs=2, random_state=0).fit(X, y)
    done = run("predict", out, data / "table.csv")
    expected = pd.read_csv(io.StringIO(done.stdout))["mean"]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)


def test_booleans_are_the_same_in_every_format(run, data, frame, tmp_path) -> None:
    out = tmp_path / "m"
    fit(run, data / "table.parquet", "--target", "price", "--out", out)
    frame.assign(sold=frame["sold"].map({True: "TRUE", False: "FALSE"})).to_csv(
        tmp_path / "t.csv", index=False
    )
    expected = run("predict", out, data / "table.parquet")
    done = run("predict", out, tmp_path / "t.csv")
    assert (done.stdout, done.stderr) == (expected.stdout, "")


def test_a_table_is_read_once(run, data, tmp_path, monkeypatch) -> None:
    calls = []
    read_csv = pd.read_csv

    def watched(*arguments, **options):
        calls.append(options.get("nrows"))  # the line of names alone is read before
        return read_csv(*arguments, **options)

    monkeypatch.setattr(pd, "read_csv", watched)
    fit(run, data / "table.csv", "--target", "price", "--out", tmp_path / "m")
    assert calls == [1, None]


def test_epochs_never_raise_the_budget_of_a_stage(run, data, tmp_path) -> None:
    out = tmp_path / "m"
    done = run(
        "fit", data / "table.csv", "--target", "price", "--out", out, "--epochs", 60, "--quiet",
        "--quality", "fast",
    )  # fmt: skip
    assert done.exit_code == 0
    got = load_model(out)
    assert got.epochs == 60
    assert got.matching.epochs == PRESETS["fast"].matching_epochs == 5


def test_columns_with_another_role_are_not_learned_from(run, data, tmp_path) -> None:
    out = tmp_path / "m"
    options = ["--groups", "shop", "--weight", "importance", "--drop", "name", "--drop", "sold"]
    done = fit(run, data / "table.csv", "--target", "price", "--out", out, *options)
    assert "identifier" not in done.stderr
    assert list(load_model(out).feature_names_in_) == ["size", "age", "colour"]


def test_groups_are_held_out_whole(run, frame, tmp_path) -> None:
    frame = frame.replace({"shop": {"west": None}})  # a gap is a group, too
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ["--groups", "shop", "--json", "--quality", "fast"]
    done = fit(run, tmp_path / "t.csv", "--target", "price", "--out", tmp_path / "m", *options)
    sizes = frame["shop"].value_counts(dropna=False).tolist()
    assert json.loads(done.stdout)["held_out_rows"] in sizes


def test_validation_rows_replace_the_held_out_ones(run, data, frame, tmp_path) -> None:
    # In this file alone the colours would be read as numbers.
    valid = frame.iloc[:30].assign(colour=7, extra=1.0)
    valid.to_csv(tmp_path / "valid.csv", index=False)
    options = ["--validation", tmp_path / "valid.csv", "--weight", "importance", "--json"]
    done = fit(run, data / "table.csv", "--target", "price", "--out", tmp_path / "m", *options)
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["held_out_rows"]) == (120, 30)
    assert "'7'. They count as none of the known ones." in done.stderr


def test_rows_without_a_target_are_left_out(run, frame, tmp_path) -> None:
    gaps = frame.copy()
    gaps.loc[:4, "price"] = np.nan
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    done = fit(run, tmp_path / "gaps.csv", "--target", "price", "--out", tmp_path / "m", "--json")
    assert "gaps.csv: 5 of 120 rows left out, they have no 'price'" in done.stderr
    assert json.loads(done.stdout)["rows"] == 115


def test_row_numbers_without_a_header_are_left_out(run, frame, tmp_path) -> None:
    frame[["size", "price"]].to_csv(tmp_path / "t.csv")  # pandas writes its index
    done = fit(run, tmp_path / "t.csv", "--target", "price", "--out", tmp_path / "m", "--json")
    assert "left out, a column without a name" in done.stderr
    assert json.loads(done.stdout)["inputs"] == ["size"]


def test_categories_are_the_texts_of_the_file(run, frame, tmp_path) -> None:
    rng = np.random.default_rng(1)
    table = frame[["size", "price"]].assign(
        code=rng.choice(["007", "7", "x"], len(frame)),
        open=rng.choice(["true", "false"], len(frame)),
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    fit(run, tmp_path / "t.csv", "--target", "price", "--out", tmp_path / "m")
    assert load_model(tmp_path / "m").encoder_.categories_ == {
        "code": ["007", "7", "x"],
        "open": ["False", "True"],  # however the file spells them
    }


def test_constant_target_is_a_note_and_not_a_python_warning(run, frame, tmp_path) -> None:
    frame[["size"]].assign(price=3.0).to_csv(tmp_path / "t.csv", index=False)
    done = fit(run, tmp_path / "t.csv", "--target", "price", "--out", tmp_path / "m")
    assert "Note: The target is constant (3)" in done.stderr
    assert "Warning" not in done.stderr


def test_force_replaces_a_model(run, data, tmp_path) -> None:
    out = tmp_path / "m"
    fit(run, data / "table.csv", "--target", "price", "--out", out)
    fit(run, data / "table.csv", "--target", "size", "--out", out, "--force")
    assert load_model(out).target_name_ == "size"


def test_decimals_and_dates_in_parquet(run, frame, tmp_path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table(
        {
            "size": pa.array(frame["size"].round(2)).cast(pa.decimal128(10, 2), safe=False),
            "day": pd.date_range("2024-01-01", periods=len(frame)),
            "price": frame["price"],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    done = fit(run, tmp_path / "t.parquet", "--target", "price", "--out", tmp_path / "m", "--json")
    assert json.loads(done.stdout)["inputs"] == ["size", "day"]
    assert "date: age" in done.stderr


def test_nothing_else_is_left_in_the_folder(run, data, tmp_path: Path) -> None:
    fit(run, data / "table.csv", "--target", "price", "--out", tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]

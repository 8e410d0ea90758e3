"""Every mistake ends in one sentence on standard error and exit code 2, never in a traceback."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture
def fails(run):
    """Run a command that must fail; returns its one line of complaint."""

    def check(*arguments: object) -> str:
        done = run(*arguments)
        assert done.exit_code == 2, done.output
        assert isinstance(done.exception, SystemExit)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("Error: ")
        return line.removeprefix("Error: ")

    return check


def test_unknown_target(fails, data, tmp_path) -> None:
    message = fails("fit", data / "table.csv", "--target", "prize", "--out", tmp_path / "m")
    assert "has no column 'prize' (did you mean 'price'?)" in message
    assert "Its columns are: name, size, age, colour, sold, shop, importance, price." in message
    assert not (tmp_path / "m").exists()


def test_hints_look_past_capitals(fails, data, tmp_path) -> None:
    message = fails("fit", data / "table.csv", "--target", "PRICE", "--out", tmp_path / "m")
    assert "'PRICE' (did you mean 'price'?)" in message


@pytest.mark.parametrize("option", ["--groups", "--weight", "--drop"])
def test_unknown_column_of_an_option(fails, data, tmp_path, option) -> None:
    arguments = ["--target", "price", "--out", tmp_path / "m", option, "shopp"]
    assert "'shopp' (did you mean 'shop'?)" in fails("fit", data / "table.csv", *arguments)


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("command", ["fit", "compare", "forecast"])
def test_a_missing_target_is_chosen_among_the_columns(fails, data, command, name) -> None:
    message = fails(command, data / name)
    assert message == (
        f"Missing --target, the column to predict in {data / name}. Its columns are: name, size, "
        "age, colour, sold, shop, importance, price. For the last one: --target price"
    )


def test_a_missing_target_of_a_missing_file(fails, run, tmp_path) -> None:
    assert fails("fit", tmp_path / "t.csv") == f"There is no file {tmp_path / 't.csv'}."
    assert "Missing argument 'TRAIN'" in run("fit").stderr


def test_long_lists_of_columns_are_cut(fails, tmp_path) -> None:
    pd.DataFrame({f"c{i}": [1.0] for i in range(30)}).to_csv(tmp_path / "t.csv", index=False)
    message = fails("fit", tmp_path / "t.csv", "--target", "zzz", "--out", tmp_path / "m")
    assert message.endswith("has no column 'zzz'. Its columns are: c0, c1, c2, c3, c4, c5, c6, "
                            "c7, c8, c9 and 20 more.")  # fmt: skip


def test_missing_columns_at_predict(fails, frame, model, tmp_path) -> None:
    frame.rename(columns={"size": "syze"}).drop(columns="shop").to_csv(
        tmp_path / "t.csv", index=False
    )
    message = fails("predict", model, tmp_path / "t.csv")
    assert "has no column 'size' (did you mean 'syze'?) and 'shop'" in message


@pytest.mark.parametrize("option", ["--target", "--groups"])
def test_unknown_column_at_evaluate(fails, data, model, option) -> None:
    message = fails("evaluate", model, data / "table.csv", option, "prices")
    assert "'prices' (did you mean 'price'?)" in message


@pytest.mark.parametrize("seed", [-1, 2**31 + 1])
def test_seeds_out_of_range(fails, data, tmp_path, seed) -> None:
    message = fails(
        "fit", data / "table.csv", "--target", "price", "--out", tmp_path / "m", "--seed", seed
    )
    assert message == f"--seed must lie between 0 and 2147483648, got {seed}."


def test_there_is_no_such_file(fails, model, tmp_path) -> None:
    assert (
        fails("predict", model, tmp_path / "no.csv") == f"There is no file {tmp_path / 'no.csv'}."
    )
    (tmp_path / "trips.csv").write_text("a\n1\n")
    assert fails("predict", model, tmp_path / "trip.csv").endswith(
        f"trip.csv. Did you mean {tmp_path / 'trips.csv'}?"
    )


def test_a_folder_is_not_a_table(fails, model, tmp_path) -> None:
    (tmp_path / "t.csv").mkdir()
    assert "is not a file" in fails("predict", model, tmp_path / "t.csv")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_unknown_suffix(fails, model, tmp_path, command) -> None:
    (tmp_path / "t.xlsx").write_text("a,b\n1,2\n")
    message = fails(command, model, tmp_path / "t.xlsx")
    assert "must end in .csv, .csv.gz, .tsv, .txt or .parquet" in message


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.csv", b"", "is empty: expected a line of column names and rows."),
        ("t.csv", b"size,price\n", "has no rows"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\xff\xfe\x00", "can't be read as CSV"),
        ("t.csv", b"a,b\n1,2\n1,2,3,4\n", "can't be read as CSV"),
        ("t.csv", b"a;b\n1;2\n", "has no column 'price'. Its columns are: a, b."),
        ("t.csv.gz", b"a,b\n1,2\n", "can't be read as CSV"),
        (
            "t.csv.gz",
            gzip.compress(b"a,b\n" + b"1,2\n" * 999, mtime=0)[:-20],
            "can't be read as CSV",
        ),
        ("t.parquet", b"", "can't be read as Parquet"),
        ("t.parquet", b"a,b\n1,2\n", "can't be read as Parquet"),
    ],
)
def test_unreadable_and_empty_files(fails, tmp_path, name, content, complaint) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    message = fails("fit", path, "--target", "price", "--out", tmp_path / "m")
    assert message.startswith(str(path))
    assert complaint in message


def test_parquet_without_rows(fails, frame, model, tmp_path) -> None:
    frame.head(0).to_parquet(tmp_path / "t.parquet")
    assert "has no rows" in fails("predict", model, tmp_path / "t.parquet")


def test_existing_model_without_force(fails, data, model) -> None:
    before = (model / "manifest.json").read_bytes()
    message = fails("fit", data / "table.csv", "--target", "price", "--out", model)
    assert f"{model} exists already." in message
    assert "--force" in message
    assert (model / "manifest.json").read_bytes() == before


def test_force_does_not_replace_other_folders(fails, data, tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    message = fails("fit", data / "table.csv", "--target", "price", "--out", tmp_path, "--force")
    assert "is not a model folder" in message
    assert (tmp_path / "thesis.tex").exists()


def test_the_output_is_checked_before_the_data_are_read(fails, model, tmp_path) -> None:
    arguments = ["--target", "y", "--out", tmp_path / "none" / "m"]
    assert "There is no folder" in fails("fit", tmp_path / "none.csv", *arguments)
    assert "exists already" in fails("fit", tmp_path / "none.csv", "--target", "y", "--out", model)


def test_existing_predictions_without_force(fails, data, model, tmp_path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert "exists already" in fails("predict", model, data / "table.csv", "--out", out)
    assert out.read_text() == "old"


def test_predictions_need_a_folder_and_a_suffix(fails, data, model, tmp_path) -> None:
    arguments = ["predict", model, data / "table.csv", "--out"]
    assert "There is no folder" in fails(*arguments, tmp_path / "none" / "out.csv")
    assert "Only local files are written" in fails(*arguments, "s3://bucket/out.csv")
    assert "must end in" in fails(*arguments, tmp_path / "out.json")
    (tmp_path / "out.csv").mkdir()
    assert "is a folder" in fails(*arguments, tmp_path / "out.csv", "--force")


@pytest.mark.parametrize("level", ["0", "1", "1.5", "-0.1", "90", "nan"])
@pytest.mark.parametrize("option", ["--coverage", "--quantile"])
def test_levels_lie_between_0_and_1(fails, data, model, option, level) -> None:
    message = fails("predict", model, data / "table.csv", f"{option}={level}")
    percent = " Did you mean 0.9?" if level == "90" else ""
    assert message == f"{option} must lie between 0 and 1, both excluded, got {level}.{percent}"


def test_bounds_in_the_wrong_order(fails, data, tmp_path) -> None:
    arguments = ["--target", "price", "--out", tmp_path / "m", "--lower", 2, "--upper", 1]
    message = fails("fit", data / "table.csv", *arguments)
    assert message == "--lower must be below --upper, got 2 and 1."


def test_text_where_numbers_belong(fails, data, frame, model, tmp_path) -> None:
    message = fails("fit", data / "table.csv", "--target", "colour", "--out", tmp_path / "m")
    assert "Column 'colour' of" in message
    assert f"must hold numbers, but row 1 has {frame['colour'][0]!r}." in message
    sizes = frame["size"].astype(object).mask(frame.index >= 2, "large")
    frame.assign(size=sizes).to_csv(tmp_path / "t.csv", index=False)
    message = fails("predict", model, tmp_path / "t.csv")
    assert message.endswith("must hold numbers, but row 3 has 'large'.")


def test_a_target_without_values(fails, frame, tmp_path) -> None:
    frame.assign(price=None).to_csv(tmp_path / "t.csv", index=False)
    message = fails("fit", tmp_path / "t.csv", "--target", "price", "--out", tmp_path / "m")
    assert message.endswith("has no values.")


def test_infinite_values(fails, frame, tmp_path) -> None:
    frame[["size", "price"]].replace({"size": {frame["size"][0]: float("inf")}}).to_csv(
        tmp_path / "t.csv", index=False
    )
    for command in (["fit", "--out", tmp_path / "m"], ["compare", "--out", tmp_path / "c"]):
        message = fails(command[0], tmp_path / "t.csv", "--target", "price", *command[1:])
        assert "X contains infinity, in 'size'." in message


def test_too_few_rows(fails, run, frame, tmp_path) -> None:
    frame[["size", "price"]].head(9).to_csv(tmp_path / "t.csv", index=False)
    message = fails("fit", tmp_path / "t.csv", "--target", "price", "--out", tmp_path / "m")
    assert "at least 10 rows" in message


def test_no_columns_to_learn_from(fails, run, frame, tmp_path) -> None:
    frame[["price"]].to_csv(tmp_path / "t.csv", index=False)
    message = fails("fit", tmp_path / "t.csv", "--target", "price", "--out", tmp_path / "m")
    assert message == "No columns are left to learn from, besides the target."


def test_unknown_device(fails, frame, tmp_path) -> None:
    frame[["size", "price"]].to_csv(tmp_path / "t.csv", index=False)
    arguments = ["--target", "price", "--out", tmp_path / "m", "--device", "abacus"]
    assert "device must be" in fails("fit", tmp_path / "t.csv", *arguments)


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_there_is_no_such_model(fails, data, tmp_path, command) -> None:
    message = fails(command, tmp_path / "none", data / "table.csv")
    assert "is not a model folder: it has no manifest.json." in message


@pytest.fixture
def copied(model, tmp_path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


def test_edited_model(fails, data, copied) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["target_name"] = "size"
    (copied / "manifest.json").write_text(json.dumps(manifest))
    assert "was changed after saving" in fails("evaluate", copied, data / "table.csv")


def test_truncated_model(fails, data, copied) -> None:
    weights = copied / "tensors.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    assert "truncated, swapped" in fails("predict", copied, data / "table.csv")


def test_json_and_markdown_together(fails, data, model) -> None:
    message = fails("evaluate", model, data / "table.csv", "--json", "--markdown")
    assert message == "Choose one of --json and --markdown."


def test_demo_needs_a_folder(fails, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a folder" in fails("demo", "--out", tmp_path / "file")
    assert "There is no folder" in fails("demo", "--out", tmp_path / "none" / "demo")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fti"], "No such command 'fti'. Did you mean 'fit'?"),
        (["fit", "t.csv", "--target", "y"], "Missing option '--out'"),
        (["fit", "t.csv", "--target", "y", "--out", "m", "--method", "magic"], "magic"),
        (["fit", "t.csv", "--target", "y", "--out", "m", "--epochs", "0"], "--epochs"),
        (["predict", "m"], "Missing argument 'DATA'"),
        (["predict", "m", "t.csv", "--coverage", "much"], "--coverage"),
        (["evaluate", "m", "t.csv", "--jsn"], "No such option: --jsn (Possible options: --json)"),
    ],
)
def test_bad_usage(run, arguments, complaint) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [
        ("--method", "mdd", " Did you mean 'mmd'?"),
        ("--method", "Deep_Ensemble", " Did you mean 'deep-ensemble'?"),
        ("--quality", "bets", " Did you mean 'best'?"),
        ("--quality", "zzz", ""),
    ],
)
def test_bad_choices_get_a_hint(run, option, value, hint) -> None:
    done = run("fit", "t.csv", "--target", "y", "--out", "m", option, value)
    assert done.exit_code == 2
    words = " ".join(done.stderr.replace("│", " ").split())
    assert f"Invalid value for '{option}': '{value}' is not one of '" in words
    assert f"'.{hint}" in words
    assert ("Did you mean" in words) == bool(hint)


def test_file_system_errors_are_one_sentence(fails, data, model, tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "out.csv"))

    monkeypatch.setattr("calibrant.cli.predict.write_table", full)
    message = fails("predict", model, data / "table.csv", "--out", tmp_path / "out.csv")
    assert message == f"{tmp_path / 'out.csv'}: No space left on device."

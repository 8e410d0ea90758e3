from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table.parquet"])
def test_prints_the_table_with_the_verdict(run, data, model, name) -> None:
    done = run("evaluate", model, data / name)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    for word in ("Evaluation on 120 rows", "ECPE", "floor", "CRPS", "RMSE"):
        assert word in done.stdout


def test_json(run, data, model) -> None:
    result = json.loads(run("evaluate", model, data / "table.csv", "--json").stdout)
    assert result["n"] == 120
    assert result["groups"] is None
    assert 0 <= result["ecpe"] <= 1
    assert result["verdict"]


def test_markdown(run, data, model) -> None:
    assert "| metric | value |" in run("evaluate", model, data / "table.csv", "--markdown").stdout


def test_groups(run, data, frame, model) -> None:
    done = run("evaluate", model, data / "table.csv", "--groups", "shop", "--json")
    groups = json.loads(done.stdout)["groups"]
    assert sorted(groups["names"]) == sorted(frame["shop"].unique())
    printed = run("evaluate", model, data / "table.csv", "--groups", "shop").stdout
    assert all(shop in printed for shop in frame["shop"].unique())


def test_spaces_around_a_group_do_not_count(run, data, frame, model, tmp_path) -> None:
    shop = frame["shop"].mask(frame.index % 2 == 0, frame["shop"] + " ")
    frame.assign(shop=shop).to_csv(tmp_path / "t.csv", index=False)
    done = run("evaluate", model, tmp_path / "t.csv", "--group", "shop", "--json")
    assert done.exit_code == 0, done.stderr
    plain = run("evaluate", model, data / "table.csv", "--group", "shop", "--json")
    assert json.loads(done.stdout)["groups"] == json.loads(plain.stdout)["groups"]


def test_another_name_for_the_target(run, data, frame, model, tmp_path) -> None:
    frame.rename(columns={"price": "paid"}).to_csv(tmp_path / "t.csv", index=False)
    renamed = run("evaluate", model, tmp_path / "t.csv", "--target", "paid", "--json")
    assert renamed.stdout == run("evaluate", model, data / "table.csv", "--json").stdout


def test_rows_without_a_target_are_left_out(run, frame, model, tmp_path) -> None:
    gaps = frame.copy()
    gaps.loc[:9, "price"] = np.nan
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    done = run("evaluate", model, tmp_path / "gaps.csv", "--json")
    assert json.loads(done.stdout)["n"] == 110
    assert "10 of 120 rows left out" in done.stderr


def test_a_target_without_a_name_must_be_given(run, frame, tmp_path) -> None:
    from calibrant import HeteroscedasticRegressor

    columns = ["size", "importance"]
    fitted = HeteroscedasticRegressor(random_state=0, epochs=2)
    fitted.fit(frame[columns].to_numpy(), frame["price"].to_numpy()).save(tmp_path / "m")
    frame[[*columns, "price"]].to_csv(tmp_path / "t.csv", index=False)
    done = run("evaluate", tmp_path / "m", tmp_path / "t.csv")
    assert done.exit_code == 2
    assert "fitted to a target without a name: pass --target." in done.stderr
    assert run("evaluate", tmp_path / "m", tmp_path / "t.csv", "--target", "price").exit_code == 0


def test_a_recalibrated_model(run, data, frame, model, tmp_path) -> None:
    from calibrant import IsotonicRecalibrator, load_model
    from calibrant.cli._models import categorical_columns, model_inputs
    from calibrant.tables import read_table

    table = data / "table.csv"
    network = load_model(model)
    rows = model_inputs(network, read_table(table, text=categorical_columns(network)), table)
    IsotonicRecalibrator().fit(network, rows, frame["price"]).save(tmp_path / "m")
    plain = json.loads(run("evaluate", model, table, "--json").stdout)
    done = run("evaluate", tmp_path / "m", table, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["ecpe"] < plain["ecpe"]
    assert run("predict", tmp_path / "m", table).exit_code == 0
    page = tmp_path / "report.html"
    assert run("evaluate", tmp_path / "m", table, "--report", page).exit_code == 0
    assert "price" in page.read_text(encoding="utf-8")


def test_report(run, data, model, tmp_path) -> None:
    path = tmp_path / "report.html"
    done = run("evaluate", model, data / "table.csv", "--report", path, "--groups", "shop")
    assert done.exit_code == 0, done.stderr
    assert f"Report: {path}" in done.stderr
    page = path.read_text(encoding="utf-8")
    for word in ("90% intervals covered", "of 120 rows", "model on table.csv", "shop", "price"):
        assert word in page
    again = run("evaluate", model, data / "table.csv", "--report", path)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert path.read_text(encoding="utf-8") == page
    assert run("evaluate", model, data / "table.csv", "--report", path, "--force").exit_code == 0


@pytest.fixture(scope="module")
def rival(run, data, tmp_path_factory):
    """A model of the same target from fewer columns."""
    folder = tmp_path_factory.mktemp("rivals") / "rival"
    options = ("--method", "heteroscedastic", "--drop", "size", "--epochs", 2)
    done = run("fit", data / "table.csv", "--target", "price", "--out", folder, *options)
    assert done.exit_code == 0, done.stderr
    return folder


def test_comparison(run, data, model, rival) -> None:
    done = run("evaluate", model, data / "table.csv", "--against", rival, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    alone = [
        json.loads(run("evaluate", each, data / "table.csv", "--json").stdout)
        for each in (model, rival)
    ]
    assert found["models"] == dict(zip(("model", "rival"), alone, strict=True))
    (pair,) = found["crps_differences"]
    assert (pair["first"], pair["second"]) == ("model", "rival")
    assert pair["difference"] == pytest.approx(alone[0]["crps"] - alone[1]["crps"])
    assert pair["low"] < pair["difference"] < pair["high"]


def test_groups_of_several_models_stand_under_their_names(run, data, model, rival) -> None:
    options = ("--against", rival, "--groups", "shop")
    lines = run("evaluate", model, data / "table.csv", *options).stdout.splitlines()
    alone = run("evaluate", model, data / "table.csv", "--groups", "shop").stdout.splitlines()
    (start,) = [i for i, line in enumerate(alone) if line.startswith("group")]
    table = alone[start:]
    for name in ("model", "rival"):
        place = lines.index(name)
        assert lines[place + 1] == table[0]  # the head of the columns, not shifted
    place = lines.index("model")
    assert lines[place + 1 : place + 1 + len(table)] == table


def test_comparison_in_words_and_in_the_report(run, data, model, rival, tmp_path) -> None:
    page = tmp_path / "report.html"
    done = run("evaluate", model, data / "table.csv", "--against", rival, "--report", page)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Evaluation of 2 models on 120 rows")
    assert "noise floor" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = page.read_text(encoding="utf-8")
    assert "model, rival on table.csv" in text
    assert "can&#39;t be told apart" in text or "is better than" in text
    markdown = run("evaluate", model, data / "table.csv", "--against", rival, "--markdown").stdout
    assert markdown.startswith("| model | ECPE |")


def test_a_model_is_not_compared_with_itself(run, data, model) -> None:
    done = run("evaluate", model, data / "table.csv", "--against", model)
    assert done.exit_code == 2
    assert "names a model twice" in done.stderr

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from calibrant import load_model


def predicted(run, *arguments) -> pd.DataFrame:
    done = run("predict", *arguments)
    assert done.exit_code == 0, done.stderr
    return pd.read_csv(io.StringIO(done.stdout))


def test_csv_on_standard_output_is_what_the_model_says(run, data, frame, model) -> None:
    got = predicted(run, model, data / "table.csv")
    assert list(got.columns) == ["name", "mean", "stddev", "lower_90", "upper_90"]
    assert got["name"].tolist() == frame["name"].tolist()  # left out as an identifier
    fitted = load_model(model)
    inputs = frame[list(fitted.feature_names_in_)].astype({"sold": str})
    inputs = inputs.astype({name: "category" for name in ("colour", "sold", "shop")})
    dist = fitted.predict_dist(inputs)
    np.testing.assert_allclose(got["mean"], dist.mean, rtol=1e-12)
    np.testing.assert_allclose(got["stddev"], dist.stddev, rtol=1e-12)
    np.testing.assert_allclose(got[["lower_90", "upper_90"]], dist.interval(0.9), rtol=1e-12)


def test_levels_are_repeatable_and_name_the_columns(run, data, model) -> None:
    options = ["--coverage", 0.5, "--coverage", 0.975, "--quantile", 0.05, "--quantile", 0.5]
    got = predicted(run, model, data / "table.csv", *options)
    assert list(got.columns) == [
        *("name", "mean", "stddev", "lower_50", "upper_50", "lower_97.5", "upper_97.5"),
        *("quantile_5", "quantile_50"),
    ]
    ordered = got[["lower_97.5", "quantile_5", "lower_50", "quantile_50", "upper_50", "upper_97.5"]]
    assert (np.diff(ordered.to_numpy(), axis=1) > 0).all()


@pytest.mark.parametrize("name", ["table.csv.gz", "table.parquet"])
def test_formats_agree(run, data, model, name) -> None:
    expected = predicted(run, model, data / "table.csv")
    pd.testing.assert_frame_equal(predicted(run, model, data / name), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_out_is_written_by_suffix(run, data, model, tmp_path, name) -> None:
    expected = predicted(run, model, data / "table.csv")
    done = run("predict", model, data / "table.csv", "--out", tmp_path / name)
    assert (done.exit_code, done.stdout) == (0, "")
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    pd.testing.assert_frame_equal(read(tmp_path / name), expected, rtol=1e-12)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_json_is_one_record_per_row(run, data, model) -> None:
    done = run("predict", model, data / "table.csv", "--json")
    records = json.loads(done.stdout)
    assert len(records) == 120
    assert list(records[0]) == ["name", "mean", "stddev", "lower_90", "upper_90"]


def test_rows_keep_their_order_and_extra_columns_are_ignored(
    run, data, frame, model, tmp_path
) -> None:
    turned = frame.iloc[::-1, ::-1].assign(more=1)
    turned.to_csv(tmp_path / "turned.csv", index=False)
    expected = predicted(run, model, data / "table.csv").iloc[::-1].reset_index(drop=True)
    got = predicted(run, model, tmp_path / "turned.csv")
    pd.testing.assert_frame_equal(got, expected, rtol=1e-12)


def test_the_target_is_not_needed(run, data, frame, model, tmp_path) -> None:
    frame.drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    expected = predicted(run, model, data / "table.csv")
    pd.testing.assert_frame_equal(predicted(run, model, tmp_path / "new.csv"), expected)


def test_a_new_category_is_a_note(run, frame, model, tmp_path) -> None:
    frame.head(3).assign(colour="pink").to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model, tmp_path / "new.csv")
    assert done.exit_code == 0
    assert done.stdout.count("\n") == 4
    assert done.stderr.startswith("Note: Column 'colour' has categories that were not in")
    assert done.stderr.count("Note:") == 1


def test_force_replaces_a_file(run, data, model, tmp_path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert run("predict", model, data / "table.csv", "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("name,mean,stddev")


def test_chosen_columns_are_kept(run, data, frame, model, tmp_path) -> None:
    got = predicted(run, model, data / "table.csv", "--keep", "shop", "--keep", "price")
    assert list(got.columns) == ["shop", "price", "mean", "stddev", "lower_90", "upper_90"]
    pd.testing.assert_frame_equal(got[["shop", "price"]], frame[["shop", "price"]])
    done = run("predict", model, data / "table.csv", "--keep", "shopp")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "has no column 'shopp' (did you mean 'shop'?)" in done.stderr
    frame.assign(mean=1.0).to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", model, tmp_path / "t.csv", "--keep", "mean")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--keep mean: the predictions have a column of that name." in done.stderr


def test_kept_columns_in_json(run, data, frame, model, tmp_path) -> None:
    options = ["--keep", "age", "--keep", "sold", "--json"]
    records = json.loads(run("predict", model, data / "table.parquet", *options).stdout)
    assert records[3]["age"] is None
    assert records[4]["sold"] is bool(frame["sold"][4])


def test_it_says_what_was_written(run, data, model, tmp_path) -> None:
    done = run("predict", model, data / "table.csv", "--out", tmp_path / "out.csv")
    assert done.stderr == (
        f"120 rows in {tmp_path / 'out.csv'}: name, mean, stddev, lower_90, upper_90.\n"
    )


def test_a_model_without_column_names_takes_columns_in_order(run, frame, tmp_path) -> None:
    from calibrant import HeteroscedasticRegressor

    X, y = frame[["size", "importance"]].to_numpy(), frame["price"].to_numpy()
    fitted = HeteroscedasticRegressor(random_state=0, epochs=2).fit(X, y)
    fitted.save(tmp_path / "m")
    frame[["size", "importance"]].to_csv(tmp_path / "two.csv", index=False)
    got = predicted(run, tmp_path / "m", tmp_path / "two.csv")
    np.testing.assert_allclose(got["mean"], fitted.predict(X), rtol=1e-9)
    frame[["size"]].to_csv(tmp_path / "one.csv", index=False)
    done = run("predict", tmp_path / "m", tmp_path / "one.csv")
    assert done.exit_code == 2
    assert "fitted on 2 columns without names" in done.stderr


def test_a_guarantee_survives_the_command_line(run, frame, tmp_path) -> None:
    from calibrant import ConformalRecalibrator, HeteroscedasticRegressor

    X, y = frame[["size", "importance"]].to_numpy(), frame["price"].to_numpy()
    network = HeteroscedasticRegressor(random_state=0, epochs=2).fit(X[:80], y[:80])
    safe = ConformalRecalibrator(guarantee=True).fit(network, X[80:], y[80:])
    safe.save(tmp_path / "m")
    frame[["size", "importance"]].to_csv(tmp_path / "two.csv", index=False)
    got = predicted(run, tmp_path / "m", tmp_path / "two.csv", "--quantile", 0.95)
    bounds = got[["lower_90", "upper_90"]]
    np.testing.assert_allclose(bounds, safe.predict_interval(X, 0.9), rtol=1e-9)
    assert np.abs(bounds - safe.predict_dist(X).interval(0.9)).max(axis=None) > 1e-3
    np.testing.assert_allclose(got["quantile_95"], safe.predict_quantiles(X, 0.95), rtol=1e-9)
    # 40 rows can't promise 99%: the bounds are infinite, which JSON has no number for.
    done = run("predict", tmp_path / "m", tmp_path / "two.csv", "--coverage", 0.99, "--json")
    assert done.stderr.count("can't be guaranteed") == 1
    assert json.loads(done.stdout)[0]["upper_99"] is None

"""Tables as they come, on the command line: one command each, and it says what it did."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant import HeteroscedasticRegressor, load_model
from calibrant.cli import app

FIT = ["--target", "fare", "--method", "heteroscedastic", "--epochs", 3]


def test_the_command_line_reads_what_fit_reads(run, file, trips, tmp_path) -> None:
    run("fit", file, *FIT, "--out", tmp_path / "m")
    got = pd.read_csv(io.StringIO(run("predict", tmp_path / "m", file).stdout))
    model = HeteroscedasticRegressor(epochs=3, random_state=0)
    model.fit(trips.drop(columns="fare"), trips["fare"])
    expected = model.predict(trips.drop(columns="fare"))
    pd.testing.assert_series_equal(got["mean"], pd.Series(expected, name="mean"), rtol=1e-9)


def test_the_table_of_columns_is_told_once(run, file, tmp_path) -> None:
    done = run("fit", file, *FIT, "--out", tmp_path / "m")
    described = load_model(tmp_path / "m").encoder_.describe()
    assert done.stderr.startswith(described)
    assert done.stderr.count("'2)b'") == 1
    assert max(len(line) for line in described.splitlines()) <= 80


@pytest.mark.parametrize(
    ("name", "options"),
    [("t.csv", {"sep": ";", "decimal": ","}), ("t.tsv", {"sep": "\t"}), ("t.txt", {"sep": "|"})],
)
def test_semicolons_and_tabs_are_detected(run, file, trips, tmp_path, name, options) -> None:
    trips.to_csv(tmp_path / name, index=False, **options)
    run("fit", file, *FIT, "--out", tmp_path / "commas")
    run("fit", tmp_path / name, *FIT, "--out", tmp_path / "others")
    expected = run("predict", tmp_path / "commas", file).stdout
    assert run("predict", tmp_path / "others", tmp_path / name).stdout == expected


def test_numbers_as_spreadsheets_write_them(run, file, trips, tmp_path) -> None:
    """Decimal commas, points for thousands and a stray cell: the same model as from plain CSV."""
    metres = pd.Series(range(len(trips))) * 7.25
    plain = trips.assign(metres=metres.astype(str), fare=(1000 * trips["fare"]).round(2))
    plain.loc[5, "metres"] = "see note"

    def german(number: object) -> str:
        return f"{float(number):,.2f}".translate(str.maketrans(",.", ".,"))

    written = plain.assign(
        metres=[cell if cell == "see note" else german(cell) for cell in plain["metres"]],
        fare=[f"{german(cell)} €" for cell in plain["fare"]],
    )
    plain.to_csv(file, index=False)
    written.to_csv(tmp_path / "german.csv", index=False, sep=";", decimal=",")
    run("fit", file, *FIT, "--out", tmp_path / "plain")
    run("fit", tmp_path / "german.csv", *FIT, "--out", tmp_path / "german")
    expected = run("predict", tmp_path / "plain", file).stdout
    assert run("predict", tmp_path / "german", tmp_path / "german.csv").stdout == expected


def test_a_target_with_decimal_commas(run, file, trips, tmp_path) -> None:
    """Quoted, in a file that is separated by commas, as some spreadsheets write it."""
    cells = [f"{fare:.2f}" for fare in trips["fare"]]
    trips.assign(fare=cells).to_csv(file, index=False)
    written = [cell.replace(".", ",") for cell in cells]
    trips.assign(fare=written).to_csv(tmp_path / "commas.csv", index=False)
    run("fit", file, *FIT, "--out", tmp_path / "plain")
    done = run("fit", tmp_path / "commas.csv", *FIT, "--out", tmp_path / "commas")
    assert "fare: numbers with decimal commas" in done.stderr
    expected = run("predict", tmp_path / "plain", file).stdout
    assert run("predict", tmp_path / "commas", file).stdout == expected


def test_numbers_with_units(run, file, trips, tmp_path) -> None:
    """Units in cells, of inputs and target: the same model as without them."""
    plain = trips.assign(metres=pd.Series(range(len(trips))) * 7.25, fare=trips["fare"].round(2))
    written = plain.assign(
        metres=[f"{cell:,.2f} m" for cell in plain["metres"]],
        fare=[f"${cell:.2f}" for cell in plain["fare"]],
    )
    plain.to_csv(file, index=False)
    written.to_csv(tmp_path / "units.csv", index=False)
    run("fit", file, *FIT, "--out", tmp_path / "plain")
    done = run("fit", tmp_path / "units.csv", *FIT, "--out", tmp_path / "units")
    assert "fare: numbers in $" in done.stderr
    assert "numbers in m" in str(load_model(tmp_path / "units").encoder_)
    expected = run("predict", tmp_path / "plain", file).stdout
    assert run("predict", tmp_path / "units", tmp_path / "units.csv").stdout == expected
    scores = run("evaluate", tmp_path / "units", tmp_path / "units.csv").stdout
    assert run("evaluate", tmp_path / "plain", file).stdout == scores


@pytest.mark.parametrize(
    ("encoding", "told"), [("latin-1", True), ("utf-16", False), ("utf-8-sig", False)]
)
def test_other_encodings_are_read(run, trips, tmp_path, encoding, told) -> None:
    named = trips.assign(zone=trips["zone"].str.replace("zone", "Straße"))
    named.to_csv(tmp_path / "t.csv", index=False, encoding=encoding)
    done = run("fit", tmp_path / "t.csv", *FIT, "--out", tmp_path / "m")
    said = " ".join(done.stderr.split())
    assert ("is not UTF-8 and is read as Windows-1252 (Latin-1). If letters" in said) == told
    levels = load_model(tmp_path / "m").encoder_.categories_["zone"]
    assert "Straße 1" in levels


def test_a_broken_line_is_named(run, file, tmp_path) -> None:
    lines = file.read_text().splitlines()
    lines[10] += ",7,7"
    file.write_text("\n".join(lines))
    done = run("fit", file, *FIT, "--out", tmp_path / "m", "--json")
    assert "line 11 has 10 fields instead of 8 and is left out" in " ".join(done.stderr.split())
    assert json.loads(done.stdout)["rows"] == 599


def test_a_broken_target_leaves_its_row_out(run, trips, tmp_path) -> None:
    fares = trips["fare"].astype(str)
    fares[7] = "12.5 or so"
    trips.assign(fare=fares).to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", *FIT, "--out", tmp_path / "m")
    said = " ".join(done.stderr.split())
    assert "fare: one cell is not a number and counts as a gap: '12.5 or so'" in said
    assert "1 of 600 rows left out, they have no 'fare'" in said


def test_a_bound_is_offered_and_kept(run, file, trips, tmp_path) -> None:
    done = run("fit", file, *FIT, "--out", tmp_path / "m")
    offer = "Note: fare is never negative. --lower 0 (in Python bounds=(0, None)) keeps"
    assert offer in " ".join(done.stderr.split())
    done = run("fit", file, *FIT, "--out", tmp_path / "m", "--force", "--lower", 0)
    assert "never negative" not in done.stderr
    got = pd.read_csv(io.StringIO(run("predict", tmp_path / "m", file).stdout))
    assert (got["lower_90"] >= 0).all()
    trips.assign(fare=trips["fare"] - 20).to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", *FIT, "--out", tmp_path / "m", "--force")
    assert "never negative" not in done.stderr


def test_split_fit_and_evaluate_in_one_command(run, file, tmp_path) -> None:
    options = ["--test-size", 0.2, "--time", "pickup"]
    done = run("fit", file, *FIT, "--out", tmp_path / "m", *options)
    said = " ".join(done.stderr.split())
    assert "Evaluated on 120 rows that were set aside (20%, the last by 'pickup', from 20" in said
    assert done.stdout.startswith("Evaluation on 120 rows\n")


def test_whole_groups_are_set_aside(run, file, tmp_path) -> None:
    options = ["--test-size", 0.2, "--groups", "zone", "--epochs", 1]
    done = run("fit", file, *FIT[:4], "--out", tmp_path / "m", *options)
    said = " ".join(done.stderr.split())
    assert "8 of 40 values of 'zone', whole" in said
    assert done.stdout.startswith("Evaluation on ")


def test_a_report_answers_questions_about_the_file(run, file, tmp_path) -> None:
    """Zones by name, the inputs of surprises, a search box, and how columns were read."""
    run("fit", file, *FIT, "--out", tmp_path / "m")
    page = tmp_path / "report.html"
    run("evaluate", tmp_path / "m", file, "--group", "zone", "--report", page)
    html = page.read_text(encoding="utf-8")
    for part in ('type="search"', "Largest surprises", "zone 7", "days between the two dates"):
        assert part in html, part


def test_a_report_is_written_before_the_text(run, file, tmp_path, monkeypatch) -> None:
    """Also where the text goes to `head -1`, which ends the command."""
    run("fit", file, *FIT, "--out", tmp_path / "m")

    def broken_pipe(text: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("calibrant.cli.evaluate.write_out", broken_pipe)
    command = ["evaluate", tmp_path / "m", file, "--report", tmp_path / "r.html"]
    CliRunner().invoke(app, [str(each) for each in command])
    assert (tmp_path / "r.html").exists()


def test_predict_keeps_row_numbers_and_chosen_columns(run, file, tmp_path) -> None:
    run("fit", file, *FIT, "--out", tmp_path / "m")
    done = run("predict", tmp_path / "m", file, "--out", tmp_path / "p.csv")
    written = " ".join(done.stderr.split())
    assert written.endswith("p.csv: trip, mean, stddev, lower_90, upper_90.")
    assert pd.read_csv(tmp_path / "p.csv")["trip"].tolist() == list(range(1, 601))
    run("predict", tmp_path / "m", file, "--keep", "zone", "--out", tmp_path / "q.csv")
    assert list(pd.read_csv(tmp_path / "q.csv"))[:2] == ["zone", "mean"]


def test_recalibrate(run, trips, tmp_path) -> None:
    for name, rows in {
        "train": slice(0, 300),
        "held": slice(300, 450),
        "test": slice(450, 600),
    }.items():
        trips[rows].to_csv(tmp_path / f"{name}.csv", index=False)
    run("fit", tmp_path / "train.csv", *FIT, "--out", tmp_path / "m")
    run(
        "recalibrate",
        tmp_path / "m",
        tmp_path / "held.csv",
        "--target",
        "fare",
        "--out",
        tmp_path / "r",
    )
    before, after = (
        json.loads(run("evaluate", tmp_path / name, tmp_path / "test.csv", "--json").stdout)
        for name in ("m", "r")
    )
    assert after["ecpe"] < before["ecpe"]


@pytest.mark.parametrize("options", [[], ["--time", "pickup"]])
def test_random_test_rows_of_a_table_in_time_are_pointed_out(run, trips, tmp_path, options) -> None:
    file, out = tmp_path / "trips.csv", ["--out", tmp_path / "m", "--force", "--test-size", 0.2]
    note = "test it on the last ones: --time 'pickup'"
    trips.to_csv(file, index=False)
    assert note not in run("fit", file, *FIT, *out, *options).stderr
    trips.sort_values("pickup").to_csv(file, index=False)
    assert (note in run("fit", file, *FIT, *out, *options).stderr) == (not options)


def test_a_row_number_is_recognised_in_a_part_of_the_rows(run, file, tmp_path) -> None:
    done = run("fit", file, *FIT, "--out", tmp_path / "m", "--test-size", 0.3, "--json")
    assert "trip" not in json.loads(done.stdout)["inputs"]


@pytest.mark.parametrize("lost", ["export interrupted", "total,,,,,,,"])
def test_a_broken_line_hides_no_row_number(run, file, tmp_path, lost) -> None:
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:100], lost, *lines[100:]]))
    done = run("fit", file, *FIT, "--out", tmp_path / "m", "--json")
    assert "trip" not in json.loads(done.stdout)["inputs"]


@pytest.mark.parametrize("gaps", [0, 3])
def test_a_row_number_can_be_used_all_the_same(run, trips, tmp_path, gaps) -> None:
    file = tmp_path / "trips.csv"
    trips.assign(trip=trips["trip"].where(trips["trip"].index >= gaps)).to_csv(file, index=False)
    done = run("fit", file, *FIT, "--out", tmp_path / "m", "--use", "trip", "--json")
    assert "trip" in json.loads(done.stdout)["inputs"]
    assert run("predict", tmp_path / "m", file).stdout.startswith("mean,")


def test_errors_say_what_was_meant(file, tmp_path) -> None:
    (tmp_path / "book.xlsx").touch()
    for command, hint in (
        (["fit", file, *FIT, "--out", tmp_path / "m", "--test-size", 20], "Did you mean 0.2?"),
        (["fit", tmp_path / "book.xlsx", *FIT, "--out", tmp_path / "m"], "Save the sheet as CSV."),
    ):
        done = CliRunner().invoke(app, [str(each) for each in command])
        assert done.exit_code == 2
        assert hint in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["fit", "evaluate", "recalibrate", "compare", "tune"])
def test_groups_have_one_name(run, command) -> None:
    said = run(command, "--help").stdout
    assert "--group" in said.replace("--groups", "")
    assert "--groups" in said


def test_codes_for_gaps_are_pointed_out(run, trips, tmp_path) -> None:
    file = tmp_path / "trips.csv"
    lengths = pd.Series(range(len(trips))) / 7
    coded = lengths.where(lengths.index % 20 > 0, -999)
    trips.assign(length=coded, fare=trips["fare"].where(trips.index % 30 > 0, -999)).to_csv(file)
    said = " ".join(run("fit", file, *FIT, "--out", tmp_path / "m").stderr.split())
    assert "-999 is repeated in fare, length, far from all other values." in said


def test_a_group_without_a_label_is_called_missing(run, file, trips, tmp_path) -> None:
    run("fit", file, *FIT, "--out", tmp_path / "m")
    trips.assign(city=trips["zone"].where(trips.index < 300)).to_csv(file, index=False)
    done = run("evaluate", tmp_path / "m", file, "--group", "city")
    assert "\nmissing " in done.stdout
    assert "\nnan " not in done.stdout

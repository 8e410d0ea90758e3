from __future__ import annotations

import inspect
import json
import re

import pytest

from calibrant import metrics
from calibrant.cli.explain import explanation, formula

METRICS = [
    name
    for name in metrics.__all__
    if inspect.isfunction(getattr(metrics, name)) and name not in ("evaluate", "get_scorer")
]


@pytest.mark.parametrize("name", METRICS)
def test_every_public_metric_has_one_formula_and_two_sentences(name) -> None:
    function = getattr(metrics, name)
    text = " ".join(explanation(function))
    assert len(re.findall(r"[.!?](?= |$)", text)) == 2
    assert text.endswith(".")
    # In words: neither code nor its names.
    assert not re.search(r"[`_|{}]|LEVELS", text)
    assert 0 < len(formula(function)) <= 72  # on one line of 80 columns
    assert "`" not in formula(function)


@pytest.mark.parametrize("name", METRICS)
def test_the_formula_is_printed_once(run, name) -> None:
    done = run("explain", name)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.count(formula(getattr(metrics, name))) == 1
    assert "`" not in done.stdout


def test_coverage_is_a_share(run) -> None:
    assert "\n    mean_i 1{|2 u_i - 1| <= coverage}\n" in run("explain", "coverage").stdout


def test_the_list_names_them_all_by_file(run) -> None:
    done = run("explain")
    assert done.exit_code == 0, done.stderr
    listed = [line.split()[0] for line in done.stdout.splitlines() if re.match("  [^ ]", line)]
    assert sorted(listed) == sorted(METRICS)
    assert "Errors of the predicted mean." in done.stdout
    assert "`" not in done.stdout


def test_one_metric(run) -> None:
    done = run("explain", "ecpe")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "\n    mean_j |p_j - coverage(p_j)|\n" in done.stdout
    assert "Even a perfect forecast does not score zero" in " ".join(done.stdout.split())


@pytest.mark.parametrize("name", ["noise_floor", "Noise-Floor", "noise floor"])
def test_names_may_be_written_as_people_write_them(run, name) -> None:
    assert run("explain", name).stdout == run("explain", "noise_floor").stdout != ""


def test_json(run) -> None:
    one = json.loads(run("explain", "crps", "--json").stdout)
    assert one["crps"]["formula"] == "mean_i int (F_i(t) - 1{t >= y_i})^2 dt"
    assert "proper score" in one["crps"]["text"]
    assert sorted(json.loads(run("explain", "--json").stdout)) == sorted(METRICS)


def test_an_unknown_metric_gets_a_hint(run) -> None:
    done = run("explain", "crsp")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: There is no metric 'crsp'. Did you mean 'crps'? "
        "`calibrant explain` lists them all.\n"
    )
    assert "Did you mean" not in run("explain", "zzzzz").stderr

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def done(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "figures"
    result = run("demo", "--out", folder, "--quick")
    assert result.exit_code == 0, result.output
    return result, folder


def test_writes_figures_and_scores(done) -> None:
    _, folder = done
    assert sorted(path.name for path in folder.iterdir()) == [
        *(
            "history.png",
            "intervals.png",
            "pit.png",
            "reliability.png",
            "report.html",
            "scores.json",
        )
    ]
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 150_000
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "truth (best possible)" in page
    assert "Paired comparison of CRPS" in page


def test_prints_both_methods_the_truth_and_the_floor(done) -> None:
    result, folder = done
    for word, times in {"HeteroscedasticRegressor": 3, "MMDRegressor": 3, "truth (best": 2}.items():
        assert result.stdout.count(word) == times  # a row, a verdict, the distance from the truth
    assert "CRPS above that of the truth" in result.stdout
    assert "noise floor" in result.stdout
    assert result.stdout.startswith(f"Open {folder / 'report.html'} in a browser")
    assert f"Figures and scores.json are in {folder}." in result.stdout


def test_scores_are_those_of_the_table(done) -> None:
    result, folder = done
    scores = json.loads((folder / "scores.json").read_text())
    assert (scores["data"], scores["train_rows"], scores["test_rows"]) == ("skewed", 1000, 1000)
    assert {"calibrant", "numpy", "torch"} <= set(scores["versions"])
    for metrics in scores["methods"].values():
        assert f"{metrics['crps']:.4f}" in result.stdout
    truth = scores["methods"]["truth (best possible)"]["crps"]
    assert all(metrics["crps"] > 0.95 * truth for metrics in scores["methods"].values())


def test_an_existing_folder_is_used_again(run, done) -> None:
    _, folder = done
    (folder / "mine.txt").write_text("kept")
    again = run("demo", "--out", folder, "--quick", "--seed", 1, "--quiet", "--json")
    assert (again.exit_code, again.stderr) == (0, "")
    assert json.loads(again.stdout) == json.loads((folder / "scores.json").read_text())
    assert json.loads((folder / "scores.json").read_text())["seed"] == 1
    assert (folder / "mine.txt").read_text() == "kept"

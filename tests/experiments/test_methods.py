from __future__ import annotations

import pytest

from calibrant.experiments import DEPTH_STUDY, METHODS, Cell, PaperExperiment, installed
from calibrant.experiments.methods import PAPER_METHODS, build, missing_packages, settings_of

NETWORKS = [key for key in METHODS if METHODS[key].role != "rival"]


@pytest.mark.parametrize("key", NETWORKS)
def test_settings_of_the_paper(key: str) -> None:
    table = build(METHODS[key], "published", series=False)
    series = build(METHODS[key], "published", series=True)
    if key == "dgp":
        assert not hasattr(table, "network")
    else:
        assert (table.network, series.network) == ("mlp", "lstm")
    if METHODS[key].published or key == "mmd-as-published":
        training = table.training
        assert (table.lr, training.weight_decay, training.scaling) == (1e-4, 1e-3, "minmax")
    assert build(METHODS[key], "honest", series=False, quick=True).epochs == 2


def test_library_defaults_are_the_honest_settings() -> None:
    from calibrant import HeteroscedasticRegressor, MMDRegressor

    for protocol in ("published", "honest"):
        assert settings_of(build(PAPER_METHODS["mmd"], protocol, series=False)) == settings_of(
            MMDRegressor()
        )
    honest = settings_of(build(PAPER_METHODS["hnn"], "honest", series=False))
    assert honest == settings_of(HeteroscedasticRegressor())


def test_settings_are_those_that_none_stands_for() -> None:
    default, best = (
        settings_of(build(METHODS[k], "honest", series=False)) for k in ("mmd", "mmd-best")
    )
    assert (default["ensemble__members"], default["ensemble__folds"]) == (2, 5)
    fast = settings_of(build(PAPER_METHODS["mmd-fast"], "honest", series=False))
    assert fast["matching__epochs"] < default["matching__epochs"]
    assert (best["ensemble__submodels"], default["ensemble__submodels"]) == (8, 2)
    assert best["quality"] == "best"
    series = settings_of(build(PAPER_METHODS["mmd"], "honest", series=True))
    assert (default["dropout"], series["dropout"]) == (0.0, 0.1)


def test_depth_study() -> None:
    assert len(DEPTH_STUDY) == 20
    assert len(build(PAPER_METHODS["mmd-depth4"], "honest", series=False).hidden) == 4
    assert build(PAPER_METHODS["dgp-depth3"], "published", series=False).hidden_layers == 3
    assert build(PAPER_METHODS["dgp-depth3"], "honest", series=False, quick=True).hidden_layers == 3
    assert PaperExperiment().settings(Cell("published", "wine", "ell-depth1", 0))["hidden"] == [256]


def test_networks_are_batched() -> None:
    trees = {key for key in METHODS if METHODS[key].role == "rival"} - {"crepes"}
    assert {key for key in METHODS if not METHODS[key].batched} == {"dgp"} | trees


def test_methods_without_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.experiments.methods.find_spec", lambda name: None)
    assert "hnn" in installed(METHODS)
    assert not {"dgp", "ngboost", "lightgbm-crepes"} & set(installed(METHODS))
    assert missing_packages(METHODS["quantile-forest"]) == ["quantile-forest"]

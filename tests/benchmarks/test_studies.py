"""The studies change what their names say, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.quality_pages import ABLATION, STUDY_METHODS

from calibrant.errors import ParameterError
from calibrant.experiments import PaperExperiment, plan
from calibrant.experiments.methods import build, settings_of


def test_stage_1_is_the_method_without_its_second_stage() -> None:
    for key in ("mmd-fast", "mmd", "mmd-best"):
        both = settings_of(build(STUDY_METHODS[key], "shuffled", series=True))
        first = settings_of(build(STUDY_METHODS[f"{key}-stage1"], "shuffled", series=True))
        changed = {name for name in both if both[name] != first[name]}
        assert changed <= {"epochs", "matching__epochs", "matching__lr"}
        assert first["matching__lr"] < 1e-20


def test_stage_1_leaves_the_weights_where_the_likelihood_left_them() -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    quick = {"epochs": 3, "random_state": 0, "device": "cpu"}
    first = build(STUDY_METHODS["mmd-fast-stage1"], "shuffled", series=False)
    first.set_params(**quick, recalibrate=False)
    alone = build(STUDY_METHODS["hnn"], "shuffled", series=False).set_params(**quick)
    both, one = (model.fit(x, x[:, 0]).predict_dist(x) for model in (first, alone))
    np.testing.assert_array_equal(both.mean, one.mean)
    np.testing.assert_array_equal(both.stddev, one.stddev)


def test_an_ablation_changes_what_it_says() -> None:
    best = settings_of(build(STUDY_METHODS["mmd-best"], "shuffled", series=False))
    changed = {
        key: {name for name in best if best[name] != settings[name]}
        for key in ABLATION
        for settings in [settings_of(build(STUDY_METHODS[key], "shuffled", series=False))]
    }
    assert changed == {
        "mmd-best": set(),
        "best-gaussian-head": {"components"},
        "best-no-periodic": {"ensemble__periodic"},
        "best-one-submodel": {"ensemble__submodels"},
        "best-no-silu": {"ensemble__kinds"},
        "best-no-kernel-score": {"epochs", "matching__epochs", "matching__lr"},
        "best-matching": {"matching__match"},
        "best-no-averaging": {"matching__average"},
        "best-no-decay": {"matching__decay"},
        "best-one-member": {"ensemble__members"},
        "best-hold-out": {"ensemble__members", "ensemble__folds"},
        "best-no-neighbours": {"ensemble__kinds"},
        "best-no-atoms": {"atoms"},
        "best-one-map": {"recalibrate"},
        "best-no-map": {"recalibrate"},
    }


def test_study_methods_run_in_the_paper_experiment() -> None:
    experiment = PaperExperiment(methods=STUDY_METHODS)
    (cell,) = plan(["wine"], ["best-no-map"], 1, "shuffled", known=STUDY_METHODS)
    assert experiment.settings(cell)["recalibrate"] is False
    assert experiment.batched(cell)
    with pytest.raises(ParameterError, match="Unknown method 'best-no-map'"):
        plan(["wine"], ["best-no-map"], 1, "shuffled")

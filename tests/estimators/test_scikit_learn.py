"""scikit-learn's own checks of every method."""

from __future__ import annotations

import warnings

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.small_methods import small

from calibrant.errors import DataWarning
from calibrant.methods import METHODS

# A weight of two is the row twice only for estimators that see all rows in one deterministic
# sum. Here rows are shuffled into batches, and repeated rows change both the batches and the
# inner split, so the fits are two draws of one procedure and not the same numbers.
EXEMPT = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "rows are shuffled into batches: weighting and repeating give equal objectives, not equal "
    "random fits (the objective is tested in test_contract.py)",
)


@pytest.mark.slow
@parametrize_with_checks(
    [small(name)(epochs=60, device="cpu") for name in METHODS],
    expected_failed_checks=lambda estimator: EXEMPT,
)
def test_scikit_learn_checks(estimator, check) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # some checks use a constant target
        if check.func.__name__ != "check_regressors_train":  # the one that asks for a good fit
            estimator = clone(estimator).set_params(epochs=5)  # checks share the estimator
        check(estimator)

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from calibrant.distributions.fast_ndtr import fast_ndtr


def test_digits_of_scipy() -> None:
    z = np.concatenate([np.linspace(-37, 37, 100_001), [-np.inf, np.inf]])
    expected, given = ndtr(z), z[:, None].copy()
    np.testing.assert_allclose(fast_ndtr(z), expected, rtol=1e-13)
    assert fast_ndtr(given, out=given) is given  # in place, as a ufunc
    np.testing.assert_allclose(given[:, 0], expected, rtol=1e-13)

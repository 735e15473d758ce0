"""The calculator, against closed forms and scipy."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import beta

from credence import InputError, Mixture


def test_against_scipy():
    rng = np.random.default_rng(0)
    a = rng.gamma(2, 3, (50, 1, 2)) + 0.5
    m = Mixture(np.ones((50, 1)), a)
    dist = beta(a[:, 0, 0], a[:, 0, 1])
    assert np.allclose(m.mean()[:, 0], dist.mean())
    assert np.allclose(m.variance()[:, 1], dist.var())
    assert np.allclose(m.sd()[:, 1], dist.std())
    assert np.allclose(m.quantile(0.3)[:, 0], dist.ppf(0.3))
    assert np.allclose(m.median()[:, 0], dist.median())
    assert np.allclose(m.interval(0.9)[:, 0], np.column_stack(dist.interval(0.9)))
    assert np.allclose(m.cdf([0.2, 0.7])[:, 0].T, [dist.cdf(0.2), dist.cdf(0.7)])
    after = m.update([2, 1])
    assert np.allclose(after.alpha, a + [2, 1]) and np.allclose(after.weights, 1)
    assert np.allclose(m.top_class().sum(axis=1), 1)
    assert m.next_label_value().shape == (50,) and len(m[:7]) == 7 and len(m[3]) == 1


def test_hundred_thousand_intervals():
    rng = np.random.default_rng(0)
    n = 100_000
    m = Mixture(rng.dirichlet(np.ones(3), n), rng.gamma(2, 3, (n, 3, 2)) + 0.1, resolution=0.01)
    best = 9e9
    for _ in range(3):
        began = time.perf_counter()
        ends = m.interval(0.95)
        best = min(best, time.perf_counter() - began)
    assert ends.shape == (n, 2, 2) and (ends[..., 0] < ends[..., 1]).all()
    assert best < 10, "a second on two free cores"


def test_refused():
    with pytest.raises(InputError, match=r"expected \(n, K\)"):
        Mixture([[1.0]], [[1.0, 2.0]])
    with pytest.raises(InputError, match="record 0"):
        Mixture([1.0], [[-1.0, 2.0]]).mean()
    with pytest.raises(InputError, match="level"):
        Mixture([1.0], [[1.0, 2.0]]).interval(95)
    with pytest.raises(InputError, match="shape"):
        Mixture([1.0], [[1.0, 2.0]]).update([1, 2, 3])

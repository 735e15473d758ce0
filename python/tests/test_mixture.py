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
    with pytest.raises(InputError, match="^item 0"):
        Mixture([1.0], [[-1.0, 2.0]]).mean()
    with pytest.raises(InputError, match="^level=95: .*\nhint: 95% is level=0.95$"):
        Mixture([1.0], [[1.0, 2.0]]).interval(95)
    with pytest.raises(InputError, match="^q=3.0: expected a probability"):
        Mixture([1.0], [[1.0, 2.0]]).quantile(3)
    with pytest.raises(InputError, match="shape"):
        Mixture([1.0], [[1.0, 2.0]]).update([1, 2, 3])


def test_sample():
    """Means, variances and quantiles of draws are those of the binary, within five standard errors of 40,000 draws."""
    weights, alpha = [[0.3, 0.7], [1.0, 0.0]], [[[30, 4, 2], [3, 25, 9]], [[0.02, 0.03, 5.0], [1, 1, 1]]]
    m = Mixture(weights, alpha)
    n = 40_000
    drawn = m.sample(n, random_state=1)
    assert drawn.shape == (2, n, 3) and np.allclose(drawn.sum(axis=2), 1) and np.isfinite(drawn).all()
    assert (np.abs(drawn.mean(axis=1) - m.mean()) < 5 * m.sd() / np.sqrt(n)).all()
    below = (drawn < m.quantile(0.3)[:, np.newaxis]).mean(axis=1)
    assert (np.abs(below[0] - 0.3) < 5 * np.sqrt(0.21 / n)).all()
    assert np.array_equal(drawn, m.sample(n, np.random.default_rng(1)))
    for bad in ({"n": 0}, {"n": 2.5}, {"random_state": "x"}):
        with pytest.raises(InputError, match=next(iter(bad))):
            m.sample(**bad)
    with pytest.raises(InputError, match="item 0.*sum to 1"):
        Mixture([0.5, 0.4], [[1, 2], [3, 4]]).sample()


def test_sample_of_a_rater_model():
    """Draws would be of the items themselves, unlike means and intervals."""
    import pandas as pd
    from conftest import quiet_fit, small

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    rows = [(i, f"r{j}", int(rng.random() < 1 / (1 + np.exp(-X.a[i] - (j - 2))))) for i in range(80) for j in range(5)]
    clf = quiet_fit(small(raters="on"), X, pd.DataFrame(rows, columns=["item", "rater", "label"]))
    m = clf.predict_mixture(X)
    with pytest.raises(InputError, match="rater model.*\nhint: Mixture\\(m.weights, m.alpha\\)"):
        m.sample()
    assert Mixture(m.weights, m.alpha).sample().shape == (80, 1, 2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_to_frame(library):
    m = Mixture([[1.0], [1.0]], [[[30, 4]], [[3, 25]]], classes=["no", "yes"], index=["a", "b"])
    f = m.to_frame(0.9, library)
    assert type(f).__module__.startswith(library)
    assert list(f["item"]) == ["a", "a", "b", "b"] and list(f["class"]) == ["no", "yes"] * 2
    assert np.array_equal(np.asarray(f["mean"]), m.mean().reshape(-1)) and set(f["level"]) == {0.9}
    assert np.array_equal(np.column_stack([f["lower"], f["upper"]]), m.interval(0.9).reshape(-1, 2))
    assert np.array_equal(np.asarray(f["p_top"]), m.top_class().reshape(-1))
    assert list(m[1].to_frame(library=library)["item"]) == ["b", "b"]
    assert list(m.update([1, 0]).to_frame(library=library)["item"]) == ["a", "a", "b", "b"]
    with pytest.raises(InputError, match="library='arrow'"):
        m.to_frame(library="arrow")


def test_html():
    m = Mixture(np.ones((9, 1)), [[[30, 4]]] * 9, classes=["<no>", "yes"], index=list("abcdefghi"))
    page = m._repr_html_()
    assert page.count("<tr>") == 6 and "<no>" not in page and "&lt;no&gt;" in page
    assert f"{m.mean()[0, 0]:.3f} <small>[{m.interval()[0, 0, 0]:.3f}, " in page
    assert "0 items" in m[:0]._repr_html_()


def test_plot():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    m = Mixture([[0.5, 0.5], [1, 0]], [[[30, 4], [3, 25]], [[0.5, 0.5], [1, 1]]], classes=["no", "yes"])
    ax = m.plot()
    (line,) = ax.lines
    x, y = line.get_data()
    want = 0.5 * beta.pdf(x, 4, 30) + 0.5 * beta.pdf(x, 25, 3)  # the second class
    assert np.abs(y - want).max() < 0.01 * want.max() and "yes" in ax.get_xlabel()
    ax = m.plot(1, ["no", "yes"], ax=plt.figure().gca())
    assert len(ax.lines) == 2 and np.isfinite(ax.lines[0].get_ydata()).all() and ax.get_title() == "item 1"
    for bad in ({"item": 2}, {"classes": ["maybe"]}, {"level": 95}):
        with pytest.raises(InputError, match=next(iter(bad))):
            m.plot(**bad)
    plt.close("all")


def test_no_numbers():
    for call in (
        lambda: Mixture(["a"], [[1, 5]]),
        lambda: Mixture([0.5, 0.5], [[1, 5], [1]]),
        lambda: Mixture([1.0], [[1.0, 2.0]]).update(["a", "b"]),
        lambda: Mixture([1.0], [[1.0, 2.0]]).quantile("half"),
    ):
        with pytest.raises(InputError, match="^(weights|alpha|votes|q)=.*: expected numbers"):
            call()


def test_names():
    with pytest.raises(InputError, match="classes"):
        Mixture([1.0], [[1.0, 2.0]], classes=["a"])
    with pytest.raises(InputError, match="index has 2"):
        Mixture([1.0], [[1.0, 2.0]], index=["a", "b"])

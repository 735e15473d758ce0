"""Votes reach the items that they are on: by names, or by position where there are none."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import quiet_fit, small
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credence import CredenceWarning, InputError, _votes, align

pytestmark = pytest.mark.filterwarnings("ignore")

N = 120


def of(counts, classes=None, **options):
    return _votes.read(counts, 2, classes, form="counts", **options)


@pytest.fixture(scope="module")
def frame(data):
    """Items whose names are integers in another order than the rows, and long votes on them, in yet another."""
    rng = np.random.default_rng(3)
    X, counts = data[0][:N], data[1][:N]
    items = pd.DataFrame(X, columns=list("xyz"), index=rng.permutation(N))
    long = pd.DataFrame(
        [(name, f"r{j}", v) for name, row in zip(items.index, counts) for j, v in enumerate(["no"] * row[0] + ["yes"] * row[1])],
        columns=["item", "rater", "label"],
    )
    return items, long.sample(frac=1, random_state=0)


@pytest.fixture(scope="module")
def wide(frame):
    """The same votes, a row per item in the order of X and a column per rater, with blanks."""
    items, long = frame
    table = long.pivot(index="item", columns="rater", values="label").loc[items.index]
    return table.mask(np.random.default_rng(5).random(table.shape) < 0.2)


# Counts: columns are classes by name.


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_counts_by_name(kind):
    columns = {"benign": [9, 1], "malign": [0, 8]}
    for order in (["malign", "benign"], ["benign", "malign"]):
        table = kind({c: columns[c] for c in order})
        assert of(table).classes == order
        assert of(table, ["malign", "benign"]).counts.tolist() == [[0, 9], [8, 1]]
    with pytest.raises(InputError, match=r"columns \['foo', 'bar'\], which are no classes.*\['malign', 'benign'\]"):
        of(kind({"foo": [9, 1], "bar": [0, 8]}), ["malign", "benign"])
    with pytest.raises(InputError, match=r"1 columns \['malign'\]: expected a column for each of the classes"):
        of(kind({"malign": [9, 1]}), ["malign", "benign"])
    with pytest.raises(InputError, match=r"columns \['n'\], which are no classes"):
        of(kind({**columns, "n": [9, 9]}), ["malign", "benign"])


def test_counts_of_numbered_classes():
    assert of(pd.DataFrame([[9, 0], [1, 8]])).classes == [0, 1]
    for labels in ([1, 0], [1.0, 0.0], ["1", "0"]):
        assert of(pd.DataFrame([[0, 9], [8, 1]], columns=labels), [0, 1]).counts.tolist() == [[9, 0], [1, 8]]
    with pytest.raises(InputError, match="several columns of the name 'a'"):
        of(pd.DataFrame([[0, 9], [8, 1]], columns=["a", "a"]))


def test_counts_in_training_and_prediction(data):
    X, counts = data
    table = pd.DataFrame(counts, columns=["benign", "malign"])
    clf = quiet_fit(small(votes_form="counts", classes=["malign", "benign"]), X, table)
    assert np.corrcoef(clf.predict_proba(X)[:, 0], X[:, 0])[0, 1] > 0.8
    more = pd.DataFrame({"benign": [0] * 9, "malign": [7] * 9})
    for votes in (more, more[["malign", "benign"]]):
        assert (clf.predict_proba(X[:9], votes=votes)[:, 0] > clf.predict_proba(X[:9])[:, 0]).all()
    with pytest.raises(InputError, match="which are no classes"):
        clf.predict_proba(X[:9], votes=more.set_axis(["foo", "bar"], axis=1))
    assert clf.score(X, table) == clf.score(X, table[["malign", "benign"]])


# Long votes: items are names in the index of X.


def test_long_in_a_pipeline(frame):
    items, long = frame
    want = quiet_fit(small(), items, long).predict_proba(items)
    assert np.corrcoef(want[:, 1], items["x"])[0, 1] > 0.8
    pipe = make_pipeline(StandardScaler(), small())
    with pytest.raises(InputError, match=r'no index.*\n.*set_output\(transform="pandas"\).*credence.align\(votes, index\)'):
        pipe.fit(items, long)
    for votes, p in ((align(long, items.index), pipe), (long, make_pipeline(StandardScaler(), small()).set_output(transform="pandas"))):
        got = p.fit(items, votes).predict_proba(items)
        assert np.corrcoef(got[:, 1], want[:, 1])[0, 1] > 0.98
        assert p.score(items, votes) > -0.7


@pytest.mark.parametrize("X", [np.zeros((3, 2)), [[0, 1]] * 3, pl.DataFrame({"x": [0, 1, 2]}), pa.table({"x": [0, 1, 2]}), ["a", "b", "c"]])
def test_names_without_an_index(X):
    long = pd.DataFrame({"item": [0, 1, 2], "label": [0, 1, 0]})
    for votes, options in ((long, {}), (pl.from_pandas(long), {}), (long.rename(columns={"label": "ann"}), {"votes_form": "wide"})):
        with pytest.raises(InputError, match="credence.align"):
            small(**options).fit(X, votes)


def test_long_on_other_items(frame):
    items, long = frame
    half = items.iloc[: N // 2]
    with pytest.warns(CredenceWarning, match=rf"{3 * N // 2} of {3 * N} votes are on items that X does not have"):
        some = small(raters="on").fit(half, long)
    alone = quiet_fit(small(raters="on"), half, long[long["item"].isin(half.index)])
    assert np.array_equal(some.predict_proba(half), alone.predict_proba(half))
    with pytest.raises(InputError, match=r"no vote is on an item of X: votes name '\d+' \(str\), for example, and the index of X \d+ \(int\)"):
        small().fit(items, long.assign(item=long["item"].astype(str)))
    with pytest.raises(InputError, match="names no item"):
        small().fit(items, long.assign(item=long["item"].where(long["item"] > 3)))
    with pytest.raises(InputError, match="names the item 7 twice"):
        small().fit(items.set_axis([7] * N), long)


def test_long_beside_a_column_of_names(frame):
    items, long = frame
    forgotten = items.rename_axis("item").reset_index()
    with pytest.raises(InputError, match=r"X has a column of that name, which is not its index\n.*X.set_index\('item'\)"):
        small().fit(forgotten, long)
    got = quiet_fit(small(), forgotten.set_index("item"), long).predict_proba(items)
    assert np.array_equal(got, quiet_fit(small(), items, long).predict_proba(items))


# Everything else with an index: matched with that of X.


def test_wide_in_another_order(frame, wide):
    items, _ = frame
    want = quiet_fit(small(raters="on"), items, wide).predict_proba(items)
    mixed = wide.sample(frac=1, random_state=1)
    for votes in (mixed, mixed.rename_axis("item").reset_index(), pl.from_pandas(mixed.rename_axis("item").reset_index())):
        clf = quiet_fit(small(raters="on"), items, votes)
        assert np.allclose(clf.predict_proba(items), want, atol=1e-6)  # votes come in another order
        assert np.array_equal(clf.predict_proba(items, votes=votes), clf.predict_proba(items, votes=wide))
    with pytest.raises(InputError, match=r"index of X has \d+, which that of votes does not have; there is 'p0' instead"):
        small().fit(items, wide.set_axis([f"p{i}" for i in range(N)]))
    with pytest.raises(InputError, match="which that of votes does not have"):
        clf.predict_proba(items, votes=wide.set_axis(range(1, N + 1)))
    assert np.array_equal(quiet_fit(small(raters="on"), items.to_numpy(), wide).predict_proba(items.to_numpy()), want)


def test_series_in_another_order(data, frame):
    items, _ = frame
    counts = pd.DataFrame(data[1][:N], columns=["no", "yes"], index=items.index)
    weights = pd.Series(np.linspace(0.1, 3, N), index=items.index)
    groups = pd.Series(np.arange(N) // 4, index=items.index)
    lists = pd.Series([["no"] * a + ["yes"] * b for a, b in counts.to_numpy()], index=items.index)
    mixed = np.random.default_rng(6).permutation(N)
    form = {"votes_form": "counts"}
    want = quiet_fit(small(**form), items, counts, sample_weight=weights, groups=groups)
    got = quiet_fit(small(**form), items, counts.iloc[mixed], sample_weight=weights.iloc[mixed], groups=groups.iloc[mixed])
    assert np.array_equal(got.predict_interval(items), want.predict_interval(items))
    other = quiet_fit(small(), items, lists.iloc[mixed], sample_weight=weights.to_numpy(), groups=groups.to_numpy())
    assert np.array_equal(other.predict_interval(items), want.predict_interval(items))
    for name, values in (("sample_weight", weights), ("groups", groups)):
        with pytest.raises(InputError, match=f"that of {name} does not have"):
            small(**form).fit(items, counts, **{name: values.set_axis(range(3, N + 3))})
    labels = lists.str[0]
    plain = quiet_fit(small(), items, labels).predict_proba(items)
    assert np.array_equal(quiet_fit(small(), items, labels.iloc[mixed]).predict_proba(items), plain)


def test_index_with_names_twice(data):
    X, counts = data[0][:N], data[1][:N]
    twice = pd.DataFrame(X, columns=list("xyz"), index=np.arange(N) // 2)
    table = pd.DataFrame(counts, columns=["no", "yes"], index=twice.index)
    clf = small(votes_form="counts")
    assert np.array_equal(
        quiet_fit(clf, twice, table).predict_proba(twice), quiet_fit(small(), X, counts).predict_proba(X)
    )  # the same names in the same order
    with pytest.raises(InputError, match="the index of votes names 59 twice, and the rows of votes are not in the order of X"):
        clf.fit(twice, table[::-1])


def test_texts_in_a_series(data):
    counts = data[1][:N]
    texts = pd.Series(["good, well done" if c[1] > 1 else "bad, again" for c in counts], index=[f"t{i}" for i in range(N)])
    long = pd.DataFrame([(f"t{i}", k) for i, c in enumerate(counts) for k in (0, 1) for _ in range(c[k])], columns=["item", "label"])
    got = quiet_fit(small(), texts, long.sample(frac=1, random_state=0)).predict_proba(texts)
    assert np.array_equal(got, quiet_fit(small(), texts.tolist(), counts).predict_proba(texts.tolist()))


# align: votes that scikit-learn splits.


def test_align_forms(frame, wide):
    items, long = frame
    blank = long.merge(wide.isna().stack().rename("blank"), left_on=["item", "rater"], right_index=True)
    kept = blank[~blank["blank"]].drop(columns="blank")
    ids = [int(i) for i in items.index]
    indexes = (items, items.index, ids, np.array(ids), pl.Series(ids), pd.Series(ids), pa.table({"i": ids})["i"])
    shown = [str(align(kept, index)[:, 0, 0].tolist()) for index in indexes]
    assert len(set(shown)) == 1 and "r1: 'yes'" in shown[0]
    whole = align(wide, items.index)
    assert whole.shape == (N, 2, 1) and sorted(str(whole[5, 0, 0])) == sorted(str(align(kept, items)[5, 0, 0]))
    some = pickle.loads(pickle.dumps(whole[[7, 7, 3]]))
    assert str(some[0, 0, 0]) == str(whole[7, 1, 0]) and len(some) == 3
    assert np.array_equal(quiet_fit(small(), items, whole).predict_proba(items), quiet_fit(small(), items, wide).predict_proba(items))
    assert align(np.array([[1, 2], [0, 3]]), range(2))[0, 0, 0].__repr__() == "ItemVotes(0: 1, 1: 2)"
    assert align([["a"], []], range(2), classes=["b", "a", "c"]).shape == (2, 3, 1)
    for index in (pl.DataFrame({"item": [1]}), "item", 5):
        with pytest.raises(InputError, match="expected the names of the rows of X"):
            align(long, index)


def test_aligned_rows_keep_their_names(frame):
    items, long = frame
    votes = align(long, items)
    want = quiet_fit(small(), items, votes).predict_proba(items)
    mixed = items.sample(frac=1, random_state=2)
    assert np.allclose(quiet_fit(small(), mixed, votes).predict_proba(items), quiet_fit(small(), mixed, long).predict_proba(items))
    assert np.array_equal(quiet_fit(small(), items.to_numpy(), votes).predict_proba(items.to_numpy()), want)
    with pytest.raises(InputError, match="which that of votes does not have"):
        small().fit(items.set_axis(range(7, N + 7)), votes)
    with pytest.raises(InputError, match="votes on 10"):
        small().fit(items, votes[:10])
    with pytest.raises(InputError, match="several calls"):
        small().fit(items, np.concatenate([votes[:60], align(long, items)[60:]]))
    # A column that names items: rows are those of X, whatever its index is.
    column = items.rename_axis("patient").reset_index()
    named = align(long, column["patient"])
    assert np.array_equal(quiet_fit(small(), column[list("xyz")], named).predict_proba(items), want)
    with pytest.raises(InputError, match="class 'yes' is not one of"):
        small(classes=["no", "perhaps"]).fit(items, votes)
    turned = quiet_fit(small(classes=["yes", "no"]), items, votes)
    assert turned.classes_.tolist() == ["yes", "no"] and np.corrcoef(turned.predict_proba(items)[:, 0], want[:, 1])[0, 1] > 0.8


@pytest.mark.parametrize("kind", ["pandas", "numpy", "polars"])
def test_aligned_votes_are_split(frame, kind):
    items, long = frame
    X = {"pandas": items, "numpy": items.to_numpy(), "polars": pl.from_pandas(items)}[kind]
    votes = align(long, items.index)
    train, test, votes_train, votes_test = train_test_split(X, votes, random_state=0)
    clf = quiet_fit(small(raters="on"), train, votes_train)
    assert {r["rater"] for r in clf.raters_} == {"r0", "r1", "r2"} and np.isfinite(clf.score(test, votes_test))
    pipe = make_pipeline(StandardScaler(), small(epochs=6))
    assert (cross_val_score(pipe, X, votes, cv=2) > -0.7).all()
    search = GridSearchCV(pipe, {"credenceclassifier__components": [1, 2]}, cv=2, n_jobs=2).fit(X, votes)
    assert np.isfinite(search.best_score_) and search.predict_proba(X).shape == (N, 2)
    held_out = cross_val_predict(pipe, X, votes, cv=KFold(3, shuffle=True, random_state=0), method="predict_proba")
    assert held_out.shape == (N, 2) and np.corrcoef(held_out[:, 1], items["x"])[0, 1] > 0.8
    assert set(cross_val_predict(pipe, X, votes, cv=3)) == {"no", "yes"}


def test_wide_texts_with_blanks(frame, wide):
    """scikit-learn sorts a frame as it is when cv is a number, which fails on blanks before anything of ours is called."""
    items, _ = frame
    assert wide.isna().any().any()
    scores = [
        cross_val_score(small(), items, align(wide, items), cv=2),
        cross_val_score(small(), items, wide, cv=KFold(2)),
        cross_val_score(small(), items, wide.astype(object).fillna(""), cv=2),
    ]
    assert np.isfinite(scores).all() and np.ptp(scores, axis=0).max() == 0
    lists = [row.dropna().tolist() for _, row in wide.iterrows()]
    assert np.isfinite(cross_val_score(small(), items, align(lists, items), cv=2)).all()


def test_orders_that_disagree_are_refused_in_folds(frame, wide):
    items, _ = frame
    with pytest.raises(ValueError, match="which that of votes does not have"):
        cross_val_score(small(), items, wide.sample(frac=1, random_state=1), cv=KFold(2), error_score="raise")

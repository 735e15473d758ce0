"""credence.spark, in one process of Spark; .ci/spark has a cluster, and takes workers away from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspark", minversion="4.0")
if not shutil.which("java"):
    pytest.skip("there is no Java", allow_module_level=True)

import pyarrow as pa
import pyspark.errors
from conftest import leftovers
from pyarrow import parquet
from pyspark.sql import SparkSession

import credence.spark
from credence import FileError, InputError
from credence._binary import find

pytestmark = pytest.mark.filterwarnings("ignore")

BINARY = find()  # before the one below stands for it

# Stands for the binary on the workers: while the file "fail" is there, predictions end as it says.
WRAPPER = """#!/bin/sh
if [ "$1" = predict ] && [ -e '{here}/fail' ]; then . '{here}/fail'; fi
exec '{binary}' "$@"
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def spark(here):
    wrapper = here / "credence"
    wrapper.write_text(WRAPPER.format(here=here, binary=BINARY))
    wrapper.chmod(0o755)
    ours = {
        "CREDENCE_BINARY": str(wrapper),
        "PYTHONPATH": str(Path(credence.__file__).parent.parent),
        "PYSPARK_PYTHON": sys.executable,
    }
    before = {k: os.environ.get(k) for k in ours}
    os.environ.update(ours)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    for k, v in before.items():
        if v is None:
            del os.environ[k]
        else:
            os.environ[k] = v


def binary(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BINARY, *map(str, args)], check=True, capture_output=True, text=True)


def items(n: int, seed: int = 0) -> pa.Table:
    """Items with numbers, categories, a list and a structure, and some of each missing."""
    r = np.random.default_rng(seed)
    gaps = r.random((4, n)) < 0.05
    a, b = r.normal(size=n), r.integers(-5, 5, n)
    lists = [None if gap else list(map(float, v)) for gap, v in zip(gaps[2], r.normal(size=(n, 3)), strict=True)]
    return pa.table(
        {
            "item": [f"i{k}" for k in range(n)],
            "a": pa.array(a, mask=gaps[0]),
            "b": b,
            "site": pa.array(r.choice(["x", "y", 'z "'], n), mask=gaps[1]),
            "v": pa.array(lists, pa.list_(pa.float64())),
            "s": pa.StructArray.from_arrays([pa.array(r.normal(size=n)), pa.array(r.random(n) < 0.5)], ["x", "flag"]),
        }
    )


@pytest.fixture(scope="module")
def model(here):
    table = items(200)
    parquet.write_table(table, here / "items.parquet")
    r = np.random.default_rng(1)
    votes = pa.table({"item": np.repeat(table["item"].to_numpy(zero_copy_only=False), 3), "label": r.choice(["no", "yes"], 600)})
    parquet.write_table(votes, here / "votes.parquet")
    data = "--data", here / "items.parquet", "--votes", here / "votes.parquet"
    binary("train", *data, "--epochs", 2, "--ensemble", 2, "--out", here / "run", "-q")
    return here / "run"


@pytest.fixture(scope="module")
def frame(spark, here, model):
    return spark.read.parquet(str(here / "items.parquet"))


def one_process(here, model, *flags: object) -> pa.Table:
    out = here / "one.parquet"
    binary("predict", model, here / "items.parquet", "-o", out, "--overwrite", *flags)
    return parquet.read_table(out)


@pytest.mark.parametrize("parts", [1, 3])
def test_same_as_one_process(here, model, frame, parts):
    got = credence.spark.predict(frame.repartition(parts), model, level=0.9).toArrow()
    want = one_process(here, model, "--level", 0.9)
    assert got.column_names == want.column_names
    order = [("item", "ascending"), ("class", "ascending")]
    assert got.cast(want.schema).sort_by(order).equals(want.sort_by(order))
    assert leftovers() == []


def test_options(here, model, frame):
    got = credence.spark.predict(frame, model / "model.credence", [0.5, 0.9], item="item", wide=True, hpd=True).toArrow()
    want = one_process(here, model, "--level", "0.5,0.9", "--wide", "--hpd")
    assert got.column_names == want.column_names and got.num_rows == 200
    assert got.cast(want.schema).sort_by("item").equals(want.sort_by("item"))
    means = credence.spark.predict(frame, model, only="mean")
    assert means.columns == one_process(here, model, "--only", "mean").column_names


def test_empty_partitions(model, frame):
    some = frame.where("item in ('i1', 'i2')").repartition(4)
    assert credence.spark.predict(some, model).count() == 4
    assert credence.spark.predict(frame.where("item = 'nobody'"), model).count() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("a"), r'the DataFrame: no column "a": the model was trained with it'),
        (lambda f: f.drop("s"), r'no column "s\.'),
        (lambda f: f.drop("item"), "none of the columns a, b, site, v, s says which item a row is"),
        (lambda f: f.withColumn("v", f.a.cast("string")), None),
    ],
)
def test_columns(model, frame, change, message):
    if message is None:
        with pytest.raises(pyspark.errors.PySparkException, match="expected a list of"):
            credence.spark.predict(change(frame), model).count()
        return
    with pytest.raises(InputError, match=message):
        credence.spark.predict(change(frame), model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item": "patient"}, "there is no column 'patient': the columns are item, a"),
        ({"level": 95}, "95"),
        ({"level": "wide"}, "wide"),
        ({"shard": "0/2"}, "shard is not an option of predict on Spark"),
        ({"votes": "votes.csv"}, "votes is not an option of predict on Spark"),
        ({"nonsense": 1}, "nonsense"),
        ({"only": "median"}, "median"),
    ],
)
def test_bad_options(model, frame, options, message):
    with pytest.raises((InputError, TypeError), match=message):
        credence.spark.predict(frame, model, **options)


def test_no_model(here, frame):
    with pytest.raises(FileError, match="nowhere: No such file"):
        credence.spark.predict(frame, here / "nowhere")
    (here / "empty").mkdir(exist_ok=True)
    with pytest.raises(FileError, match=r"empty: No such file"):
        credence.spark.predict(frame, here / "empty")
    bad = here / "bad.credence"
    bad.write_bytes(b"not a model")
    with pytest.raises((InputError, credence.CredenceError), match="model"):
        credence.spark.predict(frame, bad)


def test_bad_rows(model, frame):
    from pyspark.sql import functions as F

    nameless = frame.withColumn("item", F.when(F.col("item") == "i7", None).otherwise(F.col("item")))
    with pytest.raises(pyspark.errors.PySparkException, match="1 of 200 items have no prediction: .*the item has no id"):
        credence.spark.predict(nameless, model).count()
    huge = frame.withColumn("a", F.when(F.col("item") == "i7", 1e300).otherwise(F.col("a")))
    with pytest.raises(pyspark.errors.PySparkException, match=r'item "i7" has no prediction: .*row \d+, column a: .*within ±3.4e38'):
        credence.spark.predict(huge, model).count()
    assert leftovers() == []


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("kill -KILL $$", "killed|signal 9"),
        ("'{binary}' \"$@\" | head -c 5000; echo 'credence: error: the disk is gone' >&2; exit 1", "the disk is gone"),
        ("'{binary}' \"$@\" | head -c 5000; exit 0", "[Ee]xpected|truncated|Arrow"),
        ("exec true", "Arrow|stream|schema|[Bb]roken pipe"),
        ("echo 'credence: error: it stopped' >&2; exit 3", "it stopped"),
    ],
)
def test_binary_fails(here, model, frame, how, message):
    predicted = credence.spark.predict(frame, model)
    (here / "fail").write_text(how.format(binary=BINARY) + "\n")
    try:
        with pytest.raises(pyspark.errors.PySparkException, match=message):
            predicted.count()
    finally:
        (here / "fail").unlink()
    assert leftovers() == []
    assert predicted.count() == 400


def test_fit(spark, here, model, frame):
    votes = spark.read.parquet(str(here / "votes.parquet"))
    run = Path(credence.spark.fit(frame, votes, here / "fitted", members=2, epochs=2, seed=3))
    data = "--data", run / "data/items", "--votes", run / "data/votes"
    binary("train", *data, "--epochs", 2, "--seed", 3, "--ensemble", 2, "--out", here / "single", "-q")
    assert (run / "model.credence").read_bytes() == (here / "single/model.credence").read_bytes()
    with pytest.raises(FileError, match="is there already and not empty"):
        credence.spark.fit(frame, votes, run)
    assert credence.spark.predict(frame, run).count() == 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": 0}, "members is 0: expected at least 1"),
        ({"member": "0/2"}, "member is not an option of fit on Spark"),
        ({"ensemble": 3}, "ensemble is not an option of fit on Spark"),
    ],
)
def test_bad_fit(here, frame, options, message):
    with pytest.raises(InputError, match=message):
        credence.spark.fit(frame, frame, here / "never", **options)
    assert not (here / "never").exists()


def test_bad_votes(here, frame):
    with pytest.raises(pyspark.errors.PySparkException, match="votes"):
        credence.spark.fit(frame, frame.select("item"), here / "unvoted", members=2)

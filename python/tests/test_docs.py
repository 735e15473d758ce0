"""Every example of the pages on Python runs."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def examples(page: str) -> str:
    """Returns the blocks of Python of a page, as one program with the lines of the page."""
    if not DOCS.is_dir():
        pytest.skip("the pages are not part of a source distribution")
    out, inside = [], False
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        fence = line.startswith("```")
        inside = line == "```python" if fence else inside
        out.append(line if inside and not fence else "")
    return "\n".join(out) + "\n"


def run(page: str, **names: object) -> dict[str, object]:
    """Runs the examples of a page, and returns what they define."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(examples(page), page, "exec"), names)
    return names


def test_python_from(tmp_path, monkeypatch):
    pytest.importorskip("cleanlab")
    pytest.importorskip("crowdkit")
    monkeypatch.chdir(tmp_path)
    got = run("python-from.md")
    # The calls that the page sets side by side answer the same question.
    agree = (got["consensus"].to_numpy() == got["label"]).mean()
    assert agree > 0.85, agree
    assert got["p"].shape == (200, 2) and got["ends"].shape == (200, 2, 2) and got["plan"].sum() == 20
    assert set(got["raters"]["rater"]) == set(got["annotators"].index) == {"r0", "r1", "r2", "r3"}
    assert {"votes", "lean", "guess"} <= set(got["raters"].columns), got["raters"].columns
    assert 0 < got["alpha"] < 1 and got["new"].shape == (1, 2)
    import crowdkit.metrics.data

    assert got["alpha"] == pytest.approx(crowdkit.metrics.data.alpha_krippendorff(got["df"]), abs=1e-9)
    assert (got["majority"].index == got["X"].index).all() and len(got["improbable"]) < 100


def test_python(tmp_path, monkeypatch, data):
    pytest.importorskip("mlflow")
    pytest.importorskip("skops")
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/mlruns")
    X, counts = data
    items = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"i{k}" for k in range(300)]).rename_axis("item")
    items.to_csv("items.csv")
    rows = [(f"i{k}", f"r{(j + k) % 3}", "yes" if j < yes else "no") for k, (_, yes) in enumerate(counts) for j in range(3)]
    pd.DataFrame(rows, columns=["item", "rater", "label"]).to_csv("votes.csv", index=False)
    got = run("python.md", stream=list(X[:3]))
    assert got["p"].shape == (300, 2) and Path("report.html").is_file() and Path("runs/first/model.credence").is_file()
    assert np.isfinite(got["value"]).all() and got["draws"].shape == (3, 1000, 2) and got["plan"].sum() == 50
    assert "lower_yes" in got["predictions"].columns
    matplotlib.pyplot.close("all")


def test_table_names_exist():
    """Names in code of the tables are attributes of what they are said to be."""
    import credence

    text = (DOCS / "python-from.md").read_text(encoding="utf-8") if DOCS.is_dir() else ""
    for name in re.findall(r"clf\.(\w+)\(", text):
        assert hasattr(credence.CredenceClassifier, name), name
    for name in re.findall(r"credence\.(\w+)\(", text):
        assert hasattr(credence, name), name

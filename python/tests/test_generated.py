"""What was generated is what the command line says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import credence

GENERATE = Path(__file__).parent.parent / "generate.py"


def test_up_to_date():
    done = subprocess.run([sys.executable, str(GENERATE), "--check", credence.find()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_verbs():
    import json

    assert json.loads(credence.verbs.version(json=True))["version"]
    assert "mean" in credence.verbs.mixture(alpha=["2,5"], level=[0.5, 0.9])


def test_old_name():
    with pytest.warns(DeprecationWarning, match="tell is deprecated: use fields"):
        with pytest.raises(credence.CredenceError, match="^fields requires data\n"):
            credence.verbs.mixture(tell=["mean"])

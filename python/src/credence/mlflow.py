"""Models in MLflow, whose predictions have intervals: ``credence.mlflow.log_model(clf, name="model")``.

A model is saved as its own files and loaded with this package, without pickles. As a function of MLflow
(``mlflow.pyfunc.load_model``, ``mlflow models serve``) it returns a frame with the columns ``predicted``, and
``mean_…``, ``lower_…`` and ``upper_…`` of each class, at the level that it was saved with or that
``params={"level": 0.9}`` gives.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._binary import package_version
from ._classifier import CredenceClassifier
from ._errors import InputError
from ._frames import frame
from ._mixture import one_level
from ._rows import index_of

FLAVOR_NAME = "credence"
_FOLDER = "model"


def get_default_pip_requirements() -> list[str]:
    """Return the packages that a model needs.

    Returns
    -------
    list of str
    """
    return ["credence==" + package_version().partition("+")[0], "pandas"]


def save_model(
    clf: CredenceClassifier,
    path: str | os.PathLike[str],
    *,
    level: float = 0.95,
    input_example: Any = None,
    signature: Any = None,
    mlflow_model: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Save a model as a folder of MLflow.

    Parameters
    ----------
    clf : CredenceClassifier
        A model that was fitted.
    path : str or path
        Of the folder, which must not exist.
    level : float, default 0.95
        The probability that intervals hold, unless a call gives another.
    input_example : frame or array, optional
        Some items, from which the signature is inferred.
    signature : mlflow.models.ModelSignature, optional
        Of inputs and outputs.
    mlflow_model : mlflow.models.Model, optional
        The model to describe, which `log_model` passes.
    pip_requirements : list of str, optional
        Packages that the model needs; this one and pandas if not given.
    metadata : dict, optional
        What to keep with the model.
    """
    from mlflow import pyfunc
    from mlflow.models import Model, ModelSignature, infer_signature
    from mlflow.models.utils import _save_example
    from mlflow.types import ParamSchema, ParamSpec

    level = one_level(level)
    if not isinstance(clf, CredenceClassifier):
        raise InputError(f"clf is {type(clf).__name__}: expected a CredenceClassifier", "of a pipeline, pass pipe[-1]")
    clf._check_fitted()
    to = Path(path)
    if to.exists():
        raise InputError(f"{to} exists already: expected the name of a new folder")
    to.mkdir(parents=True)
    clf.save(to / _FOLDER)
    model = Model(metadata=metadata) if mlflow_model is None else mlflow_model
    if signature is None:
        about = ParamSchema([ParamSpec("level", "double", level)])
        signature = ModelSignature(params=about)
        if input_example is not None:
            inferred = infer_signature(input_example, _answers(clf, input_example, level))
            signature = ModelSignature(inputs=inferred.inputs, outputs=inferred.outputs, params=about)
    model.signature = signature
    if input_example is not None:
        _save_example(model, input_example, str(to))
    pyfunc.add_to_model(model, loader_module="credence.mlflow", data=_FOLDER, python_env="python_env.yaml")
    model.add_flavor(FLAVOR_NAME, level=level, data=_FOLDER, credence_version=package_version())
    model.save(str(to / "MLmodel"))
    needs = get_default_pip_requirements() if pip_requirements is None else pip_requirements
    (to / "requirements.txt").write_text("\n".join(needs) + "\n", encoding="utf-8")
    import platform

    lines = f"python: {platform.python_version()}\nbuild_dependencies: [pip]\ndependencies: [-r requirements.txt]\n"
    (to / "python_env.yaml").write_text(lines, encoding="utf-8")


def log_model(clf: CredenceClassifier, name: str = "model", **options: Any) -> Any:
    """Log a model as an artifact of the current run of MLflow.

    Parameters
    ----------
    clf : CredenceClassifier
        A model that was fitted.
    name : str, default "model"
        Of the model.
    **options
        Those of `save_model`, and of ``mlflow.models.Model.log``, such as ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    import sys

    from mlflow.models import Model

    return Model.log(artifact_path=None, name=name, flavor=sys.modules[__name__], clf=clf, **options)


def load_model(model_uri: str, dst_path: str | None = None) -> CredenceClassifier:
    """Load a classifier that `save_model` or `log_model` wrote.

    Parameters
    ----------
    model_uri : str
        A path or URI of MLflow, such as ``runs:/ID/model`` or ``models:/name/1``.
    dst_path : str, optional
        Where to put files that are fetched.

    Returns
    -------
    CredenceClassifier
    """
    from mlflow.tracking.artifact_utils import _download_artifact_from_uri

    local = Path(_download_artifact_from_uri(artifact_uri=str(model_uri), output_path=dst_path))
    return CredenceClassifier.load(local / _configured(local)["data"])


def _configured(folder: Path) -> dict[str, Any]:
    from mlflow.models import Model

    flavors = Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise InputError(f"{folder}: expected a model with the flavor {FLAVOR_NAME}, found {sorted(flavors)}")
    found: dict[str, Any] = flavors[FLAVOR_NAME]
    return found


def _answers(clf: CredenceClassifier, X: Any, level: float) -> Any:
    """Returns the frame of predictions."""
    records = clf._records(X, ["mean", "interval"], level=level)
    mean, ends = records["mean"], records["interval"].reshape(len(records["mean"]), -1, 2)
    index = index_of(X)
    out = frame("pandas", mean, [f"mean_{c}" for c in clf.classes_], index)
    out.insert(0, "predicted", clf.classes_[mean.argmax(axis=1)])
    for i, c in enumerate(clf.classes_):
        out[f"lower_{c}"], out[f"upper_{c}"] = ends[:, i, 0], ends[:, i, 1]
    return out


class _Function:
    """The model as a function of MLflow."""

    def __init__(self, clf: CredenceClassifier, level: float) -> None:
        self.clf, self.level = clf, level

    def get_raw_model(self) -> CredenceClassifier:
        """Returns the classifier."""
        return self.clf

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Returns the frame of predictions for items."""
        level = (params or {}).get("level")
        return _answers(self.clf, model_input, self.level if level is None else one_level(level))


def _load_pyfunc(path: str) -> _Function:
    folder = Path(path)
    return _Function(CredenceClassifier.load(folder), float(_configured(folder.parent)["level"]))

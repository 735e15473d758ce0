"""The classifier."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _items, _run, _votes, _warn
from ._base import HAVE_SKLEARN, BaseEstimator, ClassifierMixin, not_fitted
from ._binary import flags, run, warn_of
from ._errors import FileError, InputError
from ._folder import Folder
from ._frames import Output
from ._mixture import Mixture, one_level
from ._parameters import LISTS, OPTIONS, Parameters
from ._rows import Votes, class_names, first_twice, index_of, label_name, order, plain_value
from ._server import Server

Floats = npt.NDArray[np.float64]

#: What save writes beside the files of a run.
_ABOUT = "python.json"
#: What the binary warns of where each item has one label, which is warned of already.
_ONE_LABEL = ("no item has more than one vote", "held-out items have two votes")


class CredenceClassifier(Output, ClassifierMixin, BaseEstimator, Parameters):
    """A classifier that learns from several votes per item and knows how sure it is of each probability.

    It answers with the distribution of the class probabilities: a mixture of Beta or Dirichlet
    distributions, whose intervals are calibrated by votes held out. Training and all computations are done
    by the binary; parameters are the options of ``credence train``.

    Parameters
    ----------
    components : int, optional
        Number of Dirichlet components of a network.
    ensemble : int, default 5
        Number of networks that predict together.
    network : str, path or list of layers, optional
        Name of the network (mlp, lenet5, cnn2d, resnet, cnn3d), a .yaml file of layers, or the layers.
    epochs : int, optional
        At most this many passes over the items.
    raters : {"auto", "off", "on"}, default "auto"
        Learn who leans and who guesses.
    random_state : int, default 0
        Seed of all randomness.
    **others
        All other options of ``credence train``, by their names: ``help(credence.Parameters)``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, in the order of the columns of predictions.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of str
        The names of the columns, if X was a frame.
    metrics_ : dict
        Scores on held-out votes, beside those of simple references.
    raters_ : list of dict, or None
        What is known of each rater, if votes named them.
    stopped_ : bool
        Whether Ctrl-C stopped training; the best networks so far are kept.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> votes = rng.binomial(3, 1 / (1 + np.exp(-2 * X[:, 0])))
    >>> clf = CredenceClassifier(ensemble=2, epochs=20).fit(X, np.column_stack([3 - votes, votes]))
    >>> clf.predict_proba(X[:2]).shape
    (2, 2)
    >>> clf.predict_interval(X[:2], level=0.9).shape
    (2, 2, 2)
    """

    classes_: npt.NDArray[Any]
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    metrics_: dict[str, Any]
    raters_: list[dict[str, Any]] | None
    stopped_: bool
    _fitted: _run.Run
    _form: dict[str, Any]

    # Training

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        votes: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> CredenceClassifier:
        """Train on items and the votes on them.

        Parameters
        ----------
        X : array, frame, sparse matrix, images, or list of paths or of texts
            Features, one row per item. Frames may have categories, texts and missing values; arrays of
            three axes and more are images or volumes.
        y : array, list or frame
            Votes: counts (n × classes) as an array or a frame whose columns are named as the classes, a list
            of each item's labels, a wide frame (a column per rater, blanks where one did not vote), a long
            frame (item, rater, label), or what `credence.align` returned. Items of a long frame are names
            in the index of X. A label for each item is taken with a warning: rows with equal features are
            then one item, and their labels votes on it.

            Where both X and votes, weights or groups have an index, rows are matched by it: the same names
            in another order are put in order, other names are refused.
        votes : array, list or frame
            Another name for `y`.
        groups : array of shape (n,), optional
            Items with equal values are kept on one side of every split.
        sample_weight : array of shape (n,), optional
            How much an item counts.

        Returns
        -------
        CredenceClassifier
            Itself. Ctrl-C stops training: the best networks so far are kept, and a warning says so. If `fit`
            raises, the classifier is what it was before: a model of an earlier call still predicts.
        """
        if votes is not None and y is not None:
            raise InputError("votes were given twice, as y and as votes")
        y = votes if votes is not None else y
        if y is None:
            raise InputError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        before = dict(self.__dict__)
        try:
            return self._fit(X, y, groups, sample_weight)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> CredenceClassifier:
        self._check_parameters()
        items = self._features(X, reset=True)
        cast = self._cast(y, items, self.classes)
        extra = _beside(items, groups, sample_weight)
        if cast.plain:
            items, cast, extra = _merged(items, cast, extra)
            _warn.warn("there is one label per item: intervals mean nothing without items that have two votes or more")
        cast = _without_empty_classes(cast, self.classes)
        with Folder() as folder:
            options = self._options(items, cast, extra, folder)
            trained, stopped, notes = _run.train(options, folder, self.verbose)
            for note in notes:
                if not (cast.plain and any(same in note for same in _ONE_LABEL)):
                    _warn.warn(note)
            if stopped:
                _warn.warn("training was stopped: the best networks so far are kept")
            self.raters_ = _raters(str(folder / "run")) if cast.rater is not None else None
        self._take(trained, cast.classes, stopped)
        return self

    def _check_parameters(self) -> None:
        """Refuses parameters that the binary does not get to see."""
        forms = ("auto", "long", "wide", "counts", "fractions")
        if self.votes_form is not None and self.votes_form not in forms:
            raise InputError(f"votes_form={self.votes_form!r}: expected one of {', '.join(forms)}")
        if self.verbose is not None and not isinstance(self.verbose, (int, np.integer)):
            raise InputError(f"verbose={self.verbose!r}: expected 0, 1 or None")
        if self.classes is not None:
            if isinstance(self.classes, str) or not isinstance(self.classes, (Sequence, np.ndarray)):
                raise InputError(f"classes={self.classes!r}: expected a list of all labels, in order")
            twice = first_twice([label_name(plain_value(c)) for c in self.classes])
            if twice is not None:
                raise InputError(f"classes={list(self.classes)!r}: expected each label once, found {self.classes[twice]!r} twice")

    def _take(self, trained: _run.Run, classes: Sequence[Any], stopped: bool) -> None:
        self._fitted = trained
        self.stopped_ = stopped
        self.classes_ = _class_array(classes)
        try:
            self.metrics_ = json.loads(trained.files.get("metrics.json", b"{}"))
        except ValueError as e:
            raise InputError(f"metrics.json of the model is corrupt: {e}") from e

    def _features(self, X: Any, reset: bool) -> _items.Items:
        """Takes features, and checks that they are those of training."""
        first = X[0] if isinstance(X, (list, tuple)) and X else X
        named = isinstance(first, (str, os.PathLike))  # paths or texts, which scikit-learn does not know
        if not named:
            X = _items.as_numpy(X)
        if reset:  # what an earlier fit saw
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        if HAVE_SKLEARN and not named and not (isinstance(X, np.ndarray) and X.ndim > 2):
            X = _validated(self, X, reset)
        items = _items.read(X, None if reset else self._form["columns"])
        if items.kind == "frame" and (self._all_numbers(items) if reset else self._form["kind"] == "array"):
            items = _items.as_array(items)
        if items.n == 0:
            raise InputError(f"Found array with 0 sample(s) (shape=(0, {items.width})) while a minimum of 1 is required.")
        if items.width == 0:
            raise InputError(f"Found array with 0 feature(s) (shape=({items.n}, 0)) while a minimum of 1 is required.")
        form = {"kind": items.kind, "columns": list(items.columns) or None, "shape": None}
        if items.array is not None and items.array.ndim > 2:
            form["shape"] = list(items.array.shape[1:])
        if reset:
            self._form = form
            if not HAVE_SKLEARN or not hasattr(self, "n_features_in_") or form["shape"]:
                self.n_features_in_ = items.width
            if items.kind == "frame" and not HAVE_SKLEARN:
                self.feature_names_in_ = np.array(list(items.columns), dtype=object)
            return items
        if form["kind"] != self._form["kind"] or form["shape"] != self._form["shape"]:
            raise InputError(
                f"X is {_describe(form)}, but {type(self).__name__} was trained on {_describe(self._form)}"
            )
        if items.width != self.n_features_in_ and items.kind != "frame":
            raise InputError(
                f"X has {items.width} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        if items.kind == "frame":
            _as_trained(items, self._form.get("numbers"))
        return items

    def _all_numbers(self, items: _items.Items) -> bool:
        """Reports whether a frame is as good as an array: numbers, none of them missing or spoken of."""
        spoken = (self.ignore, self.numeric, self.categorical, self.text, self.one_hot, self.embed, self.features)
        return all(s is None for s in spoken) and all(
            c.kind == "number" and not np.isnan(c.values).any() for c in items.columns.values()
        )

    def _cast(self, votes: Any, items: _items.Items, classes: Sequence[Any] | None) -> Votes:
        named: dict[str, Any] = {"item": self.item, "rater": self.rater, "label": self.label, "count": self.count}
        columns = list(items.columns)
        return _votes.read(votes, items.n, classes, form=self.votes_form, index=items.index, columns=columns, **named)

    def _options(
        self, items: _items.Items, cast: Votes, extra: dict[str, Any], folder: Folder
    ) -> dict[str, object]:
        """Returns the options of training, and writes the files that they name."""
        given = self._given()
        beside = _named_beside(items, extra)
        written = _items.write(items, folder, beside=beside)
        path, how = cast.write(folder)
        options: dict[str, object] = {"data": written.files, "votes": [path], "classes": cast.names, **how}
        _add_features(options, written, items, given)
        self._form["numbers"] = [n for n, c in items.columns.items() if c.kind == "number"]
        for name, column in beside.items():
            options["item-weights" if column.kind == "number" else "group"] = name
        if items.array is not None and items.array.ndim > 2 and self.layout is None:
            given["layout"] = _layout(items.array.shape[1:])
        if cast.plain:
            given["force"] = True
        options.update(given)
        options["seed"] = _seed(self.random_state)
        return options

    def _given(self) -> dict[str, object]:
        """Returns the options that were given, in their own names."""
        given: dict[str, object] = {}
        for name, option in OPTIONS.items():
            value = getattr(self, name)
            if value is None or value is False or option in ("classes", "votes-form", "item", "rater", "label", "count"):
                continue
            if option == "setting" and isinstance(value, Mapping):
                value = [f"{k}={v}" for k, v in value.items()]
            if option == "network":
                value = _network(value)
            if option in LISTS:
                value = [_yaml_value(v) for v in ([value] if isinstance(value, (str, int, float)) else value)]
            given[option] = _yaml_value(value)
        if self.start is not None:
            given["from"] = os.fspath(self.start)
        if given.get("kernel"):
            raise InputError("kernel is chosen by the environment variable CREDENCE_KERNEL")
        return given

    # Prediction

    def _records(
        self, X: Any, fields: Sequence[str], votes: Any = None, level: float | None = None, **options: object
    ) -> Any:
        self._check_fitted()
        level = None if level is None else one_level(level)
        items = self._features(X, reset=False)
        server = self._fitted.server
        if votes is None and not options and server is not None and server.can(items, fields):
            return server.predict(items, fields, 0.95 if level is None else level)
        cast = None
        if votes is not None:
            cast = self._cast(votes, items, list(self.classes_.tolist()))
        if level is not None:
            options["level"] = level
        return _run.predict(self._fitted, items, fields, votes=cast, options=options)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_fitted"):
            raise not_fitted(type(self).__name__)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def predict_proba(self, X: Any, votes: Any = None) -> Any:
        """Return the mean of each class probability.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        votes : array, list or frame, optional
            Votes that the items have already, to take into account.

        Returns
        -------
        array of shape (n, classes)
        """
        return self._framed(X, self._means(X, votes), self.classes_.tolist())

    def _means(self, X: Any, votes: Any) -> Floats:
        return np.ascontiguousarray(self._records(X, ["mean"], votes)["mean"])

    def predict(self, X: Any, votes: Any = None) -> Any:
        """Return the class of the largest mean probability.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        votes : array, list or frame, optional
            Votes that the items have already, to take into account.

        Returns
        -------
        array of shape (n,)
        """
        best = self._means(X, votes).argmax(axis=1)
        return self._framed(X, np.asarray(self.classes_[best]), "predicted")

    def predict_interval(self, X: Any, level: float = 0.95, votes: Any = None) -> Any:
        """Return the two-sided credible interval of each class probability.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        level : float, default 0.95
            The probability that it holds.
        votes : array, list or frame, optional
            Votes that the items have already, to take into account.

        Returns
        -------
        array of shape (n, classes, 2)
            Lower and upper end.
        """
        found = self._records(X, ["interval"], votes, level=level)["interval"]
        ends = np.ascontiguousarray(found if found.ndim == 3 else found[:, :, 0, :])
        return self._framed(X, ends, [f"{end}_{name}" for name in self.classes_ for end in ("lower", "upper")])

    def predict_mixture(self, X: Any, votes: Any = None) -> Mixture:
        """Return the distributions of the class probabilities.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        votes : array, list or frame, optional
            Votes that the items have already, to take into account.

        Returns
        -------
        Mixture
            With weights, alpha, and methods such as `quantile` and `update`.
        """
        # With a rater model, p itself is needed to update it; an average rater's probabilities are those of `mean`.
        of = "item_" if self._fitted.has_raters() else ""
        found = self._records(X, [of + "weights", of + "alpha"], votes)
        resolution = self._fitted.inspect().get("calibration") or {}
        return Mixture._of(
            np.ascontiguousarray(found[of + "weights"]),
            np.ascontiguousarray(found[of + "alpha"]),
            self._fitted,
            float(resolution.get("resolution") or 0.0),
            self.classes_.tolist(),
            index_of(X),
        )

    def next_label_value(self, X: Any, votes: Any = None) -> Any:
        """Return the variance that one further vote on an item is expected to take off.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        votes : array, list or frame, optional
            Votes that the items have already, to take into account.

        Returns
        -------
        array of shape (n,)
            Summed over classes; label the items of the largest first.
        """
        return self._framed(X, np.ascontiguousarray(self._records(X, ["next_gain"], votes)["next_gain"]), "next_gain")

    def next_votes(self, X: Any, budget: int, votes: Any = None, *, max_votes: int | None = None) -> Any:
        """Allocate a budget of further votes to items, as ``credence next`` does.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        budget : int
            How many votes there are to allocate.
        votes : array, list or frame, optional
            Votes that the items have already, to take into account.
        max_votes : int, optional
            At most this many further votes on an item.

        Returns
        -------
        array of int, of shape (n,)
            Further votes on each item, in the order of X; they sum to at most the budget.
        """
        self._check_fitted()
        if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < 1:
            raise InputError(f"budget={budget!r:.40}: expected a whole number of at least 1")
        items = self._features(X, reset=False)
        cast = None if votes is None else self._cast(votes, items, list(self.classes_.tolist()))

        def plan(trained: str, files: list[str], path: str | None, how: dict[str, object]) -> npt.NDArray[Any]:
            given = {**how, "votes": path, "budget": budget, "max-votes": max_votes}
            fixed = {"json": True, "all": True, "order": "input"}
            out, messages = run(["next", trained, *files, *flags({**given, **fixed})], given, _run.ARGUMENTS)
            warn_of(messages)
            return np.array([item["votes"] for item in json.loads(out)["plan"]], dtype=np.int64)

        found = _run.with_files(self._fitted, items, cast, plan)
        if len(found) != items.n:
            raise InputError(f"X has {items.n:,} items, but the plan {len(found):,}")
        return self._framed(X, found, "votes")

    def score(self, X: Any, y: Any = None, *, votes: Any = None) -> float:
        """Return the log-likelihood per vote, in nats; larger is better.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        y : array, list or frame
            Votes on the items, in any form that `fit` takes.
        votes : array, list or frame
            Another name for `y`.

        Returns
        -------
        float
        """
        result = self.evaluate(X, votes if votes is not None else y, bootstrap=1)
        value = result.get("nll_per_vote")
        return -float(value if value is not None else result["marginal_nll_per_vote"])

    def evaluate(self, X: Any, votes: Any, **options: Any) -> dict[str, Any]:
        """Judge the model by votes that it has not seen, as ``credence evaluate`` does.

        Parameters
        ----------
        X : array, frame, …
            Features, as in training.
        votes : array, list or frame
            Votes on the items, in any form that `fit` takes.
        **options
            Options of `credence.verbs.evaluate`.

        Returns
        -------
        dict
            Scores with standard errors, coverage, calibration.
        """
        self._check_fitted()
        items = self._features(X, reset=False)
        cast = self._cast(votes, items, list(self.classes_.tolist()))

        def judge(trained: str, files: list[str], path: str, how: dict[str, object]) -> dict[str, Any]:
            arguments = {**how, "votes": path, "json": True, **options}
            out, messages = run(["evaluate", trained, *files, *flags(arguments)], arguments, _run.ARGUMENTS)
            if not cast.plain:
                warn_of(messages)
            found: dict[str, Any] = json.loads(out)
            return found

        result: dict[str, Any] = _run.with_files(self._fitted, items, cast, judge)
        return result

    def report(self, path: str | os.PathLike[str], X: Any = None, votes: Any = None, *, overwrite: bool = False) -> None:
        """Write the report of the model as an HTML page.

        Parameters
        ----------
        path : str or path
            Of the page.
        X : array, frame, …, optional
            Items to report on; by default the report is that of training.
        votes : array, list or frame, optional
            Votes on them.
        overwrite : bool, default False
            Replace a file that exists, which is refused otherwise.
        """
        self._check_fitted()
        if not overwrite and os.path.exists(path):
            raise InputError(f"{os.fspath(path)} exists already", "choose another name, or replace it with overwrite=True")
        if X is None:
            page = self._fitted.files.get("report.html")
            if page is None:
                raise InputError("the model has no report of its training", "report(path, X, votes) writes one on other items")
            try:
                Path(path).write_bytes(page)
            except OSError as e:
                raise FileError(f"writing {os.fspath(path)}: {e.strerror or e}") from e
            return
        items = self._features(X, reset=False)
        cast = self._cast(votes, items, list(self.classes_.tolist()))

        def write(trained: str, files: list[str], votes_file: str, how: dict[str, object]) -> None:
            options = {**how, "votes": votes_file, "output": os.path.abspath(path), "overwrite": overwrite}
            _, messages = run(["report", trained, *files, *flags(options)], options, {**_run.ARGUMENTS, "output": "path"})
            warn_of(messages)

        _run.with_files(self._fitted, items, cast, write)

    def server(self, threads: int | None = None) -> Server:
        """Return a server for many small predictions: ``with clf.server(): …``, or ``async with clf.server() as served: …``.

        ``async with`` gives a `credence.AsyncClassifier`, whose methods are awaited.

        Within the block predictions are asked of a child that keeps the model in memory; it ends with the
        block.

        Parameters
        ----------
        threads : int, optional
            How many cores to use; all by default.

        Returns
        -------
        context manager
            Of this classifier.
        """
        self._check_fitted()
        return self._fitted.server or Server(self, self._fitted, threads)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a folder, which `load` and the command line read.

        Parameters
        ----------
        path : str or path
            Of the folder; what it holds of another model is replaced.
        """
        self._check_fitted()
        to = Path(path)
        about = {
            "classes": [_yaml_value(c) for c in self.classes_.tolist()],
            "n_features_in": self.n_features_in_,
            "feature_names_in": list(map(str, getattr(self, "feature_names_in_", []))) or None,
            "form": self._form,
            "raters": self.raters_,
            "stopped": self.stopped_,
            "params": {k: v for k, v in self.get_params(deep=False).items() if _is_plain(v)},
        }
        try:
            self._fitted.write(to)
            (to / _ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
        except OSError as e:
            raise FileError(f"writing {e.filename or path}: {e.strerror or e}") from e

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CredenceClassifier:
        """Read a model that `save` or ``credence train`` wrote.

        Parameters
        ----------
        path : str or path
            Of the folder of the run, or of a model file.

        Returns
        -------
        CredenceClassifier
        """
        at = Path(path)
        if not at.exists():
            raise FileError(f"reading the model {path}: there is no such file or folder")
        trained = _run.Run.read(at)
        out, _ = run(["inspect", os.fspath(at), "--json"])  # refuses a model that is corrupt
        trained.card = json.loads(out)
        about_file = at / _ABOUT
        if at.is_dir() and about_file.is_file():
            return cls._loaded(trained, about_file)
        clf = cls()
        clf._take(trained, [], False)
        clf._describe_from_card()
        return clf

    @classmethod
    def _loaded(cls, trained: _run.Run, about_file: Path) -> CredenceClassifier:
        """Returns the classifier that save wrote, as it describes itself."""
        try:
            about = json.loads(about_file.read_text(encoding="utf-8"))
            clf = cls(**{k: v for k, v in about["params"].items() if hasattr(cls(), k)})
            clf._form, clf.raters_, clf.n_features_in_ = about["form"], about["raters"], about["n_features_in"]
            if about["feature_names_in"]:
                clf.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
            classes, stopped = list(about["classes"]), bool(about["stopped"])
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            raise InputError(f"reading {about_file}: the file is corrupt: {e!r}", "save the model again") from e
        assert trained.card is not None
        if class_names(classes) != trained.card["classes"]:
            raise InputError(
                f"reading {about_file}: it describes a model of the classes {classes!r}, but model.credence has {trained.card['classes']!r}",
                f"a later training wrote into this folder: remove {_ABOUT} to load its model",
            )
        clf._take(trained, classes, stopped)
        return clf

    def _describe_from_card(self) -> None:
        """Learns from the model itself what classes and features there are."""
        card = self._fitted.inspect()
        self.classes_ = _class_array(card["classes"])
        self.raters_ = None
        features = card["features"]
        tensors = [f for f in features if f["kind"] == "tensor"]
        if len(features) == 1 and tensors:
            shape = tensors[0]["shape"]
            self._form = {"kind": "array", "columns": None, "shape": shape if len(shape) > 1 else None}
            self.n_features_in_ = int(np.prod(shape))
            return
        self._form = {"kind": "frame", "columns": [f["name"] for f in features], "shape": None}
        self._form["numbers"] = [f["name"] for f in features if f["kind"] == "numeric"]
        self.n_features_in_ = len(features)
        self.feature_names_in_ = np.array(self._form["columns"], dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        filters = _warn.current()
        if filters:
            state["_filters"] = filters
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        _warn.inherit(state.pop("_filters", []))
        if HAVE_SKLEARN:
            super().__setstate__(state)
        else:
            self.__dict__.update(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _validated(clf: CredenceClassifier, X: Any, reset: bool) -> Any:
    """Lets scikit-learn check X, so that messages are those that its users know."""
    from sklearn.utils.validation import validate_data

    frame = _items.is_frame(X)
    plain = not frame and not (isinstance(X, np.ndarray) and X.dtype.kind in "OUS")
    if frame or not plain or _items.is_series(X):
        if _items.is_series(X) or isinstance(X, np.ndarray) and X.ndim != 2:
            return X
        return validate_data(clf, X, reset=reset, skip_check_array=True)
    return validate_data(
        clf,
        X,
        reset=reset,
        accept_sparse=["csr", "csc", "coo"],
        dtype="numeric",
        ensure_all_finite="allow-nan",
        allow_nd=True,
    )


def _describe(form: dict[str, Any]) -> str:
    names = {"array": "an array", "frame": "a frame", "paths": "a list of paths", "texts": "a list of texts"}
    return names[form["kind"]] + (f" of items of shape {tuple(form['shape'])}" if form["shape"] else "")


def _as_trained(items: _items.Items, numbers: list[str] | None) -> None:
    """Reads columns as numbers or texts, whatever a few rows look like."""
    for name, c in items.columns.items():
        if numbers is None:
            continue
        if name in numbers and c.kind != "number":
            try:
                c.values = np.array([np.nan if v is None else float(v) for v in c.values], dtype=np.float64)
            except ValueError as e:
                raise InputError(f"column {name!r} of X: {e}: expected numbers, as in training") from e
            c.kind = "number"
        elif name not in numbers and c.kind == "number":
            c.values = [None if v != v else label_name(v) for v in c.values.tolist()]
            c.kind = "text"


def _beside(items: _items.Items, groups: Any, weights: Any) -> dict[str, Any]:
    """Checks groups and weights."""
    extra: dict[str, Any] = {}
    if groups is not None:
        list_ = _by_index(np.asarray(groups), groups, items, "groups").tolist()
        if len(list_) != items.n:
            raise InputError(f"X has {items.n:,} items, but groups {len(list_):,}")
        extra["group"] = [str(g) for g in list_]
    if weights is not None:
        w = _by_index(np.asarray(weights, dtype=np.float64), weights, items, "sample_weight")
        if w.ndim != 1:
            raise InputError(f"Sample weights must be 1D array or scalar: found the shape {w.shape}")
        if len(w) != items.n:
            raise InputError(f"sample_weight.shape == {w.shape}, expected ({items.n},)!")
        if not np.isfinite(w).all() or (w < 0).any():
            raise InputError("sample_weight has a weight that is negative, NaN or infinite")
        if not w.any():
            raise InputError("sample weights are all zero: expected at least one above 0")
        if not (w == w[0]).all():
            extra["weight"] = w
    return extra


def _by_index(values: npt.NDArray[Any], given: Any, items: _items.Items, what: str) -> npt.NDArray[Any]:
    """Puts values in the order of X, if they came with an index."""
    rows = order(index_of(given), items.index, what)
    return values if rows is None else values[rows]


def _merged(
    items: _items.Items, cast: Votes, extra: dict[str, Any]
) -> tuple[_items.Items, Votes, dict[str, Any]]:
    """Takes rows with equal features for one item, and their labels for votes on it.

    A weight then says how many labels a row stands for. Rows get an order of their own, so that the
    order in which they came does not matter.
    """
    if items.sparse is not None and items.n * items.width <= 1 << 27:
        items.array, items.sparse = items.sparse.toarray(), None
    if items.array is None or items.array.ndim != 2 or "group" in extra:
        return items, cast, extra
    assert cast.counts is not None
    counts = cast.counts
    if "weight" in extra:
        counts = counts * extra["weight"][:, np.newaxis]
    keep = counts.sum(axis=1) > 0
    rows, at = np.unique(items.array[keep], axis=0, return_inverse=True)
    merged = np.zeros((len(rows), counts.shape[1]))
    np.add.at(merged, at.reshape(-1), counts[keep])
    items = _items.Items("array", len(rows), items.width, array=rows)
    return items, Votes(len(rows), cast.classes, counts=merged, plain=True), {}


def _without_empty_classes(cast: Votes, given: Sequence[Any] | None) -> Votes:
    """Refuses votes that are all for one class."""
    if cast.counts is not None:
        voted = [c for c, n in zip(cast.classes, cast.counts.sum(axis=0)) if n > 0]
    else:
        assert cast.label is not None
        voted = [cast.classes[i] for i in np.unique(cast.label)]
    if len(voted) < 2:
        found = f"only one class, {voted[0]!r}" if voted else "none"
        raise InputError(f"votes are for {found}: Credence needs votes for at least two classes")
    return cast


def _add_features(
    options: dict[str, object], written: _items.Written, items: _items.Items, given: dict[str, object]
) -> None:
    """Adds how features are read, after what the caller says of columns."""
    options.update({k: v for k, v in written.options.items() if k not in ("categorical", "numeric", "features")})
    for name in ("ignore", "numeric", "categorical", "text", "one-hot", "embed", "features"):
        for column in given.get(name) or ():  # type: ignore[attr-defined]
            if items.columns and str(column) not in items.columns:
                raise InputError(f"{name.replace('-', '_')}={column!r}: X has no such column", f"columns: {list(items.columns)[:20]}")
    said = {c for name in ("ignore", "numeric", "categorical", "text") for c in given.get(name) or ()}  # type: ignore[attr-defined]
    for kind in ("categorical", "numeric"):
        found = [c for c in written.options.get(kind) or () if c not in said]  # type: ignore[attr-defined]
        both = found + [str(c) for c in given.pop(kind, None) or ()]  # type: ignore[attr-defined]
        if both:
            options[kind] = both
    if "features" in written.options and "features" not in given:
        ignored = set(given.get("ignore") or ())  # type: ignore[call-overload]
        options["features"] = [c for c in written.options["features"] if c not in ignored]  # type: ignore[attr-defined]


def _named_beside(items: _items.Items, extra: dict[str, Any]) -> dict[str, _items.Column]:
    """Names the columns of groups and weights as no feature is named."""
    return {
        _items.free_name(k, {*items.columns, "path", "text"}): _items.Column("number" if k == "weight" else "text", v)
        for k, v in extra.items()
    }


def _raters(folder: str) -> list[dict[str, Any]] | None:
    out, _ = run(["raters", folder, "--format", "json"])
    found: list[dict[str, Any]] | None = json.loads(out).get("raters")
    return found


def _layout(shape: tuple[int, ...]) -> str:
    """Guesses the axes of an item: channels are few, and come first or last."""
    if len(shape) == 2:
        return "HW"
    few = (1, 2, 3, 4)
    if len(shape) == 3:
        return "CHW" if shape[0] in few and shape[2] not in few else "HWC" if shape[2] in few else "DHW"
    if len(shape) == 4:
        return "CDHW" if shape[0] in few else "DHWC"
    raise InputError(f"items of shape {shape}: expected images or volumes, of two to four axes")


def _seed(state: Any) -> int:
    if state is None:
        return int(np.random.default_rng().integers(1 << 31))
    if isinstance(state, (int, np.integer)):
        if state < 0:
            raise InputError(f"random_state={state}: expected a whole number from 0")
        return int(state)
    if isinstance(state, np.random.Generator):
        return int(state.integers(1 << 31))
    if hasattr(state, "randint"):
        return int(state.randint(1 << 31))
    raise InputError(f"random_state={state!r}: expected a whole number, a RandomState, a Generator or None")


def _network(value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    try:
        return json.dumps([dict(layer) for layer in value])
    except (TypeError, ValueError) as e:
        raise InputError(f"network={value!r}: expected a name, a file or a list of layers, each a dict") from e


def _class_array(classes: Sequence[Any]) -> npt.NDArray[Any]:
    a = np.asarray(list(classes))
    if a.dtype.kind in "US" and not all(isinstance(c, (str, bytes)) for c in classes) or a.ndim != 1:
        a = np.empty(len(classes), dtype=object)
        a[:] = list(classes)
    return a


def _yaml_value(v: Any) -> Any:
    if isinstance(v, np.generic):
        return v.item()
    if isinstance(v, os.PathLike):
        return os.fspath(v)
    if isinstance(v, (str, int, float, bool, list)):
        return v
    return str(v)


def _is_plain(v: Any) -> bool:
    try:
        json.dumps(v)
    except (TypeError, ValueError):
        return False
    return True

"""What the classifier is built on: scikit-learn's bases where it is there, else the little that is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class ClassifierMixin:
        """Stands for scikit-learn's."""

    class BaseEstimator:
        """Stands for scikit-learn's."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Returns the parameters."""

        def set_params(self, **params: Any) -> Any:
            """Sets parameters."""

        def __getstate__(self) -> dict[str, Any]: ...

        def __setstate__(self, state: dict[str, Any]) -> None: ...

        def __sklearn_tags__(self) -> Any: ...

    HAVE_SKLEARN = True
else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin

        HAVE_SKLEARN = True
    except ImportError:
        HAVE_SKLEARN = False

        class ClassifierMixin:
            """Nothing, without scikit-learn."""

        class BaseEstimator:
            """Parameters as scikit-learn has them."""

            @classmethod
            def _names(cls):
                import inspect

                return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

            def get_params(self, deep=True):
                """Return the parameters."""
                return {n: getattr(self, n) for n in self._names()}

            def set_params(self, **params):
                """Set parameters, and return self."""
                for name, value in params.items():
                    if name not in self._names():
                        raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}")
                    setattr(self, name, value)
                return self

            def __getstate__(self):
                return self.__dict__.copy()


def not_fitted(name: str) -> Exception:
    """Returns the exception for an estimator that was not fitted."""
    text = f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
    if HAVE_SKLEARN:
        from sklearn.exceptions import NotFittedError

        error: Exception = NotFittedError(text)
        return error
    return ValueError(text)

"""Shorten signatures: keep ``ArrayLike`` and ``NDArray[float64]``, which Sphinx would expand."""

import re

from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

_MODES = ("smart", "fully-qualified", "fully-qualified-except-typing")
_LIKE = re.compile("|".join(re.escape(stringify_annotation(ArrayLike, mode)) for mode in _MODES))
_ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[~?(?:numpy\.)?(\w+)\]\]")


def short(text: str) -> str:
    """Return a signature or a return annotation with the names of array types."""
    return _ARRAY.sub(r"NDArray[\1]", _LIKE.sub("ArrayLike", text))


def _process(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    return signature and short(signature), returns and short(returns)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the function, which runs on every signature from autodoc."""
    app.connect("autodoc-process-signature", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Lazy import of public names: each is imported on first use, so that importing the package imports no other module.

The workflow relies on it: a result is recomputed only if a module that it uses changes.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a module-level ``__getattr__``, ``__dir__`` and ``__all__`` for `package` (PEP 562).

    Parameters
    ----------
    package : the package's ``__name__``.
    names : public name -> the module in the package that defines it.
    """
    public = sorted(names)

    def get(name: str) -> Any:
        if name in names:
            return getattr(import_module(f"{package}.{names[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(public)}")

    return get, lambda: public, public

"""Submodules that load when they are first named, so that importing one module never imports its siblings.

The workflow relies on it: a result re-runs when a module it really uses changes, not when a neighbour does.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def attach(
    package: str, path: Iterable[str], names: dict[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Module-level ``__getattr__``, ``__dir__`` and ``__all__`` for `package` (PEP 562).

    Parameters
    ----------
    package : the package's ``__name__``.
    path : the package's ``__path__``; every module found there is one.
    names : public name -> the submodule that defines it.
    """
    names = names or {}
    submodules = {module.name for module in iter_modules(path)}
    shown = {name for name in submodules if not name.startswith("_") and name != "reference"}
    public = sorted({*shown, *names})

    def get(name: str) -> Any:
        if name in names:
            return getattr(import_module(f"{package}.{names[name]}"), name)
        if name in submodules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(public)}")

    return get, lambda: public, public

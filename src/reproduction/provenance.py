"""Where a table came from: code, versions, seed and settings, kept in a file beside it."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dpmultinomial import __version__

_PACKAGES = ("numpy", "scipy", "pandas", "cython", "matplotlib", "snakemake")


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(settings: Any) -> str:
    """SHA-256 of settings (plain YAML types), independent of the order of keys."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


@cache
def commit() -> str:
    """Commit of the source tree, '-dirty' appended where tracked files differ; 'unknown' outside a checkout."""
    here = Path(__file__).resolve().parent
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True)
        state = subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=here, capture_output=True, check=False)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("-dirty" if state.returncode else "")


def record(
    *, function: str, settings: dict[str, Any], root_seed: int, inputs: Iterable[Path] = (), code: Iterable[Path] = ()
) -> dict[str, Any]:
    """What made a table.

    Parameters
    ----------
    function : dotted name of the function that made it.
    settings : its settings, as in the configuration.
    root_seed : the root seed of all streams.
    inputs : tables it read.
    code : modules and compiled kernels it ran.
    """
    return {
        "function": function,
        "settings": settings,
        "settings_sha256": digest(settings),
        "root_seed": root_seed,
        "inputs_sha256": {Path(p).name: sha256(Path(p)) for p in inputs},
        "code_sha256": digest([[Path(p).name, sha256(Path(p))] for p in code]),
        "commit": commit(),
        "dpmultinomial": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.processor() or platform.machine(),
        "packages": _versions(),
    }


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in _PACKAGES}

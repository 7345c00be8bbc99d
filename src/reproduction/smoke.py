"""Write a configuration of the whole workflow at toy size: ``python -m reproduction.smoke > config.yaml``."""

import sys
from typing import Any

import yaml

from . import kind, paper
from .config import config

SEED = 7


def configuration() -> dict[str, Any]:
    """Return every paper at the sizes of its ``smoke.yaml`` and every kind of scenario at the toy sizes in its
    settings.
    """
    papers = paper.discover()
    settings: dict[str, Any] = {"root_seed": SEED, "shards": 1, "run": list(papers)}
    for slug, found in papers.items():
        sizes = found.folder / "smoke.yaml"
        settings[slug] = config.read(sizes) if sizes.is_file() else {}
    settings["scenarios"] = {
        f"{name}_{case}": {"kind": name, **written}
        for name, found in kind.discover().items()
        for case, written in found.smoke.items()
    }
    return settings


if __name__ == "__main__":
    yaml.safe_dump(configuration(), sys.stdout, sort_keys=False, default_flow_style=None, width=118)

"""The whole workflow at toy size: ``python -m reproduction.smoke > config.yaml`` writes its configuration."""

import sys
from typing import Any

import yaml

from . import paper
from .config import config

SEED = 7


def configuration() -> dict[str, Any]:
    """Every paper at the toy sizes of its ``smoke.yaml``."""
    papers = paper.discover()
    settings: dict[str, Any] = {"root_seed": SEED, "shards": 1, "run": list(papers)}
    for slug, found in papers.items():
        sizes = found.folder / "smoke.yaml"
        settings[slug] = config.read(sizes) if sizes.is_file() else {}
    return settings


if __name__ == "__main__":
    yaml.safe_dump(configuration(), sys.stdout, sort_keys=False, default_flow_style=None, width=118)

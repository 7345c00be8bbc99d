"""Write a configuration with which the whole workflow runs on small examples. The command is
``python -m reproduction.smoke > config.yaml``.
"""

import sys
from typing import Any

import yaml

from . import kind, paper

SEED = 7


def configuration() -> dict[str, Any]:
    """Return a configuration with a small example of every paper and of every kind of scenario. The size of an example
    is defined by the entry ``smoke`` of each ``settings.yaml``.
    """
    papers = paper.discover()
    settings: dict[str, Any] = {"root_seed": SEED, "shards": 1, "run": list(papers)}
    settings |= {slug: described.settings.get("smoke", {}) for slug, described in papers.items()}
    settings["scenarios"] = {
        f"{name}_{case}": {"kind": name, **written}
        for name, entry in kind.discover().items()
        for case, written in entry.smoke.items()
    }
    return settings


if __name__ == "__main__":
    yaml.safe_dump(configuration(), sys.stdout, sort_keys=False, default_flow_style=None, width=118)

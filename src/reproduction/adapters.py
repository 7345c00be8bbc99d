"""What the workflow's scripts share: finding a paper's function, putting shards together."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pandas as pd


def find(name: str) -> Callable[..., Any]:
    """The function with this dotted name below `papers`, e.g. ``<slug>.tables.table_1``."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"{__package__}.papers.{module}"), function)


def stack(shards: list[pd.DataFrame]) -> pd.DataFrame:
    """All blocks in their order, whatever the number of shards; shards without blocks are passed over."""
    table = pd.concat([shard for shard in shards if len(shard)], ignore_index=True)
    return table.sort_values("block", kind="stable", ignore_index=True)


def together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Tables of the same columns one below the other, in the order they are named."""
    return pd.concat(parts, ignore_index=True)


def without_loop(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without the keys that steer the loop over blocks."""
    return {key: value for key, value in settings.items() if key not in ("replications", "block")}

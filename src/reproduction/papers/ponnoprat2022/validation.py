"""What a configuration of ponnoprat2022 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

from collections.abc import Iterator
from typing import Any


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for part in ("figure_1", "figure_2", "figure_3_top", "figure_3_bottom", "figure_8", "exact_calibration"):
        if section[part]["least"] >= section[part]["most"]:
            yield f"{part}.least", f"{section[part]['least']} must be below most, {section[part]['most']}"

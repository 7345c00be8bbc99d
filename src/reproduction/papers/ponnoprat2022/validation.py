"""Check a configuration of ponnoprat2022 against the rules that its schema cannot express. The module is plain Python,
because it runs before any kernel is compiled.
"""

from collections.abc import Iterator
from typing import Any


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a pair (path, message) for every mistake in the paper's section of the configuration."""
    for part in ("figure_1", "figure_2", "figure_3_top", "figure_3_bottom", "figure_8", "exact_calibration"):
        if section[part]["least"] >= section[part]["most"]:
            yield f"{part}.least", f"{section[part]['least']} must be below most ({section[part]['most']})"

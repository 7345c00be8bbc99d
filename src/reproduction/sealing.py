"""Settings as parameters of rules: plain text that cannot break out of a page which shows it."""

import json
from typing import Any


def sealed(settings: Any) -> str:
    """Settings as text for a parameter: no word of a user in it can end a script block of Snakemake's report."""
    text = json.dumps(settings)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def unsealed(text: str) -> Any:
    """Settings that `sealed` made a text of."""
    return json.loads(text)

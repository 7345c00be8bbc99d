"""Settings as parameters of rules: plain text that Snakemake takes as it is, and that cannot break out of a page."""

import json
import re
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def encoded(settings: Any) -> str:
    """Settings as text for a parameter.

    No word of a user in it can end a script block of Snakemake's report, or be taken for a wildcard.
    """
    text = _STRING.sub(lambda string: _escaped(string[0], "{}"), json.dumps(settings))
    return _escaped(text, "<>&")


def _escaped(text: str, signs: str) -> str:
    for sign in signs:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def decoded(text: str) -> Any:
    """Settings that `encoded` made a text of."""
    return json.loads(text)

"""Encoding of settings as text, for use as parameters of Snakemake rules. The text contains no wildcards and can be
written into an HTML page.
"""

import json
import re
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def encoded(settings: Any) -> str:
    """Encode settings as text that can be the value of a parameter of a Snakemake rule.

    The text of a user can neither end a script block of Snakemake's report nor be read as a wildcard.
    """
    text = _STRING.sub(lambda string: _escaped(string[0], "{}"), json.dumps(settings))
    return _escaped(text, "<>&")


def _escaped(text: str, signs: str) -> str:
    for sign in signs:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def decoded(text: str) -> Any:
    """Return the settings that `encoded` converted to text."""
    return json.loads(text)

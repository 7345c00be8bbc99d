"""Tests of settings as parameters of rules: they are restored exactly, and no string can end a script block."""

import re

import pytest

from reproduction.config import json_text

WORDS = "</script><script>alert(1)</script> & <!-- ü \\u003c"


@pytest.mark.parametrize("settings", [{"a": [1, 0.1, True, None, "x"]}, {WORDS: {"b": [WORDS, -1e-300]}}, {}])
def test_settings_come_back_and_hold_no_sign_of_markup(settings):
    text = json_text.encoded(settings)
    assert json_text.decoded(text) == settings
    assert not set("<>&") & set(text)


def test_no_word_is_taken_for_a_wildcard():
    settings = {"{shard}": ["{dataset}.csv", {"a": "{b}"}]}
    text = json_text.encoded(settings)
    assert json_text.decoded(text) == settings
    assert not re.search(r"\{\s*\w", text)

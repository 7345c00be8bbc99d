"""Tables of rejected input: values that a function must reject, with the expected error messages.

A test file lists rows, one or two lines each, and runs them all with one function::

    ROWS = cases(
        (partial(draw, size=3, rng=RNG), "epsilon", [0.0, -1.0, NAN]),
        (partial(draw, epsilon=1.0, rng=RNG), "size", [-1], "size must be >= 0, got -1"),
    )


    @pytest.mark.parametrize(REJECTED, ROWS)
    def test_rejects(call, arguments, words, error):
        rejects(call, arguments, words, error)
"""

from functools import partial

import pytest

REJECTED = ("call", "arguments", "words", "error")
ERRORS = (ValueError, TypeError)


def cases(*rows):
    """Return one case per callable, argument and bad value of each row.

    A row is (callables, arguments, bad values), followed by the words and the type of the error if they are not the
    default. `callables` is one callable or a list of callables, `arguments` contains names of keyword arguments,
    separated by spaces, each of which is tested with each bad value, and `bad values` is a list, or a dictionary by
    name. The words are a regular expression that the message must match; by default they are the name of the argument.
    """
    found = []
    for calls, names, values, *rest in rows:
        error = rest[1] if len(rest) > 1 else ERRORS
        labelled = values if isinstance(values, dict) else dict(enumerate(values))
        for call in calls if isinstance(calls, list) else [calls]:
            for name in names.split():
                words = rest[0] if rest else rf"\b{name}\b"
                for label, value in labelled.items():
                    case = f"{title(call)} {name} {label}"
                    found.append(pytest.param(call, {name: value}, words, error, id=case))
    return found


def calls(*rows, error=ERRORS):
    """Return one case per row (callable without arguments, words), all with one type of error."""
    return [pytest.param(call, {}, words, error, id=words) for call, words in rows]


def title(call):
    return title(call.func) if isinstance(call, partial) else call.__name__


def rejects(call, arguments, words, error=ERRORS):
    """Assert that a call with these arguments raises this error, with a message that matches the words."""
    with pytest.raises(error, match=words):
        call(**arguments)

"""Check the questions of a scenario against the names of its quantities before any job starts. The rules are those of
the library, in a module that does not require compiled kernels.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

GROUPS = ("counts", "shares", "rates", "parameters")


def mistakes(
    questions: Mapping[str, Any], names: Sequence[str], parents: Mapping[str, str | None] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every invalid question.

    Parameters
    ----------
    questions : mapping from the name of a question to the question, in the form that `dpmultinomial` accepts.
    names : names of the quantities; empty if they are not known yet.
    parents : for each quantity that is a part of another one, the name of the other one; None if there are no parts.
    """
    if not questions:
        return
    from dpmultinomial._results.expressions import Names, Selection, kind_of  # NumPy is imported only for questions

    above = parents or {}
    words = Names(tuple(names)) if names else None
    places = [words.places.get(above.get(name) or "", -1) for name in names] if words and above else None
    selected = Selection(words, sums={name for name in above.values() if name}, parents=places)
    for label, question in questions.items():
        place = f".questions.{label}"
        try:
            kind, what = kind_of(question)
            if question.get("about", "counts") not in GROUPS:
                yield f"{place}.about", f"must be one of {', '.join(GROUPS)}, got {question['about']!r}"
            selected.check(kind, what)
        except (TypeError, KeyError, ValueError) as error:
            yield place, str(error.args[0] if error.args else error)

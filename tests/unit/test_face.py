"""Tests of the public interface: exactly the promised names, numpydoc, and results that state their accuracy."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import dpmultinomial
from dpmultinomial import _accuracy

MODULES = [
    importlib.import_module(name)
    for name in sorted(m.name for m in pkgutil.walk_packages(dpmultinomial.__path__, "dpmultinomial."))
    if name.split(".")[1] not in ("_cyutility", "_arrays", "_checks")  # one line says all of a check of an argument
]
# laws and parts that a posterior with a summary holds
INNER = {
    "Certificate",
    "Chains",
    "Stratum",
    "TransformedCounts",
    "Marginal",
    "Discrete",
    "Continuous",
    "Draws",
    "Chance",
    "CellPlaces",
    "Places",  # one table of all places is what a summary would be
}
RESULT = re.compile(r"(Posterior|Mixture|Answer|Result)$")


def own(module):
    """Return functions and classes without an underscore that a module defines."""
    for name, thing in vars(module).items():
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__ and callable(thing):
            yield name, thing


THINGS = [
    pytest.param(thing, id=f"{module.__name__.removeprefix('dpmultinomial.')}.{name}")
    for module in MODULES
    for name, thing in own(module)
]
CLASSES = [param for param in THINGS if inspect.isclass(param.values[0])]


def test_the_library_shows_what_it_promises_and_nothing_else():
    shown = {}
    exec("from dpmultinomial import *", shown)
    assert sorted(set(shown) - {"__builtins__"}) == dpmultinomial.__all__ == dir(dpmultinomial)
    assert len(dpmultinomial.__all__) <= 30
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'\. The available attributes are AdditiveCounts"):
        _ = dpmultinomial.nothing


def test_the_stub_names_what_is_promised():
    stub = (Path(dpmultinomial.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    assert sorted(re.findall(r"import \w+ as (\w+)", stub)) == dpmultinomial.__all__
    for module, name in re.findall(r"from \.([\w.]+) import (\w+) as", stub):
        assert getattr(importlib.import_module(f"dpmultinomial.{module}"), name) is getattr(dpmultinomial, name)


@pytest.mark.parametrize("name", dpmultinomial.__all__)
def test_examples_run(name):
    finder = doctest.DocTestFinder(recurse=False)
    for example in finder.find(getattr(dpmultinomial, name), name, globs={}):
        assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed == 0


def test_all_else_has_an_underscore():
    assert [m.__name__ for m in MODULES if not m.__name__.split(".")[1].startswith("_")] == []


@pytest.mark.parametrize("thing", THINGS)
def test_names_without_an_underscore_have_numpydoc(thing):
    text = thing.__doc__ or ""
    assert text.strip(), "no docstring"
    try:
        names = list(inspect.signature(thing).parameters)
    except (ValueError, TypeError):  # a compiled class or an exception
        return
    if len(names) <= 2:
        return
    text = inspect.cleandoc(text)
    sections = set(re.findall(r"^(Parameters|Attributes|Returns|Yields)\n-+$", text, re.MULTILINE))
    assert sections & {"Parameters", "Attributes"}
    silent = inspect.isclass(thing) or inspect.signature(thing).return_annotation in (None, "None")
    assert silent or sections & {"Returns", "Yields"}


@pytest.mark.parametrize("thing", CLASSES)
def test_results_say_how_far_to_trust_them(thing):
    fields = {*dir(thing), *getattr(thing, "__dataclass_fields__", ()), *assigned(thing)}
    if "accuracy" in fields and thing.__name__ not in INNER:
        assert callable(getattr(thing, "summary", None)), "a state but no summary()"
        assert thing.__repr__ is not object.__repr__, "no readable repr"
    if RESULT.search(thing.__name__) and hasattr(thing, "mean"):
        assert "accuracy" in fields, "a law without its state"


def assigned(thing):
    """Yield names that a class or its parents assign to self."""
    for cls in thing.__mro__:
        try:
            yield from re.findall(r"self\.(\w+)", inspect.getsource(cls))
        except (OSError, TypeError):
            continue


def test_a_summary_has_one_layout():
    assert _accuracy.SUMMARY == ("quantity", "mean", "sd", "lower", "upper", "level", "status", "error")

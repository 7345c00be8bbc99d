"""What a user meets: public names and nothing else, numpydoc everywhere, results that say how far to trust them."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import dpmultinomial
from dpmultinomial import honesty

ROOMS = [
    "accounting",
    "audits",
    "files",
    "honesty",
    "kernels",
    "mechanisms",
    "models",
    "posteriors",
    "releases",
    "seeding",
]
MODULES = [
    importlib.import_module(name)
    for name in sorted(m.name for m in pkgutil.walk_packages(dpmultinomial.__path__, "dpmultinomial."))
    if "._" not in name and ".reference" not in name
]
# laws and parts that a posterior with a summary holds
INNER = {"Certificate", "Chains", "Stratum", "TransformedCounts"}
RESULT = re.compile(r"(Posterior|Mixture|Answer|Result)$")


def own(module):
    """Public functions and classes that a module defines."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        thing = getattr(module, name)
        if getattr(thing, "__module__", None) == module.__name__ and callable(thing):
            yield name, thing


THINGS = [
    pytest.param(thing, id=f"{module.__name__.removeprefix('dpmultinomial.')}.{name}")
    for module in MODULES
    for name, thing in own(module)
]
CLASSES = [param for param in THINGS if inspect.isclass(param.values[0])]


def test_the_library_shows_its_rooms_and_nothing_else():
    shown = {}
    exec("from dpmultinomial import *", shown)
    assert sorted(set(shown) - {"__builtins__"}) == ROOMS == dir(dpmultinomial)


@pytest.mark.parametrize("module", [m for m in MODULES if hasattr(m, "__path__")], ids=lambda m: m.__name__)
def test_rooms_show_their_modules_and_public_names(module):
    assert module.__all__ == dir(module)
    for name in module.__all__:
        assert not name.startswith("_")
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("thing", THINGS)
def test_public_names_have_numpydoc(thing):
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
    assert inspect.isclass(thing) or sections & {"Returns", "Yields"}


@pytest.mark.parametrize("thing", CLASSES)
def test_results_say_how_far_to_trust_them(thing):
    fields = {*dir(thing), *getattr(thing, "__dataclass_fields__", ()), *assigned(thing)}
    if "honesty" in fields and thing.__name__ not in INNER:
        assert callable(getattr(thing, "summary", None)), "a state but no summary()"
        assert thing.__repr__ is not object.__repr__, "no readable repr"
    if RESULT.search(thing.__name__) and hasattr(thing, "mean"):
        assert "honesty" in fields, "a law without its state"


def assigned(thing):
    """Names that a class or its parents assign to self."""
    for cls in thing.__mro__:
        try:
            yield from re.findall(r"self\.(\w+)", inspect.getsource(cls))
        except (OSError, TypeError):
            continue


def test_no_module_is_left_out():
    root = Path(dpmultinomial.__file__).parent
    files = {p.stem for room in ROOMS for p in (root / room).glob("*.py")} - {"__init__"}
    assert files <= {module.__name__.split(".")[-1] for module in MODULES}
    assert honesty.SUMMARY == ("quantity", "mean", "sd", "lower", "upper", "level", "status")

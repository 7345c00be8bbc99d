"""Tests that depend on the set of existing papers are found by their source text."""

from .asking import asking
from .running import ROOT


def test_a_test_asks_for_papers_through_whatever_it_names():
    """A name of its own, of a fixture, of its parameters, of a module of tests; not for one paper, nor for kinds."""
    text = """
from tests.browser import made_run
from tests.docs import site_pages
PAPERS = paper.discover()
@pytest.fixture
def those():
    return list(PAPERS)
def again(those):
    return those
def test_fixture(again): ...
@pytest.mark.parametrize("slug", discover())
def test_parameter(slug): ...
def test_module():
    made_run.make()
def test_itself():
    assert paper.discover()
def test_no():
    assert kind.discover() and studies.discover() and paper.discover()["one"] and site_pages
"""
    found = asking(text, ROOT)
    assert found == [
        "made_run",
        "PAPERS",
        "those",
        "again",
        *(f"test_{w}" for w in ("fixture", "parameter", "module", "itself")),
    ]

"""Sources with the same people have one budget: in the check, the release, its last words, the page and the plan."""

import json

import pytest

from dpmultinomial._releases import checks, planned, room
from dpmultinomial._releases._places import Refused
from reproduction.scenarios import page

SHARED = {name: {"epsilon": 3.0, "people": "staff"} for name in ("first", "second")}
ALONE = {name: {"epsilon": 3.0} for name in ("first", "second")}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    for year, rows in (("first", "a,10\nb,20\n"), ("second", "a,12\nb,21\n")):
        (tmp_path / f"confidential/{year}.csv").write_text(f"category,count\n{rows}")
    return tmp_path


def asked(year):
    return {"source": year, "data": f"confidential/{year}.csv", "mechanism": "discrete_laplace", "epsilon": 2.0}


@pytest.mark.parametrize(("used", "other"), [("first", "second"), ("second", "first")])
def test_next_years_file_does_not_get_the_budget_again(root, used, other):
    """Check both orders: what is spent on either source counts against the other."""
    folder = room.make("one", asked(used), budgets=SHARED, root=root)
    assert json.loads((folder / "record.json").read_text())["budget_sources"] == ["first", "second"]
    found = room.check("two", asked(other), budgets=SHARED, root=root)
    assert len(found) == 1
    assert f"budgets/{other}: epsilon would rise from 2 to 4 (replace a record), but the budget is 3" in found[0][1]
    with pytest.raises(Refused, match="epsilon would rise from 2 to 4"):
        room.make("two", asked(other), budgets=SHARED, root=root)
    assert not (root / "releases/two").exists()
    assert len(planned.spent(root, *checks.sources(SHARED, other))) == 1
    said = room.spent("two", asked(other), budgets=SHARED, root=root)
    assert "epsilon 2" in said
    assert "counted over first, second, which have the same people" in said


def test_without_the_key_nothing_changes(root):
    folder = room.make("one", asked("first"), budgets=ALONE, root=root)
    assert "budget_sources" not in json.loads((folder / "record.json").read_text())
    assert room.check("two", asked("second"), budgets=ALONE, root=root) == []
    room.make("two", asked("second"), budgets=ALONE, root=root)
    said = room.spent("two", asked("second"), budgets=ALONE, root=root)
    assert "counted over second only; if another source has the same people" in said
    assert len(planned.spent(root, *checks.sources(ALONE, "second"))) == 1


@pytest.mark.parametrize(
    ("budgets", "place", "said"),
    [
        ({"a": {"epsilon": 1.0, "people": 3}}, "budgets/a/people", "must be a name [a-z][a-z0-9_]*, got 3"),
        ({"a": {"people": "staff"}}, "budgets/a", "must have epsilon"),
        (
            {"a": {"epsilon": 1.0, "people": "staff"}, "b": {"epsilon": 2.0, "people": "staff"}},
            "budgets/b",
            "must be equal to that of a, because both have the people staff",
        ),
    ],
)
def test_mistakes(budgets, place, said):
    found = checks.ceilings(budgets)
    assert [path for path, _ in found] == [place]
    assert said in found[0][1]


def test_the_page_says_over_which_sources_the_budget_is_counted():
    class Found:
        facts = {"points": [{"source": "first", "cost": {"epsilon": 2.0, "relation": "replace a record"}}]}  # noqa: RUF012

    shared, alone = (page.protected(Found, budgets)[-1] for budgets in (SHARED, ALONE))  # type: ignore[arg-type]
    assert shared == "The budget is counted over the sources first, second, which have the same people."
    assert alone == "The budget is counted over releases from first only."

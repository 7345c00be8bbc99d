"""The mutations of Python sources: what is drawn, what is excluded, and what is listed by hand."""

import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SOURCE = '''"""Docstring with 1 + 1."""


def difference(first: int, second: int = 2, *, absolute: bool = True) -> int:
    """Another 3."""
    gap = first - second
    for _ in range(5):
        if absolute and gap < 0:
            gap = -gap
    return gap
'''


@pytest.fixture
def mutations():
    """The module beside the runner, which is no package."""
    pytest.importorskip("cosmic_ray")
    sys.path.insert(0, str(ROOT / "tests" / "mutants"))
    try:
        import mutations
    finally:
        sys.path.remove(str(ROOT / "tests" / "mutants"))
    return mutations


@pytest.fixture
def tree(tmp_path):
    for name in ("one.py", "quoted.py"):
        (tmp_path / name).write_text(SOURCE)
    return tmp_path


def test_a_sample_is_of_places_and_leaves_out_what_would_flatter(mutations, tree):
    """Twenty seeds of all places: no docstring, annotation or signature's star, no bits in place of a difference."""
    before, operators = set(), set()
    for seed in range(20):
        found = mutations.sampled(tree, ("one.py", "quoted.py"), 99, seed)
        assert {m.module for m in found} == {"one.py"}  # quoted.py is a test itself
        assert len({(m.lines, m.operator, m.after) for m in found}) == len(found)
        before |= {m.before for m in found}
        operators |= {m.operator for m in found}
        assert not [m for m in found if "/," in m.after or "^" in m.after or "|" in m.after]
        assert not [m for m in found if "1 + 1" in m.before or "Another" in m.before]
    assert "gap = first - second" in before
    assert "for _ in range(5):" in before
    assert "if absolute and gap < 0:" in before
    assert {"AddNot", "NumberReplacer", "ZeroIterationForLoop"} <= operators


def test_the_seed_decides_the_sample(mutations, tree):
    draws = [[(m.lines, m.after) for m in mutations.sampled(tree, ("one.py",), 4, seed)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert len(draws[0]) == 4


def test_each_mutant_is_the_source_with_one_change(mutations, tree):
    for m in mutations.sampled(tree, ("one.py",), 5, 3):
        compile(m.source, "mutant", "exec")
        old, new = SOURCE.splitlines(), m.source.splitlines()
        changed = [i + 1 for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
        assert changed == list(m.lines)


def test_a_list_must_follow_the_code(mutations, tree):
    listed = tree / "mutations.yaml"
    listed.write_text('- file: one.py\n  old: "range(5)"\n  new: "range(0)"\n- file: other.py\n  old: x\n  new: y\n')
    (one,) = mutations.by_hand(tree, "mutations.yaml", ("./one.py",))
    assert (one.operator, one.before, one.after) == ("by hand", "for _ in range(5):", "for _ in range(0):")
    listed.write_text('- file: one.py\n  old: "gap"\n  new: "x"\n')
    with pytest.raises(ValueError, match=r"must stand once in one\.py; change the entry"):
        mutations.by_hand(tree, "mutations.yaml", ("./one.py",))
    assert mutations.by_hand(tree, "nowhere.yaml", ("./one.py",)) == []


def test_every_list_follows_the_code(mutations):
    """What is listed is made: an entry that fits no module, or whose words are gone, would end a run of mutants."""
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py")}
    papers = sorted((ROOT / "src").rglob("tests/mutations.yaml"))
    lists = {path: [m for m in modules if m.startswith(str(path.parents[1].relative_to(ROOT)))] for path in papers}
    shared = [m for m in modules if "/papers/" not in m]
    lists |= {ROOT / "tests/mutants" / name: shared for name in ("library.yaml", "shared.yaml")}
    assert len(lists) >= 7
    for path, own in lists.items():
        made = mutations.by_hand(ROOT, str(path.relative_to(ROOT)), tuple(own))
        assert len(made) == len(yaml.safe_load(path.read_text(encoding="utf-8"))), path.name
    for entry in yaml.safe_load((ROOT / "tests/mutants/kernels.yaml").read_text(encoding="utf-8")):
        assert (ROOT / "src" / entry["file"]).read_text(encoding="utf-8").count(entry["old"]) == 1, entry

"""Check that `dpm check` rejects every faulty configuration that a run rejects: both are run on each of them.

A run is `dpm answer`, `dpm release` or `dpm plan`; the slow tests start Snakemake with a third of the configurations.
"""

from pathlib import Path

import pytest
import yaml

from reproduction import command
from reproduction.config import plan_settings
from tests.workflow import running

NOISE = "noise: {law: laplace, scale: 2}"
ROUNDING = "{law: random_rounding, base: 5}"
COUNTS = f"kind: noisy_counts, counts: {{a: 12, b: 3, c: 5}}, {NOISE}"
TABLE = "kind: swapped_table, table: [[5, 2], [1, 4]], rate: 0.2"
RATES = "kind: protected_rates, file: rates.csv, exposure: births"
ADDITIVE = "kind: additive_counts, released: [25, 35], epsilon: 0.5"
SHARES = "kind: noisy_shares, shares: {a: 0.5, b: 0.5}, total: 20, r: 2, alpha: 1.5"


def counts(**changes):
    stated = {"counts": "{a: 12, b: 3, c: 5}", "noise": "{law: laplace, scale: 2}"} | changes
    return ", ".join(["kind: noisy_counts", *(f"{key}: {value}" for key, value in stated.items() if value)])


FAULTY = [
    counts(noise=""),
    counts(noise="{law: laplace}"),
    counts(noise="{law: laplace, scale: 0}"),
    counts(noise="{law: laplace, scale: -1}"),
    counts(noise="{law: laplace, sigma: 1}"),
    counts(noise="{law: laplacian, scale: 1}"),
    counts(noise="{law: gaussian, scale: 1}"),
    counts(noise="{law: discrete_gaussian, sigma: 1, variance: 1}"),
    counts(noise="{law: table}"),
    counts(noise="{law: table, file: nope.csv}"),
    counts(noise="{law: random_rounding}"),
    counts(noise="{law: random_rounding, base: 1}"),
    counts(noise="{law: laplace, scale: 2, clipped: 0}"),
    counts(noise="{law: laplace, scale: 2, rounded: -5}"),
    counts(noise="{law: laplace, epsilon: 1, sensitivity: 1, relation: replace a record}"),
    counts(noise="{law: laplace, epsilon: 1, relation: other}"),
    counts(epsilon="1"),
    counts(noise="laplace"),
    counts(counts="{a: 1.5, b: 2}", noise="{law: discrete_laplace, scale: 2}"),
    counts(counts="{a: x, b: 2}"),
    counts(counts="[]"),
    counts(counts="", file="nope.csv"),
    counts(counts="", file="empty.csv"),
    counts(counts="", file="twice.csv"),
    counts(counts="", file="scale.csv", noise="laplace"),
    counts(counts="", file="blank.csv"),
    counts(counts="", file="words.csv"),
    counts(counts="", file="orphan.csv"),
    counts(counts="", file="level.csv"),
    counts(total="-1"),
    counts(total="1.5"),
    counts(total="10000000000"),
    counts(total="{released: 20}"),
    counts(total="20", among="[a]"),
    counts(total="20", among="[a, x]"),
    counts(among="[a, b]"),
    counts(about="rates"),
    counts(about="shares"),
    counts(prior="flatt"),
    counts(prior="0.5"),
    counts(prior="{law: geometric}"),
    counts(prior="{law: geometric, mean: -1}"),
    counts(prior="{law: geometri, mean: 1}"),
    counts(total="20", prior="[1, 1]"),
    counts(total="20", prior="-1"),
    counts(level="1.5"),
    counts(questions="{q: {probability: a > x}}"),
    counts(questions="{q: {probability: a}}"),
    counts(questions="{q: {sum: [a, x]}}"),
    counts(questions="{q: {sums: [a, b]}}"),
    counts(questions="{q: {rank: {of: [a, x]}}}"),
    counts(questions="{q: {rank: {of: all, top: 9}}}"),
    counts(questions="{q: {share: {of: [a], among: [b, c]}}}"),
    counts(groups="{one: [a, b]}"),
    counts(bounds="{lower: 9, upper: 3}"),
    counts(colour="red"),
    TABLE.replace("0.2", "1.5"),
    TABLE.replace("[1, 4]", "[1, -4]"),
    TABLE.replace("[1, 4]", "[1]"),
    ADDITIVE.replace("35", "-35"),
    f"{ADDITIVE}, algorithm: '7'",
    SHARES.replace("a: 0.5", "a: 0.7"),
    "kind: noisy_count, counts: {a: 1}",
    "kind: [noisy_counts], counts: {a: 1}",
    "kind: {noisy_counts: 1}, counts: {a: 1}",
    counts(counts="", file="withheld.csv", withheld="{symbol: '*', below: [5, 10]}"),
    counts(counts="", file="withheld.csv", withheld="{symbol: '*', below: [10]}"),
    counts(counts="{' ': 1, a: 3}"),
    counts(counts="[1, 3]", names="[' ', a]"),
    counts(counts="", rehearsal="{counts: {'': 1, a: 3}}"),
    ADDITIVE.replace("[25, 35]", "{'': 25, b: 35}"),
    SHARES.replace("a: 0.5", "'': 0.5"),
    counts(counts="{'': 1, a: 3}", questions="{q: {probability: b = 0}}"),
    "release: nowhere",
    f"{RATES}, noise: {{law: discrete_gaussian, sigma: '5.0'}}",
    f"{RATES}, noise: {{law: [laplace], scale: 5.0}}",
    f"{RATES}, noise: {{law: laplace, sigma: 5.0}}",
    f"{RATES}, noise: laplacian",
    counts(prior="fitted"),
    counts(prior="{law: fitted}"),
    counts(counts="", file="few.csv", prior="fitted"),
    counts(total="20", prior="fitted"),
    counts(noise=ROUNDING),
    counts(noise="{law: random_rounding, base: 3, fixed: up}"),
    counts(counts="{a: -3, b: 6}", noise=ROUNDING),
    counts(counts="", file="half.csv", noise=ROUNDING),
    counts(counts="{a: -1, b: 2}", noise="{law: exact}"),
    counts(counts="{a: 1.5, b: 2}", noise="{law: exact}"),
    counts(noise="{law: exact}", total="2"),
    counts(noise="{law: exact}", bounds="{upper: 4}"),
    counts(counts="{a: -1, b: 2}", noise="{law: laplace, scale: 2, clipped: {at: 0}}"),
    counts(noise="{law: laplace, scale: 2, rounded: 5}"),
    counts(noise="{law: laplace, scale: 2, threshold: 5}"),
    counts(noise="{law: table, file: rates.csv}"),
    counts(prior="{x: flat}"),
    counts(counts="", file="grouped.csv", prior="{x: flat}"),
    counts(counts="", file="grouped.csv", prior="{x: flat, z: flat}"),
    counts(counts="", file="grouped.csv", prior="{x: flat, y: 0.5}"),
    counts(counts="", file="grouped.csv", prior="{x: flat, y: [1, 2]}"),
    counts(counts="", file="grouped.csv", prior="{x: {law: geometric}, y: flat}"),
    counts(counts="", file="grouped.csv", prior="{x: fitted, y: flat}"),
    counts(counts="", file="half.csv", columns="{name: county}"),
    counts(counts="", file="half.csv", columns="{nam: name}"),
    counts(counts="", file="geography.csv", prior="{level 2: 1}"),
    counts(counts="", file="geography.csv", prior="fitted"),
    counts(counts="", file="geography.csv", noise=ROUNDING),
    counts(counts="", file="unscaled.csv", noise="gaussian"),
    counts(counts="", file="negative.csv", noise="gaussian"),
    counts(counts="", file="negative.csv", noise="laplace"),
    f"{RATES}, noise: {ROUNDING}",
    f"kind: protected_rates, file: covariates.csv, exposure: births, {NOISE}, covariates: [x]",
    f"kind: protected_rates, file: negative_births.csv, exposure: births, {NOISE}",
    f"kind: protected_rates, file: rates.csv, exposure: deaths, {NOISE}",
    f"{RATES}, {NOISE}, family: shares, per: 1000",
]
RELEASE = {"data": "confidential/county.csv", "mechanism": "discrete_laplace", "epsilon": 1.0, "source": "survey"}
TREE = {
    "data": "confidential/tree.csv",
    "mechanism": "discrete_gaussian",
    "rho": 0.5,
    "levels": ["state", "county"],
    "source": "survey",
}
GOAL = {"interval": "met", "narrower": 0.1, "probability": 0.5}
PLAN = {"names": {"met": 0.5, "rest": 0.5}, "total": 20, "want": GOAL}
BATCH = {"kind": "noisy_counts", "file": "many.csv", "epsilon": 1.0}


def changed(stated, changes):
    return {key: value for key, value in {**stated, **changes}.items() if value is not None}


def release(budgets=None, **changes):
    return {"releases": {"r": changed(RELEASE, changes)}, "budgets": budgets or {"survey": {"epsilon": 4.0}}}


def tree(**changes):
    return {"releases": {"r": changed(TREE, changes)}, "budgets": {"survey": {"rho": 4.0}}}


def plan(**changes):
    return {"plans": {"p": changed(PLAN, changes)}}


def widths(asked, **changes):
    return {**release(**changes), "plans": {"p": asked}}


def batch(**changes):
    return {"scenarios": {"b": changed(BATCH, changes)}}


RELEASES = [
    release(epsilon=0),
    release(epsilon="one"),
    release(epsilon=None),
    release(epsilon=25),
    release(epsilon=1e-20),
    release(epsilon=5.0),
    release(rho=1),
    release(mechanism="laplace"),
    release(mechanism=None),
    release(data=None),
    release(data="county.csv"),
    release(data="confidential/nope.csv"),
    release(generation=0),
    release(generation=3),
    release(colour="red"),
    release(sensitivity=0.5),
    release(relation="other"),
    release(source="survei"),
    release(shares={"a": 0.5}),
    release(levels=["a", "a"]),
    release(mechanism="swap", epsilon=None),
    release(mechanism="additive_counts", algorithm="9"),
    release(mechanism="naive_bayes"),
    tree(rho=None),
    tree(shares={"state": 0.5, "county": 0.6}),
    tree(shares={"state": 0.5}),
    tree(narrow="town"),
    tree(narrow="county", shares={"state": 0.5, "county": 0.5}),
    tree(relation="replace a record", shares={"state": 0.5, "county": 0.5}),
    release({"survey": {"epsilon": 0}}),
    release({"survey": {"epsilon": 2.0, "delta": 0.1}}),
    release({"survey": {"delta": 1e-6}}),
    release({"survey": 4}),
    release({"other": {"epsilon": 4.0}}),
    release({"survey": {"epsilon": 0.5}}),
    release({"survey": {"exchange": 1.0}}),
    release({"survey": {"epsilon": 4.0, "people": "staff"}, "later": {"epsilon": 3.0, "people": "staff"}}),
    {"releases": {"r": 3}},
    {"releases": 1e308},
    {"releases": [{"r": RELEASE}]},
]
PLANS = [
    plan(names={"met": 0.5, "rest": 0.6}),
    plan(names={"met": 1.0}),
    plan(total=0),
    plan(total=None),
    plan(want=None),
    plan(want={**GOAL, "interval": "x"}),
    plan(want={**GOAL, "narrower": -1}),
    plan(want={**GOAL, "probability": 0.99}),
    plan(want={"question": "met > x", "probability": 0.5}),
    plan(want={**GOAL, "question": "met > rest"}),
    plan(among=["met", "x"]),
    plan(of="counts", among=["met", "rest"]),
    plan(of="share"),
    plan(level=2),
    plan(colour=1),
    widths({"release": "x"}),
    {"releases": 1e308, "plans": {"p": {"release": "r"}}},
    widths({"release": "r", "values": []}),
    widths({"release": "r", "values": [0]}),
    widths({"release": "r", "level": 1}),
    widths({"release": "r", "shape": "shape.csv"}),
    widths({"release": "r"}, epsilon=0),
    {**tree(narrow="county"), "plans": {"p": {"release": "r"}}},
    {**tree(), "plans": {"p": {"release": "r", "shape": "nope.csv"}}},
    {**tree(), "plans": {"p": {"release": "r", "shape": "deep.csv"}}},
    {**tree(), "plans": {"p": {"release": "r", "shape": "lost.csv"}}},
]
BATCHES = [
    {"scenarios": {"b": {"release": "r"}}, "releases": 1e308},
    {"scenarios": {"b": {"release": "r"}}, "releases": [None]},
    {"scenarios": {"b": {"release": "r"}}, "releases": {"r": [RELEASE]}},
    {"scenarios": {"b": {"release": "r"}}, "releases": {"r": 0}},
    batch(file="nope.csv"),
    batch(file="none.csv"),
    batch(file="novalue.csv"),
    batch(file="scaled.csv"),
    batch(epsilon=None),
    batch(epsilon=0),
    batch(epsilon=[1.0, 2.0]),
    batch(level=2),
    batch(about="rates"),
    batch(total=-1),
    batch(noise={"law": "laplace"}),
    batch(prior="flatt"),
    batch(prior=0.5),
    batch(prior={"law": "geometric"}),
    batch(among=["a", "b"]),
    batch(questions={"q": {"probability": "a > b"}}),
    batch(confidence=1.5),
    batch(kind="swapped_table", epsilon=None, file="cells.csv"),
    batch(kind="additive_counts", algorithm="9"),
    batch(kind="censored_sample"),
    batch(prior="fitted"),
    batch(prior={"x": "flat"}),
]
FILES = {
    "few.csv": "name,value\n" + "".join(f"n{i},{i}\n" for i in range(29)),
    "half.csv": "name,value\na,1.5\nb,2\n",
    "grouped.csv": "name,value,group\na,1,x\nb,2,y\n",
    "geography.csv": "name,value,parent\nall,9,\na,4,all\nb,5,all\n",
    "unscaled.csv": "name,value,parent,sigma\nall,9,,1\na,4,all,\nb,5,all,2\n",
    "negative.csv": "name,value,parent,sigma\nall,9,,1\na,4,all,-1\nb,5,all,2\n",
    "covariates.csv": "name,value,births,x\na,3,400,1\nb,11,300,\nc,4,900,3\n",
    "negative_births.csv": "name,value,births\na,3,-5\nb,11,300\nc,4,900\n",
    "rates.csv": "name,value,births\na,3,400\nb,11,300\nc,4,900\n",
    "withheld.csv": "name,value\na,12\nb,*\n",
    "many.csv": "table,name,value\nt,a,1\nt,b,2\nu,a,3\nu,b,4\n",
    "none.csv": "table,name,value\n",
    "novalue.csv": "table,name\nt,a\n",
    "scaled.csv": "table,name,value,scale,sigma\nt,a,1,2,3\n",
    "cells.csv": "table,row,column,value\nt,a,x,1\nt,b,y,2\n",
    "county.csv": "category,count\na,3\n",
    "shape.csv": "category,parent\nstate,\na,state\nb,state\n",
    "deep.csv": "category,parent\nstate,\na,state\nb,a\n",
    "lost.csv": "category,parent\nstate,\na,x\n",
    "empty.csv": "name,value\n",
    "twice.csv": "name,value\na,1\na,2\n",
    "scale.csv": "name,value,scale\na,1,1\nb,2,0\n",
    "blank.csv": "name,value,group\na,1,x\nb,2,\n",
    "words.csv": "name,value\na,1\nb,many\n",
    "orphan.csv": "name,value,parent\na,1,\nb,2,z\n",
    "level.csv": "name,value,level\na,1,x\nb,2,y\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("confidential").mkdir(mode=0o700)
    Path("confidential/county.csv").write_text("category,count\na,30\nb,20\n")
    Path("confidential/tree.csv").write_text("category,parent,count\nstate,,50\na,state,30\nb,state,20\n")
    return tmp_path


def refused(*words):
    try:
        command.main(words)
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, str) else ""
    return ""


def named(configuration):
    """Return the command that runs a configuration: a release, a plan or a scenario, and the path of the mistake."""
    if "plans" in configuration:
        return ("plan", "p"), ("plans.p", "releases")
    if "scenarios" in configuration:
        name = next(iter(configuration["scenarios"]))
        return ("answer", name), (f"scenarios.{name}",)
    return ("release", "r"), ("releases", "budgets.")


CASES = [yaml.safe_load(f"scenarios:\n  mine: {{{scenario}}}\n") for scenario in FAULTY]
EVERY = [*CASES, *RELEASES, *PLANS, *BATCHES]


def test_there_are_many_different_faults():
    assert len({str(configuration) for configuration in EVERY}) == len(EVERY)
    assert len(FAULTY) >= 60
    assert len(RELEASES) + len(PLANS) + len(BATCHES) >= 60


@pytest.mark.parametrize(
    "configuration",
    [pytest.param(one, marks=[] if i % 3 == 0 else [pytest.mark.thorough]) for i, one in enumerate(EVERY)],
    ids=lambda configuration: str(configuration)[:60],
)
def test_the_check_rejects_what_a_run_rejects(folder, configuration):
    Path("mine.yaml").write_text(yaml.safe_dump(configuration))
    words, places = named(configuration)
    run = refused(*words, "--configfile", "mine.yaml")
    assert run, "the run accepts it"
    checked = refused("check", "mine.yaml")
    assert any(place in checked for place in places), run
    assert not Path("results").exists()
    assert not list(Path("releases").glob("*/*/*.csv"))


@pytest.mark.slow
@pytest.mark.parametrize("configuration", EVERY[::3], ids=lambda configuration: str(configuration)[:60])
def test_snakemake_rejects_what_the_check_rejects(folder, configuration):
    Path("mine.yaml").write_text(yaml.safe_dump({**configuration, "run": []}))
    (verb, name), places = named(configuration)
    rule = {"answer": "scenario", "plan": "plan", "release": "release"}[verb]
    root = Path(__file__).parents[3]
    words = ["--snakefile", str(root / "Snakefile"), "--cores", "1", "--dry-run", f"{rule}_{name}"]
    told = running.snakemake([*words, "--configfile", "mine.yaml"], good=False, folder=folder)
    assert any(place in told for place in places), told
    assert not Path("results/scenarios").exists()


@pytest.mark.parametrize(
    ("words", "configuration"),
    [
        (
            ("answer", "mine"),
            {
                "scenarios": {
                    "mine": {
                        "kind": "noisy_counts",
                        "counts": {"a": 12, "b": 3},
                        "noise": {"law": "laplace", "scale": 2},
                    }
                }
            },
        ),
        (
            ("answer", "mine"),
            yaml.safe_load(f"scenarios: {{mine: {{{counts(counts='{a: 10, b: 5}', noise=ROUNDING)}}}}}"),
        ),
        (("answer", "b"), batch()),
        (("release", "r"), release()),
        (("plan", "p"), widths({"release": "r", "values": [0.5, 1]})),
        (("plan", "p"), {**tree(), "plans": {"p": {"release": "r", "shape": "shape.csv"}}}),
    ],
    ids=["counts", "rounded counts", "batch", "release", "widths", "widths of a tree"],
)
def test_a_sound_configuration_passes_both(folder, words, configuration):
    Path("mine.yaml").write_text(yaml.safe_dump(configuration))
    assert refused("check", "mine.yaml") == ""
    assert refused(*words, "--configfile", "mine.yaml") == ""


def test_the_check_names_the_next_generation(folder):
    Path("mine.yaml").write_text(yaml.safe_dump(release(epsilon=0.5)))
    assert refused("release", "r", "--configfile", "mine.yaml") == ""
    Path("mine.yaml").write_text(yaml.safe_dump(release(epsilon=0.5, generation=2)))
    assert refused("check", "mine.yaml") == ""
    Path("mine.yaml").write_text(yaml.safe_dump(release(epsilon=0.5, generation=3)))
    assert "releases.r.generation: must be 2, the next generation according to the ledger, got 3" in refused(
        "check", "mine.yaml"
    )


PLAN = {"names": {"a": 0.25, "b": 0.75}, "total": 10, "want": {"question": "a > b"}}
WIDTH = {"interval": "a", "narrower": 0.1}
COUNTS = {"mechanism": "discrete_laplace", "epsilon": 1.0, "file": "x.csv"}


def plan_mistakes(plan, releases=None):
    return list(plan_settings.mistakes({"p": plan}, releases))


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"names": {"a": 0.25, "b": 0.75 + 1e-8}}, "p.names", "must sum to 1, got 1.00000001"),
        ({"names": {"a": 0.25, "b": 0.5}}, "p.names", "must sum to 1, got 0.75"),
        ({"want": {}}, "p.want", "a plan must contain either question, or interval and narrower"),
        ({"want": {"interval": "a"}}, "p.want", "a plan must contain either question, or interval and narrower"),
        ({"want": {"narrower": 1}}, "p.want", "a plan must contain either question, or interval and narrower"),
        ({"want": WIDTH | {"question": "a > b"}}, "p.want", "a plan must contain either"),
        ({"want": {"narrower": 1, "question": "a > b"}}, "p.want", "a plan must contain either"),
        ({"want": WIDTH | {"interval": "c"}}, "p.want.interval", "must be one of a, b, got 'c'"),
        ({"among": ["a", "c"]}, "p.among", "must be one of a, b, got 'c'"),
        ({"among": ["a", "b"], "of": "counts"}, "p.among", "applies only to shares and rates"),
        ({"want": {"question": "a > c"}}, "p.want.question", ""),
        ({"names": {"a": 0.5, "b": 0.3, "c": 0.2}, "among": ["b", "c"]}, "p.want.question", ""),
        ({"names": {"a": 0.5, "b": 0.3, "c": 0.2}, "among": ["b", "c"], "want": WIDTH}, "p.want.interval",
         "must be one of b, c, got 'a'"),
        ({"want": WIDTH | {"probability": 0.95}}, "p.want.probability",
         "must be below the level of the interval (0.95), got 0.95"),
        ({"want": WIDTH | {"probability": 0.8}, "level": 0.7}, "p.want.probability", "must be below the level of the"),
        ({"exposure": "x"}, "p", "a plan cannot contain rates with exposures or covariates"),
        ({"kind": "protected_rates"}, "p", "a plan cannot contain rates with exposures or covariates"),
        ({"total": 0}, "p.total", ""),
        ({"more": 1}, "p", ""),
    ],
)  # fmt: skip
def test_mistakes_of_plans_of_shares(change, place, said):
    ((found, text),) = plan_mistakes(PLAN | change)
    assert found == place or (said == "" and found.startswith(place))
    assert text.startswith(said)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"names": {"a": 0.25, "b": 0.75 + 1e-10}},
        {"want": WIDTH},
        {"want": WIDTH | {"probability": 0.949}},
        {"want": {"question": "a > b", "probability": 0.97}},
        {"among": ["a", "b"]},
        {"among": ["a", "b"], "of": "rates"},
        {"of": "counts"},
    ],
)
def test_good_plans_of_shares(change):
    assert plan_mistakes(PLAN | change) == []


@pytest.mark.parametrize(
    ("plan", "releases", "expected"),
    [
        ({}, {"r": COUNTS}, []),
        ({"values": [0.5, 2.0]}, {"r": COUNTS}, []),
        ({}, {}, [("p.release", "'r' is not a release. The available releases are none")]),
        ({}, None, [("p.release", "'r' is not a release. The available releases are none")]),
        ({}, {"s": COUNTS, "t": COUNTS}, [("p.release", "'r' is not a release. The available releases are s, t")]),
        ({}, {"r": 3}, []),
        ({}, {"r": {"mechanism": "other"}}, []),
        ({"values": [0.1, 1.0]}, {"r": {"mechanism": "swap", "rate": 0.1}},
         [("p.values", "the rate of a swap must be < 1, got 1")]),
        ({"shape": "x.csv"}, {"r": COUNTS},
         [("p.shape", "may be given only for a tree of counts, but the release r does not have the key levels")]),
        ({}, {"r": COUNTS | {"narrow": True}},
         [("p.shape", "is missing: narrow depends on the shape of the tree, so name a public file with this shape")]),
        ({"values": [0.5, 0.5]}, {"r": COUNTS}, None),
        ({"values": []}, {"r": COUNTS}, None),
    ],
)  # fmt: skip
def test_mistakes_of_plans_of_releases(plan, releases, expected):
    found = plan_mistakes({"release": "r"} | plan, releases)
    if expected is None:
        assert [place for place, _ in found] == ["p.values"]
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("category,parent\na,\nb,a\nc,a\n", ""),
        ("category,up\na,\n", "must have the columns category and parent, but lacks parent"),
        ("name,parent\na,\n", "must have the columns category and parent, but lacks category"),
        ("category,parent\na,\nb,a\nc,b\n", "has 3 levels, but the release has 2 levels (top, low)"),
    ],
)
def test_a_file_with_the_shape_of_a_tree(tmp_path, text, said):
    path = tmp_path / "tree.csv"
    path.write_text(text)
    found = list(plan_settings._shape_problems(str(path), ["top", "low"]))
    assert found == ([f"{str(path)!r} {said}"] if said else [])
    assert len(list(plan_settings._shape_problems(str(tmp_path / "none.csv"), ["top"]))) == 1

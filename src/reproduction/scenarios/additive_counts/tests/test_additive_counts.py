"""Test additive-counts scenarios against the library's posteriors and against posteriors under other priors. Batches
are compared with single cases.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._posteriors.additive import additive_counts
from reproduction import kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import making, page, sentences, summary

RELEASED = {"north": 250, "east": 357, "south": 0}


def made(folder, name="mine", **settings):
    scenario = scenario_settings.single(name, {"kind": "additive_counts", **settings}, kind.discover())
    files = making.files(name, folder)
    making.part(scenario, files, root_seed=1)
    return files


def test_rows_are_the_posterior_and_the_total(tmp_path):
    rows, comparison, facts = making.read(made(tmp_path, released=RELEASED, epsilon=0.5))
    law = additive_counts.posterior([250, 357, 0], epsilon=0.5, algorithm="3", ties="random")
    wanted = law.summary(0.95)
    assert rows["quantity"].tolist() == [*RELEASED, "total"]
    assert set(rows["type"]) == {"count"}
    assert rows["released"].tolist() == [250, 357, 0, 607]
    for key in ("mean", "sd", "lower", "upper"):
        assert rows[key].to_numpy() == pytest.approx(wanted[key].to_numpy(dtype=float), rel=1e-12)
    end = np.exp(-50) * np.tanh(0.25)  # the default bound is 50/0.5, where two noise values exclude a neighbour
    assert facts["points"][0]["cost"] == {
        "epsilon": 1.0,
        "delta": pytest.approx(2 * end),
        "relation": "add or remove a record",
    }  # 0.5 each for the total and for the components
    assert set(comparison["status"]) == {"for comparison"}
    assert set(comparison["quantity"]) == {"total"}
    assert "for comparison" not in set(rows["status"])
    assert all("in place of flat" in text for text in comparison["analysis"])
    said = sentences.assumptions(facts, facts["points"][0])
    assert "Discrete Laplace noise of scale 2 between -100 and 100 was added" in said[1]
    assert "algorithm 3 (ties: random) then" in said[1]
    assert said[-1].startswith("Privacy cost of the release: epsilon = 1, delta = ")


def test_metadata_of_a_release_contain_no_default_of_a_recorded_setting():
    """The default algorithm is 3, but the record of a release can state another algorithm."""
    settings = {"kind": "additive_counts", "released": [1, 2], "epsilon": 1.0}
    stated = scenario_settings.single("mine", settings, kind.discover())
    assert making.head(stated)["settings"] == stated.settings
    assert stated.settings["algorithm"] == "3"
    of_release = {"release": "two", "algorithm": "3", "ties": "random", "prior": "flat", "level": 0.95}
    released = replace(stated, release="releases/two/1", settings=of_release)
    assert making.head(released)["settings"] == {"release": "two", "prior": "flat", "level": 0.95}


def test_the_cost_of_bounded_noise_has_a_delta(tmp_path):
    """A noise value of 3 (of total or count) is impossible after one record less: delta = 1 - (1 - p(3))^2. If a record
    is replaced, two counts change instead of a count and the total.
    """
    files = made(tmp_path, released=RELEASED, epsilon=1.0, algorithm="2", support=3)
    _, _, facts = making.read(files)
    weights = np.exp(-abs(np.arange(-3, 4)))
    delta = 1 - (1 - weights[0] / weights.sum()) ** 2
    cost = facts["points"][0]["cost"]
    assert cost == {"epsilon": 2.0, "delta": pytest.approx(delta), "relation": "add or remove a record"}
    said = sentences.assumptions(facts, facts["points"][0])
    assert "noise of scale 1 between -3 and 3 was added to the total" in said[1]
    assert said[-1] == (
        "Privacy cost of the release: epsilon = 2, delta = 0.0467223 (neighbouring files: add or remove a record; "
        "epsilon = 2, delta = 0.0467223 to replace a record)."
    )
    protected = page._protected(facts["points"][0], {})
    assert protected[0].endswith(
        " protected with epsilon = 2 and delta = 0.0467223 (add or remove a record; epsilon = 2, delta = 0.0467223 to "
        "replace a record)."
    )
    assert protected[1].endswith("the true one (with probability at most 0.0467223, the reader may learn more).")


def test_a_batch_answers_each_release_as_if_alone_and_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["table,name,value,epsilon", *(f"a,{name},{value},0.5" for name, value in RELEASED.items())]
    lines += ["b,x,3,1.0", "b,y,4,1.0", "half,x,0.5,1.0", "half,y,1,1.0", "sum,total,1,1.0", "sum,y,1,1.0"]
    (tmp_path / "many.csv").write_text("\n".join(lines) + "\n")
    table = pd.read_csv(made(tmp_path, "many", file="many.csv").csv)
    single, _, _ = making.read(made(tmp_path, released=RELEASED, epsilon=0.5))
    own = table[table["table"] == "a"]
    for key in ("mean", "sd", "lower", "upper"):
        assert own[key].to_numpy() == pytest.approx(single[key].to_numpy(), rel=1e-12)
    told = table.set_index("table")["status"]
    assert "integers" in told["half"]
    assert "sum of the other counts" in told["sum"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epsilon": None}, "mine.epsilon: is missing"),
        ({"algorithm": "1-summed"}, "mine.algorithm: '1-summed' is tractable only for two counts, got 3 counts"),
        (
            {"released": {"a": 1, "total": 2}},
            "mine.released: must not contain 'total', which is reserved for the sum of the other counts",
        ),
        ({"released": [10**8, 1]}, "must be <= 100000000, got 100000001"),
        ({"prior": "flatt"}, "got 'flatt'"),
        ({"algorithm": "4"}, "mine.algorithm: '4' is not allowed"),
    ],
)
def test_mistakes(change, said):
    asked = {"kind": "additive_counts", "released": RELEASED, "epsilon": 1.0, **change}
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", {k: v for k, v in asked.items() if v is not None}, kind.discover())
    assert said in str(caught.value)


def test_a_batch_states_its_noise_for_the_total_and_for_the_counts(tmp_path):
    """The noise of epsilon = 0.5 has the scale 2, and is added to the total and to the counts."""
    file = tmp_path / "many.csv"
    file.write_text("table,name,value\nt,a,3\nt,b,5\n", encoding="utf-8")
    found = page.write(made(tmp_path, file=str(file), epsilon=0.5, support=40), tmp_path / "page.html")
    stated = "Discrete Laplace noise of scale 2 between -40 and 40 was added to the total and to every count"
    then = "then made the counts non-negative and consistent with the total."
    assert f"{stated}; algorithm 3 (ties: random) {then}" in found.assumptions
    protected = "The noise of each table is that of epsilon = 0.5 for the total and again for the counts, as stated in "
    assert page.protected(found, {})[0] == f"{protected}the settings."
    single = page.write(made(tmp_path, released={"a": 3, "b": 5}, epsilon=0.5, support=40), tmp_path / "page.html")
    assert f"{stated}; algorithm 3 (ties: random) {then}" in single.assumptions
    stated = stated.replace("40", "100")  # 50/epsilon by default
    found = summary.summarise(made(tmp_path, file=str(file), epsilon=0.5, algorithm="2"))
    assert f"{stated}; algorithm 2 {then}" in found.assumptions
    file.write_text("table,name,value,algorithm\nt,a,3,2\nt,b,5,2\n", encoding="utf-8")
    found = summary.summarise(made(tmp_path, file=str(file), epsilon=0.5))
    assert f"{stated}; the algorithm in the column algorithm {then}" in found.assumptions
    file.write_text("table,name,value,epsilon\nt,a,3,0.5\nt,b,5,0.5\nu,a,1,2\n", encoding="utf-8")
    for more, limit, how in (
        ({"support": 40}, "40", "3 (ties: random)"),
        ({"algorithm": "2"}, "50/epsilon (rounded up)", "2"),
    ):
        found = summary.summarise(made(tmp_path, file=str(file), **more))
        noise = f"noise of scale 1/epsilon (column epsilon) between -{limit} and {limit} was added to the total and to"
        assert f"Discrete Laplace {noise} every count; algorithm {how} {then}" in found.assumptions

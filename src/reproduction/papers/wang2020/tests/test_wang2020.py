"""Check the functions for this paper on small inputs, using properties that hold for any draws."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._seeding import stream
from reproduction import evidence, tables
from reproduction.jobs import making
from reproduction.papers.wang2020 import agreement as numbers
from reproduction.papers.wang2020 import beyond, comparison, draws, errata, examples, figures, releases, speed
from reproduction.verdicts import agreement

PUBLISHED = Path(__file__).parents[1] / "published.tsv"
MODEL = {"vector": 1, "epsilon": 1.0, "support": 4}
PAIR = {"released": [250, 357], "epsilon": 1.0, "rows": 10}


def loop(function, settings, **size):
    return making.simulate(function, settings | size, root_seed=3, names=("unit", function.__module__))


@pytest.fixture(scope="module")
def made():
    simulated = releases.moments(loop(releases.simulate, MODEL, replications=60, block=25), **MODEL)
    exact = releases.exact_moments(**MODEL)
    both = {"releases": simulated, "exact_moments": exact}
    windows = {"window": 30, "other_window": 10}
    return {
        "figure_1": examples.figure_1(vector=1),
        "table_1": releases.table_1(**both),
        "table_2": examples.table_2(),
        "table_3": releases.table_3(**both),
        "table_4": beyond.table_4(**PAIR, **windows),
        "table_5": beyond.table_5(**PAIR, **windows),
        "tie_rules": releases.tie_rules(**both),
        "tie_fit": draws.tie_fit(tie_rules=releases.tie_rules(**both), published=tables.read(PUBLISHED)),
        "readings": releases.readings(epsilon=1.0, support=4),
        "precision": beyond.precision(**{k: PAIR[k] for k in ("released", "epsilon")}),
        "release_checks": draws.release_checks(**MODEL, size=50, rng=stream(8, "checks")),
        "many_zeros": draws.many_zeros(zeros=6, large=2, count=20, epsilon=1.0, support=6),
        "comparison": comparison.comparison(
            loop(comparison.simulate, MODEL | {"posteriors": 1}, replications=30, block=30), **MODEL, posteriors=1
        ),
        "privacy": beyond.privacy(epsilon=1.0, support=50, claims=[0.5, 1.0, 2.0]),
    }


def test_blocks_and_shards_change_no_number():
    settings = MODEL | {"replications": 60, "block": 25}
    whole = loop(releases.simulate, MODEL, replications=60, block=25)
    parts = [
        making.simulate(releases.simulate, settings, root_seed=3, names=("unit", releases.__name__), shard=s, shards=2)
        for s in (1, 2)
    ]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)


def test_power_sums_give_the_moments_of_the_releases():
    table = loop(releases.simulate, MODEL, replications=50, block=50)
    row = table[(table["algorithm"] == "Algorithm 2") & (table["representative"] == "N_q1")].iloc[0]
    counts = examples.example_1(1)
    chosen = examples.representatives(counts)[1]
    from dpmultinomial._mechanisms import additive_counts

    rng = stream(3, "unit", releases.__name__, 0)
    released = additive_counts.release_all(counts, epsilon=1.0, support=4, size=50, rng=rng, ties="ieee")[2][:, chosen]
    found = releases.moments(table, **MODEL)
    found = found[(found["algorithm"] == "Algorithm 2") & (found["representative"] == "N_q1")].iloc[0]
    assert row["s1"] == (released - counts[chosen]).sum()
    assert found["mean"] == pytest.approx(released.mean())
    assert found["variance"] == pytest.approx(released.var(ddof=1))
    fourth = ((released - released.mean()) ** 4).mean()
    assert found["variance_se"] == pytest.approx(np.sqrt((fourth - released.var() ** 2) / 50))


def test_printed_statements_pair_up_and_the_pair_tables_have_their_verdicts(made):
    published = agreement.read_published(PUBLISHED)
    table = agreement.compare(published, numbers.ours(made), paper="wang2020")
    assert set(table["verdict"]) <= set(agreement.VERDICTS)
    printed = table[table["kind"] == "number"].groupby("artefact")["verdict"].agg(set)
    assert printed["table_4"] == {"reproduced_by_slip"}
    assert printed["table_5"] == {"reproduced"}
    assert table.loc[table["artefact"] == "privacy", ["kind", "verdict"]].to_numpy().tolist() == [
        ["stricter", "differs"]
    ]
    assert set(table.loc[table["artefact"] == "table_2", "kind"]) == {"input", "derived", "fact"}


def test_published_numbers_are_those_of_the_tables():
    table = agreement.read_published(PUBLISHED)
    table = table[~table["kind"].isin(["claim", "wording", "law", "fact"])]
    sizes = table.groupby("artefact").size()
    # numbers of printed cells
    assert sizes["table_1"] == sizes["table_3"] == sizes["table_4"] == sizes["table_5"] == 40
    assert table.loc[table["quantity"] == "Algorithm 1 (ind), N_max: variance", "value"].tolist() == [940, 256.8]


def test_windows_and_precision():
    table = beyond.windows(released=[20, 31], epsilon=1.0, windows=[4, 8], rows=3)
    assert table.groupby("algorithm").size().tolist() == [9, 9]
    law = beyond.precision(released=[20, 31], epsilon=1.0)
    sums = law.groupby(["release", "quantity"])["probability"].sum()
    assert np.allclose(sums, 1, atol=1e-9)
    sds = law.drop_duplicates(["release", "quantity"]).set_index(["release", "quantity"])["sd"]
    assert (
        sds["noisy counts", "N1"] < sds["Algorithm 3", "N1"] < sds["Algorithm 2", "N1"] < sds["Algorithm 1 (ind)", "N1"]
    )


def test_projection_beats_the_papers_releases():
    settings = MODEL | {"support": 50, "posteriors": 3}
    table = comparison.comparison(loop(comparison.simulate, settings, replications=150, block=150), **settings)
    for _, rows in table.groupby("example"):
        rmse = rows.set_index("method")["rmse"]
        assert rmse["projected, largest remainder"] < rmse["Algorithm 2"] / 2
    assert (table["total_variance"] > 0).all()


@pytest.mark.thorough
def test_fifty_components_hold_about_nine_tenths():
    table = beyond.fifty_components(epsilon=1.0, support=50, level=0.9, rng=stream(4, "fifty"))
    held = (table["true"].between(table["lower"], table["upper"])).groupby(table["release"]).mean()
    # central intervals of integers have coverage of at least 0.9 on average; 4 sd for 50 intervals are 0.17
    assert held.min() > 0.7
    assert table.groupby("release").size().tolist() == [50] * 4


def test_timings_have_their_baselines():
    sizes = {"releases": 50, "literal_releases": 1, "window": 4, "literal_window": 3, "repeats": 1}
    table = speed.timings(epsilon=1.0, support=50, rng=stream(6, "speed"), **sizes)
    assert (table["seconds"] > 0).all()
    assert (table["ratio"].dropna() > 1).all()


def test_every_erratum_has_evidence():
    for number in errata.ERRATA:
        assert len(evidence.show(errata.ERRATA, number, rng=stream(7, "errata"), size=100)) > 20
    with pytest.raises(ValueError, match="must be one of 1, 2"):
        evidence.show(errata.ERRATA, 15, rng=stream(7, "errata"), size=10)
    assert len(errata.errata(size=50, rng=stream(7, "errata"))) == len(errata.ERRATA)


def test_figures_draw_what_the_tables_hold(made, tmp_path):
    published = agreement.read_published(PUBLISHED)
    table = agreement.compare(published, numbers.ours(made), paper="wang2020")
    for name in ("figure_1", "tie_rules", "privacy"):
        tables.write(made[name], tmp_path / f"{name}.csv")
        assert getattr(figures, name)(tables.read(tmp_path / f"{name}.csv")).axes
    assert len(figures.agreement(table).axes) == 2

"""A user's swapped tables, releases and rehearsals: what the scenario says, and what it refuses."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._files.published import open_release
from dpmultinomial._posteriors.swapping import swapped_table
from dpmultinomial._posteriors.swapping.common_odds import common_odds_ratio
from dpmultinomial._releases import room
from dpmultinomial._seeding import stream
from reproduction import paper
from reproduction.config import config, schema
from reproduction.papers.pan2023 import figures, scenario, scenario_case, validation

SCHEMA = schema.of(paper.discover())
SLIDES = [[1, 2], [3, 4]]


def numbers(found):
    rows = found[found["statistic"] == scenario.SUMMARY]
    assert not rows.duplicated(["analysis", "quantity"]).any()
    return rows.set_index(["analysis", "quantity"])


def test_a_table_is_answered_by_its_exact_posterior_one_row_a_quantity():
    found = scenario.table(table=SLIDES, rate=0.1, rng=stream(7, "s"))
    assert tuple(found.columns) == scenario.COLUMNS
    first = found["statistic"].eq(scenario.SUMMARY)
    assert not first[first.idxmin() :].any()  # the summary stands first, the densities after it
    rows = numbers(found)
    # weights and moments by exact rational enumeration of the four possible originals
    first = rows.loc[("swap-aware", "theta(0, 0)")]
    assert [first["mean"], first["sd"]] == pytest.approx([0.141764, 0.095713], abs=6e-7)
    phi = rows.loc[("swap-aware", "phi")]
    assert [phi["lower"], phi["upper"]] == pytest.approx([0.030287, 12.884936], abs=6e-7)
    assert phi["mean"] == np.inf  # an original with an empty cell is possible
    assert "median 0.7734" in phi["note"]
    assert rows.loc[("swap-aware", "P(phi > 1)"), "mean"] == pytest.approx(0.425382, abs=6e-7)
    assert rows.loc[("naive", "log phi"), "mean"] == pytest.approx(
        -0.25, abs=1e-14
    )  # psi(2) - psi(3) - psi(4) + psi(5)
    assert rows.loc[("naive", "P(phi > 1)"), "mean"] == pytest.approx(14 / 33, abs=1e-12)
    assert rows.loc[("swap-aware", "P(original = [[0, 3], [4, 3]])"), "mean"] == pytest.approx(0.116, abs=6e-7)
    assert rows.loc[("swap-aware", "P(published table)"), "mean"] == pytest.approx(0.003963748148, abs=1e-12)
    # 2 (ln 11 - ln(1/9)), and ln(D_10/D_8) + 2 ln 9 with D_10 = 1334961, D_8 = 14833
    assert rows.loc[("privacy", "loss of one exchange, theorem"), "mean"] == pytest.approx(2 * np.log(99))
    assert rows.loc[("privacy", "loss of one exchange, exact"), "mean"] == pytest.approx(np.log(1334961 / 14833 * 81))
    assert set(rows["status"]) == {"exact"}
    assert (rows["note"] != "").all()
    theta = rows[rows.index.get_level_values(1).str.startswith("theta")]
    assert (theta["level"] == 0.95).all()
    assert "Dirichlet prior 1 in every cell, worth 4 records beside 10" in first["note"]


def test_densities_integrate_to_one():
    found = scenario.table(table=[[4, 2, 3], [1, 5, 2]], rate=0.2, rng=stream(7, "s"))
    assert "log phi" not in set(found["quantity"])
    for _, line in found[found["statistic"] == scenario.DENSITY].groupby(["analysis", "quantity"]):
        assert np.trapezoid(line["density"].fillna(0), line["x"]) == pytest.approx(1, abs=2e-3)


def test_strata_share_one_odds_ratio_and_keep_their_margins():
    tables = [[[3, 4], [5, 6]], [[10, 2], [3, 9]]]
    rows = numbers(scenario.table(strata=tables, rate=0.2, rng=stream(7, "s")))
    # a swap keeps margins: the two cells of a row have posterior mean (row total + 2)/(42 + 8) together
    for stratum in (0, 1):
        for row in (0, 1):
            both = sum(rows.loc[("swap-aware", f"theta({stratum}, {row}, {column})"), "mean"] for column in (0, 1))
            assert both == pytest.approx((sum(tables[stratum][row]) + 2) / 50, abs=1e-12)
    common = rows.loc[("swap-aware", "common log phi")]
    assert common["status"] == "approximate"
    law = common_odds_ratio(tables, rate=0.2)
    assert law.cdf([common["lower"], common["upper"]]) == pytest.approx([0.025, 0.975], abs=1e-9)
    small = numbers(scenario.table(table=[[1, 0], [0, 1]], rate=0.2, rng=stream(7, "s")))
    assert small.loc[("privacy", "loss of one exchange, theorem"), "mean"] == pytest.approx(2 * np.log(3 * 4))
    # the largest stratum has 24 records, o = 1/4
    assert rows.loc[("privacy", "loss of one exchange, theorem"), "mean"] == pytest.approx(2 * np.log(25 * 4))


def test_a_certain_association_of_many_records_is_certain():
    rows = numbers(scenario.table(table=[[3000, 1000], [1000, 3000]], rate=0.1, rng=stream(7, "s")))
    assert rows.loc[("swap-aware", "P(phi > 1)"), "mean"] == 1  # log phi is 2.5 +- 0.06


def test_large_tables_run_chains_and_say_so():
    table = [[12, 3, 5, 6], [4, 9, 8, 7], [3, 3, 9, 9], [2, 3, 4, 5]]
    found = scenario.table(table=table, rate=0.1, rng=stream(7, "s"))
    rows = numbers(found)
    state = set(rows.loc["swap-aware", "status"])
    assert state <= {"converged", "not converged"}
    assert rows.loc[("swap-aware", "theta(0, 0)"), "note"].endswith("of 1.01")
    assert not found["statistic"].eq(scenario.DENSITY).any()
    words = figures.scenario(found).get_suptitle()
    assert state.pop() in words
    assert "95%" in words


def test_a_rehearsal_says_what_it_is_everywhere():
    found = scenario.table(rehearsal={"table": [[30, 10], [15, 45]]}, rate=0.3, rng=stream(7, "s"))
    rows = numbers(found)
    assert scenario_case.REHEARSAL == "rehearsal: the noise can be repeated by anyone; not a release"
    assert scenario_case.REHEARSAL in rows.loc[("swap-aware", "theta(0, 0)"), "note"]
    assert "worth 4 records beside 100" in rows.loc[("swap-aware", "theta(0, 0)"), "note"]
    assert rows.loc[("made up", "theta(1, 1)"), "mean"] == 0.45
    assert scenario_case.REHEARSAL in figures.scenario(found).get_suptitle().replace("\n", " ")
    again = scenario.table(rehearsal={"table": [[30, 10], [15, 45]]}, rate=0.3, rng=stream(7, "s"))
    assert found.equals(again)


@pytest.fixture
def release(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    lines = [f"{i:03d},{i % 2},{'own' if i % 3 else 'rent'},{'a' if i % 5 < 2 else 'b'}\n" for i in range(80)]
    (tmp_path / "confidential" / "people.csv").write_text("id,block,tenure,group\n" + "".join(lines))
    settings = {"mechanism": "swap", "data": "confidential/people.csv", "swap": "tenure", "match": "block", "rate": 0.3}
    return open_release(room.make("people", settings, root=tmp_path))


def test_a_release_gives_rate_strata_and_tables(release):
    found = scenario_case.case(
        release=release,
        table=None,
        strata=None,
        rehearsal=None,
        rate=None,
        swapped=None,
        held=["group"],
        rng=stream(7, "s"),
    )
    assert (found.rate, found.strata, found.rows, found.columns) == (0.3, ("0", "1"), ("own", "rent"), ("a", "b"))
    columns = [release.table.texts(name) for name in ("block", "tenure", "group")]
    for place in np.ndindex(2, 2, 2):
        names = (found.strata[place[0]], found.rows[place[1]], found.columns[place[2]])
        assert found.counts[place] == sum(record == names for record in zip(*columns, strict=True))
    assert found.largest == 40
    rows = numbers(scenario.table(release=release, held=["group"], rng=stream(7, "s")))
    assert (
        "release people, generation 1; permutation swapping at rate 0.3 in 2 strata"
        in (rows.loc[("swap-aware", "theta(0, own, a)"), "note"])
    )
    assert rows.loc[("privacy", "loss of one exchange, theorem"), "mean"] == release.record["cost"]["epsilon"]
    assert rows.loc[("privacy", "loss of one exchange, theorem"), "mean"] == 2 * accounting.epsilon(40, rate=0.3)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"held": ["tenure"]}, "held must name held columns of the release"),
        ({"held": ["group"], "swapped": ["id"]}, "swapped must name swapped columns"),
        ({"held": ["id"]}, "must have 2 to 50 different values in the release, got 80"),
    ],
)
def test_columns_that_do_not_fit_a_release_are_refused(release, chosen, message):
    with pytest.raises(ValueError, match=message):
        scenario.table(release=release, **chosen, rng=stream(7, "s"))


def test_a_release_of_another_mechanism_is_refused(release):
    release.record["mechanism"] = "discrete_laplace"
    with pytest.raises(ValueError, match="must be one of the mechanism swap, people states discrete_laplace"):
        scenario.table(release=release, held=["group"], rng=stream(7, "s"))


def test_the_exact_posterior_is_that_of_the_library():
    rows = numbers(scenario.table(table=[[9, 4], [6, 11]], rate=0.4, alpha=[1, 2, 3, 4], level=0.8, rng=stream(7, "s")))
    law = swapped_table.exact([[9, 4], [6, 11]], rate=0.4, alpha=[1, 2, 3, 4]).summary(0.8).set_index("quantity")
    for name in ("theta(0, 1)", "theta(1, 1)"):
        mine = rows.loc[("swap-aware", name), ["mean", "sd", "lower", "upper", "level"]]
        assert mine.tolist() == pytest.approx(
            law.loc[name, ["mean", "sd", "lower", "upper", "level"]].tolist(), rel=1e-9
        )


def test_figures_are_drawn():
    for given in ({"table": SLIDES}, {"strata": [SLIDES, SLIDES]}, {"table": [[1, 0, 2], [1, 2, 0]]}):
        assert isinstance(figures.scenario(scenario.table(**given, rate=0.2, rng=stream(7, "s"))), Figure)


def mistakes(section):
    try:
        config.check({"pan2023": {"scenarios": {"a": section}}}, SCHEMA, {"pan2023": validation.mistakes})
    except config.ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "section",
    [
        {"table": SLIDES, "rate": 0.1, "alpha": [1, 2, 3, 4]},
        {"strata": [SLIDES, SLIDES], "rate": 0.1},
        {"rehearsal": {"table": SLIDES}, "rate": 0.1},
        {"release": "people", "held": ["group"], "swapped": ["tenure"], "level": 0.9},
    ],
)
def test_good_scenarios_pass(section):
    assert mistakes(section) == ""


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"rate": 0.1}, "has none of them; true records get their swap under releases"),
        ({"rate": 0.1, "table": SLIDES, "strata": [SLIDES]}, "has table and strata"),
        ({"rate": 0.1, "data": "people.csv", "swap": ["sex"]}, "a.data: is not taken by a scenario: true records"),
        ({"rate": 0.1, "table": SLIDES, "match": ["sex"]}, "a.match: is not taken by a scenario"),
        ({"rate": 1.0, "table": SLIDES}, "must be < 1"),
        ({"rate": 0, "table": SLIDES}, "must be > 0"),
        ({"table": SLIDES}, "a.rate: is missing"),
        ({"release": "people"}, "a.held: is missing"),
        ({"release": "people", "held": ["group"], "rate": 0.1}, "a.rate: is not used with release"),
        ({"rate": 0.1, "table": SLIDES, "held": ["group"]}, "a.held: is not used with table"),
        ({"rate": 0.1, "rehearsal": {}}, "a.rehearsal: must have either table or strata"),
        ({"rate": 0.1, "table": [[1, 2], [3]]}, "minimum is 2"),
        ({"rate": 0.1, "table": [[1, 2], [3, 4, 5]]}, "all must have the same number"),
        ({"rate": 0.1, "strata": [SLIDES, [[1, 2, 3], [4, 5, 6]]]}, "same number of rows and of columns"),
        ({"rate": 0.1, "table": [[1.5, 2], [3, 4]]}, "1.5"),
        ({"rate": 0.1, "table": [[0, 0], [0, 0]]}, "has no records"),
        ({"rate": 0.1, "table": [[60_000, 0], [0, 60_000]]}, "too many; a scenario takes up to 100000"),
        ({"rate": 0.1, "table": [[1] * 15] * 15}, "225 cells are too many"),
        ({"rate": 0.1, "table": SLIDES, "alpha": [1, 2, 3, 4, 5]}, "5 entries for 4 cells"),
    ],
)
def test_bad_scenarios_are_named_before_any_job(section, message):
    assert message in mistakes(section)

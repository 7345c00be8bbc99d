"""Replace a sampler, a distribution, a mechanism or a table with a wrong version, and check which verdicts change."""

from dataclasses import dataclass

import pandas as pd
import pytest

from reproduction import paper
from reproduction.papers.wang2020.tests import sabotages as s
from reproduction.verdicts import agreement, drawn, in_process

pytestmark = pytest.mark.sabotage


@dataclass(frozen=True)
class Expected:
    """Expected effect of a deliberate error on the verdicts on the statements of the paper. The effect consists of the
    artefacts in which the verdicts on all printed numbers change, and of the prefixes of the names ``artefact: claim``
    of the claims whose verdicts change.
    """

    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


SABOTAGES: dict[str, tuple[s.Wrong, Expected]] = {
    "cauchy": (s.cauchy, Expected(words=("release_checks: law: noise", "release_checks: claim: released counts"))),
    "frozen": (s.frozen, Expected(words=("table_1: law", "table_3: law", "release_checks: law: noise"))),
    "every second again": (s.every_second_again, Expected(words=("release_checks: law: noise",))),
    "identity": (
        s.identity,
        Expected(words=("table_1: law", "table_3: claim: means are", "release_checks: claim: a count of 0 may")),
    ),
    "at least one": (s.at_least_one, Expected(words=("table_1: law", "table_1: claim: means at N_min"))),
    "one for all": (
        s.one_for_all,
        Expected(
            numbers=("table_1", "table_3"),
            words=(
                *("table_1: claim: variances at N_min", "table_1: claim: variances at large"),
                *("table_1: claim: algorithm 3 has much", "table_3: claim: algorithm 3 has the smallest"),
                *("table_1: claim: variances of algorithm 3", "table_1: claim: algorithm 2 does"),
            ),
        ),
    ),
    "noisy counts": (
        s.noisy_counts,
        Expected(("table_3",), ("table_3: claim: variances of algorithm 3", "release_checks: claim: released counts")),
    ),
    "ten times the noise": (
        s.doubled_noise,
        Expected(words=("release_checks: claim: a count of 0 is", "release_checks: claim: noise beyond")),
    ),
    "no noise": (s.no_noise, Expected(words=("release_checks: claim: noisy counts",))),
    "tied noise": (s.tied_noise, Expected(words=("release_checks: law: n* and n",))),
    "no mode": (s.no_mode, Expected(words=("release_checks: claim: Theorem 1",))),
    "biased moments": (
        s.biased_moments,
        Expected(
            ("table_1", "table_3"),
            ("table_1: claim: means are", "table_1: claim: variances of algorithms 1", "table_1: law", "table_3: law"),
        ),
    ),
    "swapped classes": (
        s.swapped_classes,
        Expected(("table_1", "table_3"), ("table_1: claim: algorithm 2 does", "table_3: claim: algorithm 2 does")),
    ),
    "better sums": (
        s.better_sums,
        Expected(
            words=tuple(
                f"{t}: claim: {c}" for t in ("table_1", "table_3") for c in ("independent and", "summed totals are")
            )
        ),
    ),
    "doubled first": (
        s.doubled_first,
        Expected(("table_1", "table_3"), ("table_3: claim: variances of algorithms 1",)),
    ),
    "shifted window": (
        s.shifted,
        Expected(
            words=(
                *("table_4: claim: the released", "table_4: claim: probable", "table_4: claim: all ten"),
                *("table_5: claim: the released", "table_5: claim: probable"),
            ),
        ),
    ),
    "no window": (s.no_window, Expected(numbers=("table_4",))),
    "swapped algorithms": (
        s.swapped_algorithms,
        Expected(
            ("table_4",),
            (
                *("table_4: claim: the ten", "table_5: claim: the first", "precision: claim: summed totals"),
                "precision: claim: the posterior of",
            ),
        ),
    ),
    "always algorithm 3": (
        s.always_third,
        Expected(
            words=(
                "precision: claim: algorithms 2 and 3",
                "precision: claim: algorithm 1 is similar to algorithm 2, the",
            )
        ),
    ),
    "dropped normaliser": (
        s.dropped_normaliser,
        Expected(words=("precision: claim: algorithm 1 is similar to algorithm 2, a",)),
    ),
    "half accounted": (s.half_accounted, Expected(numbers=("privacy",))),
    "unbiased zeros": (s.unbiased_zeros, Expected(words=("many_zeros: claim",))),
    "exchanged methods": (s.exchanged_methods, Expected(words=("comparison: claim",))),
    "crowded": (s.crowded, Expected(words=("figure_1: law",))),
    "not numbers": (s.not_numbers, Expected(("table_1", "table_3"), ("table_1: law", "precision: claim: summed"))),
}


@pytest.fixture(scope="module")
def honest() -> s.Tables:
    wanted = (*s.TABLES, "releases", "exact_moments", "tie_rules")
    return in_process.tables_of(s.SLUG, s.SIZES, only=wanted)


@pytest.fixture(scope="module")
def judge(honest) -> in_process.Judge:
    return in_process.Judge(s.SLUG, honest)


@pytest.fixture(scope="module")
def judged(judge) -> "pd.Series[str]":
    """Return the verdicts on the checked statements, computed with the unmodified code. Stricter interpretations of
    statements and additional facts are included (kinds ``stricter`` and ``fact`` in ``published.tsv``).
    """
    published = agreement.read_published(paper.discover()[s.SLUG].folder / "published.tsv")
    kinds = published.set_index(["artefact", "quantity"])["kind"]
    verdicts = judge.verdicts
    return verdicts[kinds.reindex(verdicts.index).isin((*agreement.JUDGED, "stricter", "fact"))]


@pytest.fixture(scope="module")
def flips(honest, judge, judged) -> dict[str, list[str]]:
    """Return a mapping from each deliberate error to the statements (``artefact: quantity``) whose verdicts change."""
    found = {}
    for name, (wrong, _) in SABOTAGES.items():
        with pytest.MonkeyPatch.context() as patch:
            tables = wrong(patch, dict(honest))
            verdicts = judge(tables).reindex(judged.index)
        found[name] = [f"{a}: {q}" for a, q in judged.index[(verdicts != judged).to_numpy()]]
    return found


def test_the_honest_run_reproduces_all_but_what_the_errata_name(judged):
    assert set(judged) == {"reproduced", "reproduced_by_slip", "differs"}
    assert (judged == "differs").sum() == 7  # errata 8 (two claims), 11, 13 (two) and 14 (two)


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotage_flips_the_verdicts_it_must(name, flips, judged):
    expected = SABOTAGES[name][1]
    assert flips[name]
    for artefact in expected.numbers:
        numbers = [f"{a}: {q}" for a, q in judged.index if a == artefact and not q.startswith(("claim", "law"))]
        assert numbers
        assert set(numbers) <= set(flips[name]), f"{name}: numbers of {artefact} stay"
    for words in expected.words:
        meant = [f"{a}: {q}" for a, q in judged.index if f"{a}: {q}".startswith(words)]
        assert meant, words
        assert set(meant) <= set(flips[name]), f"{name}: {words} stays"


def test_every_judged_statement_can_fail(flips, judged):
    flipped = {statement for name, found in flips.items() if name != "not numbers" for statement in found}
    published = agreement.read_published(paper.discover()[s.SLUG].folder / "published.tsv")
    due = published[published["kind"].isin(agreement.JUDGED)]
    assert {f"{row.artefact}: {row.quantity}" for row in due.itertuples()} - flipped == set()


def test_what_is_drawn_is_judged(honest):
    assert list(drawn.unjudged(paper.discover()[s.SLUG], honest, s.SIZES)) == []


def test_not_a_number_never_passes(honest, judge, judged):
    verdicts = judge(s.not_numbers(None, honest)).reindex(judged.index)
    numbers = [key for key in judged.index if key[0] in ("table_1", "table_3", "comparison", "precision")]
    assert set(verdicts[numbers]) == {"differs"}

"""Sabotages that are in no test, two a paper: ``ad_hoc.tsv`` beside this file says which verdicts they flip.

Each puts something wrong in the place of a sampler, a law, a posterior or a mechanism, at the sizes of the paper's own
tests of sabotage, and makes the tables it touches anew. They were thought of after those tests had been written.
"""

import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

TREE = Path(__file__).parents[2]
TABLE = TREE / "tests/mutants/ad_hoc.tsv"
PAPERS = "reproduction.papers"
LIBRARY = "dpmultinomial"
COLUMNS = ("paper", "what was broken", "judged rows", "flipped", "the first of them")


@dataclass(frozen=True)
class Sabotage:
    """`wrong` makes, of what stands at `place` (``module:attribute``), what takes its place; `anew`: tables."""

    paper: str
    words: str
    place: str
    wrong: Callable[[Any], Any]
    anew: tuple[str, ...]


def exchanged(right: Any) -> Any:
    """Of the first two counts."""
    return lambda noisy, **rest: right(np.asarray(noisy)[[1, 0, 2]], **rest)


def without_jacobian(right: Any) -> Any:
    """Nodes of the unit square in place of the simplex."""

    def nodes() -> Any:
        r, p, weights = right()
        return r, p, weights / (1 - p[:, 2]) / (weights / (1 - p[:, 2])).sum()

    return nodes


def other(**changes: Any) -> Callable[[Any], Any]:
    """A function that is given other settings."""
    return lambda right: lambda *given, **rest: right(*given, **(rest | changes))


def half_the_rate(right: Any) -> Any:
    return lambda *given, rate, **rest: right(*given, rate=rate / 2, **rest)


def shifted_cells(right: Any) -> Any:
    """Releases whose cells stand one place on."""
    return lambda *given, **rest: np.roll(right(*given, **rest), 1, axis=-1)


def a_fifth_less(right: Any) -> Any:
    return lambda self, counts: 0.8 * right(self, counts)


def more_records(right: Any) -> Any:
    return lambda target, **rest: right(target, **(rest | {"count": rest["count"] + 20}))


def normal_noise(right: Any) -> Any:
    """Of the variance of the Laplace noise."""

    def release(self: Any, x: Any, *, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Any:
        return self.of(x) + 2**0.5 * sensitivity / epsilon * rng.standard_normal(4)

    return release


def rounded_up(right: Any) -> Any:
    """Every released count is at least the true one, every second time."""

    def release_all(counts: Any, **rest: Any) -> Any:
        found = right(counts, **rest).copy()
        found[:, ::2] = np.maximum(found[:, ::2], np.asarray(counts))
        return found

    return release_all


def exchanged_pair(right: Any) -> Any:
    return lambda released, **rest: right(released[::-1], **rest)


SABOTAGES = (
    Sabotage(
        "balmat2018",
        "the exact posterior exchanges the first two counts",
        f"{LIBRARY}._posteriors.counts.laplace_multinomial:exact",
        exchanged,
        ("figure_1_laws", "figure_1_moments", "equation_3"),
    ),
    Sabotage(
        "balmat2018",
        "the quadrature over p forgets the Jacobian 1 - pe",
        f"{PAPERS}.balmat2018.joint:simplex_nodes",
        without_jacobian,
        ("equation_3",),
    ),
    Sabotage(
        "pan2023",
        "tables are swapped at half the rate",
        f"{LIBRARY}._mechanisms.swapping.swap_draws:tables",
        half_the_rate,
        ("phi_density", "phi_draws", "closer_or_farther"),
    ),
    Sabotage(
        "pan2023",
        "the exact posterior forgets nearly all of the swap",
        f"{LIBRARY}._posteriors.swapping.swapped_table:exact",
        other(rate=0.001),
        ("abc_posterior", "abc_checks", "log_phi", "posterior_summary"),
    ),
    Sabotage(
        "ponnoprat2022",
        "released cells stand one place on",
        f"{LIBRARY}._models.private_blocks:release",
        shifted_cells,
        ("release_laws",),
    ),
    Sabotage(
        "ponnoprat2022",
        "the expected divergence is a fifth too small",
        f"{LIBRARY}._mechanisms.dirichlet:Dirichlet.expected_kl",
        a_fifth_less,
        ("figure_3_bottom", "figure_8", "release_laws"),
    ),
    Sabotage(
        "raim2021",
        "the sampler's weights are made for twenty records more",
        f"{PAPERS}.raim2021.draws:weight",
        more_records,
        ("xi_mean", "xi_sse", "sampler_accuracy"),
    ),
    Sabotage(
        "raim2021",
        "normal noise of the same variance in the release",
        f"{LIBRARY}._mechanisms.sufficient_statistics:CensoredStatistics.release",
        normal_noise,
        ("privacy_loss",),
    ),
    Sabotage(
        "wang2020",
        "every second release is nowhere below the truth",
        f"{LIBRARY}._mechanisms.additive.additive_counts:release_all",
        rounded_up,
        ("releases", "release_checks", "table_1", "table_3", "tie_rules", "tie_fit"),
    ),
    Sabotage(
        "wang2020",
        "posteriors of the pair with its counts exchanged",
        f"{LIBRARY}._posteriors.additive.additive_counts:posterior",
        exchanged_pair,
        ("table_4", "table_5", "precision"),
    ),
)


def honest_tables(paper: str) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Sizes and honest tables of the paper's own tests of sabotage."""
    from reproduction.verdicts import in_process

    sys.path.insert(0, str(TREE))
    folder = TREE / "src/reproduction/papers" / paper / "tests"
    sys.path.insert(0, str(folder))
    tests = import_module(f"{PAPERS}.{paper}.tests.{'sabotages' if paper == 'wang2020' else 'test_sabotage'}")
    if paper == "balmat2018":
        times = import_module(f"{PAPERS}.{paper}.tests.sabotage_times")
        known = {"r_timings": times.in_r(), **times.here()}
        return tests.SIZES, in_process.tables_of(paper, tests.SIZES, only=tests.JUDGED_FROM, made=known) | times.here()
    if paper == "ponnoprat2022":
        stand_ins = import_module("stand_ins")
        return tests.SIZES, tests.made(tests.CLOSED) | stand_ins.experiments() | {"table_1": stand_ins.table_1()}
    if paper == "wang2020":
        wanted = (*tests.TABLES, "releases", "exact_moments", "tie_rules")
        return tests.SIZES, in_process.tables_of(paper, tests.SIZES, only=wanted)
    sizes = tests.SETTINGS if paper == "pan2023" else tests.SIZES
    return sizes, in_process.tables_of(paper, sizes, only=tests.USED if paper == "pan2023" else tests.WANTED)


def flips(sabotage: Sabotage, sizes: dict[str, Any], honest: dict[str, pd.DataFrame]) -> list[str]:
    """Judged statements whose verdict changes."""
    from reproduction.verdicts import in_process

    before = in_process.verdicts(sabotage.paper, honest)
    module, _, name = sabotage.place.partition(":")
    *path, attribute = name.split(".")
    place = import_module(module)
    for part in path:
        place = getattr(place, part)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, attribute, sabotage.wrong(getattr(place, attribute)))
        kept = {key: table for key, table in honest.items() if key not in sabotage.anew}
        anew = in_process.tables_of(sabotage.paper, sizes, only=sabotage.anew, made=kept)
        after = in_process.verdicts(sabotage.paper, honest | anew)
    rows = [key for key in before.index if before[key] != after[key] and key in judged(sabotage.paper)]
    return [f"{artefact}: {quantity}" for artefact, quantity in rows]


def judged(paper: str) -> set[Any]:
    """(artefact, quantity) of what counts as reproduced or not."""
    from reproduction.verdicts import agreement

    published = agreement.read_published(TREE / "src/reproduction/papers" / paper / "published.tsv")
    nothing = (published["kind"] == "number") & published["value"].isna()
    wanted = published[published["kind"].isin(agreement.JUDGED) & ~nothing]
    return set(map(tuple, wanted[["artefact", "quantity"]].to_numpy()))


def main(wanted: list[str]) -> int:
    """Try all, or those of the papers named, and keep the table as it grows; exit code 1 if one flips nothing."""
    known, made = _known(), {}
    for one in (s for s in SABOTAGES if not wanted or s.paper in wanted):
        if one.paper not in made:
            made = {one.paper: honest_tables(one.paper)}
        found = flips(one, *made[one.paper])
        counts = [str(len(judged(one.paper))), str(len(found))]
        known[one.paper, one.words] = [one.paper, one.words, *counts, "; ".join(found[:2])]
        print(*known[one.paper, one.words], sep="\t", flush=True)
        with TABLE.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
            writer.writerows([COLUMNS, *(known[s.paper, s.words] for s in SABOTAGES if (s.paper, s.words) in known)])
    return int(any(row[3] == "0" for row in known.values()))


def _known() -> dict[tuple[str, str], list[str]]:
    """Rows of the table as it stands."""
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="", encoding="utf-8") as stream:
        return {(row[0], row[1]): row for row in list(csv.reader(stream, delimiter="\t"))[1:]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

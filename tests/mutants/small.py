"""Small sabotages, of 2 to 10 %, that are in no test: ``small.tsv`` beside this file says which verdicts notice.

Tables that hold the laws have the sizes of a full run, the others those of the papers' own tests.
"""

import csv
import sys
from collections.abc import Callable
from typing import Any

import ad_hoc
import numpy as np
from ad_hoc import LIBRARY, PAPERS, Sabotage

TABLE = ad_hoc.TABLE.with_name("small.tsv")
FULL: dict[str, tuple[str, ...]] = {  # sections at their defaults
    "balmat2018": ("figure_1_laws",),
    "pan2023": ("algorithm", "phi_draws"),
    "ponnoprat2022": ("release_laws",),
    "raim2021": ("privacy_loss", "sampler_accuracy", "other_noises", "xi_mean", "xi_sse"),
    "wang2020": ("release_checks",),
}
SIZES = ("exact_draws", "runs", "swaps", "tables", "draws", "size")  # what is at its default there
Wrong = Callable[[Any], Any]


def given(name: str, factor: float) -> Wrong:
    """The argument `name`, by keyword, times `factor`."""
    return lambda right: lambda *a, **k: right(*a, **(k | {name: factor * np.asarray(k[name])[()]}))


def result(factor: float) -> Wrong:
    """What it returns, times `factor`."""
    return lambda right: lambda *a, **k: factor * right(*a, **k)


def second(factor: float) -> Wrong:
    """The second argument by place, times `factor`."""
    return lambda right: lambda a, b, *more, **k: right(a, factor * b, *more, **k)


def first(factor: float) -> Wrong:
    """The first argument, times `factor`."""
    return lambda right: lambda a, *more, **k: right(factor * np.asarray(a, dtype=float), *more, **k)


def repeated(rows: Any, share: float) -> Any:
    """Of the rows a share repeats the one before."""
    found, every = np.array(rows), round(1 / share)
    later = found[every - 1 :: every]
    found[every - 1 :: every] = found[every - 2 :: every][: len(later)]
    return found


def each_again(share: float) -> Wrong:
    """`repeated`, of every array returned."""
    return lambda right: lambda *a, **k: np.array([repeated(rows, share) for rows in right(*a, **k)])


def draws_again(right: Any) -> Any:
    """One draw of twenty is the one before."""

    def sampled(self: Any, size: int, *, rng: np.random.Generator) -> Any:
        x, *rest = right(self, size, rng=rng)
        return repeated(x, 0.05), *rest

    return sampled


def fewer_digits(right: Any) -> Any:
    """The first of what is returned, 2 % smaller."""
    return lambda *a, **k: (lambda digits, *rest: (0.98 * np.asarray(digits), *rest))(*right(*a, **k))


def more_prior(right: Any) -> Any:
    return lambda self, number: right(type(self)(self.law, self.scale, 1.05 * self.alpha), number)


POSTERIOR = f"{LIBRARY}._posteriors.counts.laplace_multinomial"
SWAP, ADDITIVE = f"{LIBRARY}._mechanisms.swapping.swap_draws", f"{LIBRARY}._mechanisms.additive.additive_counts"
BASES = f"{LIBRARY}._posteriors.censored.direct_sampling"
SAMPLER = f"{LIBRARY}._posteriors.censored.direct_sampling:DirectSampler"
RELEASE = f"{LIBRARY}._mechanisms.sufficient_statistics:CensoredStatistics"
BLOCKS = f"{LIBRARY}._models.private_blocks:release"
_LAWS, _ABC = ("figure_1_laws",), ("abc_posterior", "abc_checks", "log_phi", "posterior_summary")
_DRAWS, _PAIRS = ("xi_mean", "xi_sse", "sampler_accuracy"), ("table_4", "table_5", "precision")
_RELEASES = ("releases", "release_checks", "table_1", "table_3", "tie_rules", "tie_fit")


def _of(paper: str, *rows: tuple[str, str, Wrong, tuple[str, ...]]) -> list[Sabotage]:
    return [Sabotage(paper, words, place, wrong, anew) for words, place, wrong, anew in rows]


SABOTAGES = [
    *_of(
        "balmat2018",
        ("exact draws at 2 % more noise", f"{POSTERIOR}:exact", given("scale", 1.02), _LAWS),
        ("exact draws at 5 % more noise", f"{POSTERIOR}:exact", given("scale", 1.05), _LAWS),
        ("exact draws at 5 % more prior", f"{POSTERIOR}:exact", given("alpha", 1.05), _LAWS),
        ("exact draws at 2 % less noise", f"{POSTERIOR}:exact", given("scale", 0.98), _LAWS),
        ("chains at 5 % more noise", f"{POSTERIOR}:gibbs", given("scale", 1.05), _LAWS),
        ("chains at 10 % more noise", f"{POSTERIOR}:gibbs", given("scale", 1.1), _LAWS),
        ("chains at 10 % more prior", f"{POSTERIOR}:gibbs", given("alpha", 1.1), _LAWS),
        ("the drawn curve at 2 % more noise", f"{POSTERIOR}:exact", given("scale", 1.02), ("figure_1",)),
        ("closed form at 2 % more noise", f"{POSTERIOR}:exact", given("scale", 1.02), ("equation_3",)),
        ("2 % fewer digits", f"{PAPERS}.balmat2018.products:fewest_digits", fewer_digits, ("figure_2",)),
    ),
    *_of(
        "pan2023",
        ("swaps at a rate 2 % larger", f"{SWAP}:tables", given("rate", 1.02), ("phi_draws",)),
        ("swaps at a rate 5 % larger", f"{SWAP}:tables", given("rate", 1.05), ("phi_draws",)),
        ("records selected 2 % more", f"{SWAP}:sources", given("rate", 1.02), ("algorithm",)),
        ("records selected 5 % less", f"{SWAP}:sources", given("rate", 0.95), ("algorithm",)),
        ("draws at 5 % more prior", f"{LIBRARY}._kernels.dirichlet:draw", first(1.05), ("posterior_summary",)),
        ("the exact posterior at a rate 10 % larger", f"{LIBRARY}._posteriors.swapping.swapped_table:exact",
         given("rate", 1.1), _ABC),
        ("the sampler at a rate 10 % larger", f"{LIBRARY}._posteriors.swapping.unswapping:abc", given("rate", 1.1),
         _ABC),
        ("the limit of phi 2 % larger", f"{LIBRARY}._mechanisms.swapping.swapping:limit_odds_ratio", result(1.02),
         ("phi_density", "phi_by_rate")),
        ("epsilon 2 % smaller", f"{LIBRARY}._accounting.swapping:epsilon", result(0.98), ("privacy_loss",)),
        ("exact epsilon 2 % larger", f"{LIBRARY}._accounting.swapping:exact_epsilon", result(1.02), ("privacy_loss",)),
    ),
    *_of(
        "ponnoprat2022",
        ("noise and counts 2 % smaller", BLOCKS, given("scale", 0.98), ("release_laws",)),
        ("noise and counts 5 % larger", BLOCKS, given("scale", 1.05), ("release_laws",)),
        ("the prior 5 % larger", f"{LIBRARY}._models.calibrated_noise:Noise.repeated",
         more_prior, ("release_laws",)),
        ("the guarantee 2 % smaller", f"{LIBRARY}._accounting.renyi:dirichlet_bound", result(0.98), ("figure_3_top",)),
        ("the worst case 2 % larger", f"{LIBRARY}._accounting.renyi:dirichlet_worst_case", result(1.02),
         ("figure_3_top",)),
        ("what equation 14 adds 2 % smaller", f"{LIBRARY}._accounting.composition:floor", result(0.98), ("figure_8",)),
        ("the expected divergence 2 % larger", f"{LIBRARY}._mechanisms.dirichlet:Dirichlet.expected_kl", result(1.02),
         ("figure_3_bottom", "release_laws")),
        ("delta of Gohari et al. 5 % larger", f"{PAPERS}.ponnoprat2022.algorithms.gohari:delta", result(1.05),
         ("figure_2",)),
        ("beta of Theorem 2 5 % larger", f"{PAPERS}.ponnoprat2022.theorem_2:least_beta", result(1.05), ("theorem_2",)),
        ("Dirichlet r calibrated 5 % larger", f"{LIBRARY}._mechanisms.dirichlet:calibrate",
         lambda right: lambda *a, **k: (1.05 * right(*a, **k)[0], right(*a, **k)[1]), ("figure_3_bottom", "audits")),
    ),
    *_of(
        "raim2021",
        ("noise of a release 2 % smaller", f"{RELEASE}.release", given("epsilon", 1.02), ("privacy_loss",)),
        ("noise of a release 5 % larger", f"{RELEASE}.release", given("epsilon", 0.95), ("privacy_loss",)),
        ("sensitivity 2 % smaller", f"{RELEASE}.sensitivity", result(0.98), ("sensitivity",)),
        ("the exact law at 5 % more noise", f"{PAPERS}.raim2021.draws:exact", second(1.05), _DRAWS),
        ("the base of the draws 5 % wider", f"{BASES}:LaplaceBase.__init__", second(1.05),
         _DRAWS),
        ("Gaussian noise 5 % wider", f"{BASES}:GaussianBase.__init__", second(1.05),
         ("other_noises",)),
        ("P(A_u) 2 % larger in logs", f"{SAMPLER}.log_area", result(0.98), ("descent", "step_functions")),
        ("the weights' sigma2 5 % larger", f"{PAPERS}.raim2021.draws:weight", given("sigma2", 1.05), _DRAWS),
        ("P(x) of the slides 2 % larger", f"{PAPERS}.raim2021.printed:laplace_cdf", result(1.02), ("formulas",)),
        ("one draw of 20 is the one before", f"{SAMPLER}.sample_counted",
         draws_again, _DRAWS),
    ),
    *_of(
        "wang2020",
        ("releases at epsilon 2 % larger", f"{ADDITIVE}:release_all", given("epsilon", 1.02), _RELEASES),
        ("releases at epsilon 5 % smaller", f"{ADDITIVE}:release_all", given("epsilon", 0.95), _RELEASES),
        ("releases at epsilon 10 % larger", f"{ADDITIVE}:release_all", given("epsilon", 1.1), _RELEASES),
        ("pair posterior at epsilon 2 % larger", f"{LIBRARY}._posteriors.additive.additive_counts:posterior",
         given("epsilon", 1.02), _PAIRS),
        ("pair posterior at epsilon 5 % larger", f"{LIBRARY}._posteriors.additive.additive_counts:posterior",
         given("epsilon", 1.05), _PAIRS),
        ("pair posterior at epsilon 5 % smaller", f"{LIBRARY}._posteriors.additive.additive_counts:posterior",
         given("epsilon", 0.95), _PAIRS),
        ("exact moments at epsilon 2 % larger", f"{PAPERS}.wang2020.algorithms.release_moments:moments",
         given("epsilon", 1.02), ("exact_moments", "table_1", "table_3", "tie_rules", "tie_fit", "many_zeros")),
        ("exact moments at epsilon 5 % larger", f"{PAPERS}.wang2020.algorithms.release_moments:moments",
         given("epsilon", 1.05), ("exact_moments", "table_1", "table_3", "tie_rules", "tie_fit", "many_zeros")),
        ("one release of 20 is the one before", f"{ADDITIVE}:release_all",
         each_again(0.05), _RELEASES),
        ("one release of 10 is the one before", f"{ADDITIVE}:release_all",
         each_again(0.1), _RELEASES),
    ),
]  # fmt: skip


def at_full_size(paper: str, sizes: dict[str, Any], honest: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sizes and honest tables, those of `FULL` by the defaults of the package."""
    from reproduction.paper import discover
    from reproduction.verdicts import in_process

    sections, changes = discover()[paper].settings["sections"], {}
    for name in FULL[paper]:
        wanted = {
            key: about for key, about in sections[name]["properties"].items() if key in SIZES and "default" in about
        }
        stated = {key: about["default"] for key, about in wanted.items()}
        changes[name] = {**sizes.get(name, {}), **stated}
    larger = {**sizes, **changes}
    kept = {key: table for key, table in honest.items() if key not in FULL[paper]}
    return larger, honest | in_process.tables_of(paper, larger, only=FULL[paper], made=kept)


def main(wanted: list[str]) -> int:
    """Try all, or those of the papers named, ``--untried``: those not yet in the table, which has what was tried."""
    rows: list[list[str]] = []
    seen = {(row[0], row[1]) for row in _known()} if "--untried" in wanted else set()
    papers = [name for name in wanted if name in FULL] or list(FULL)
    for paper in papers:
        trials = [one for one in SABOTAGES if one.paper == paper and (paper, one.words) not in seen]
        if not trials:
            continue
        made = at_full_size(paper, *ad_hoc.honest_tables(paper))
        for one in trials:
            rows.append([paper, one.words, str(len(ad_hoc.judged(paper))), *_tried(one, made)])
            print(*rows[-1], sep="\t", flush=True)
    known = {(row[0], row[1]): row for row in [*_known(), *rows]}
    with TABLE.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        tried = (known[s.paper, s.words] for s in SABOTAGES if (s.paper, s.words) in known)
        writer.writerows([ad_hoc.COLUMNS, *tried])
    return 0


def _tried(one: Sabotage, made: tuple[dict[str, Any], dict[str, Any]]) -> tuple[str, str]:
    """How many verdicts turn, and the first of them; a run that stops with an error has noticed too."""
    try:
        found = ad_hoc.flips(one, *made)
    except (ValueError, ArithmeticError, AssertionError, RuntimeError) as error:
        return "stops", f"{type(error).__name__}: {str(error)[:100]}"
    return str(len(found)), "; ".join(found[:2])


def _known() -> list[list[str]]:
    if not TABLE.exists():
        return []
    with TABLE.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream, delimiter="\t"))[1:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

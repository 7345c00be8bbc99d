"""python tests/mutants/sabotages.py [PAPER ..]: verdicts that detect errors which no test contains.

``sabotages.tsv`` in this folder lists which function is replaced by a wrong one (``module:attribute``), how, and which
tables are recomputed; this program fills in the number of judged rows, how many verdicts change, and the first two.
`large` errors have the sizes in the paper's own sabotage tests. For `small` errors, of 2 to 10 %, the tables of
distributions have the sizes of a full run. The exit code is 1 if a large error does not change any verdict.

Changes: ``NAME * FACTOR`` and ``NAME = VALUE`` of a keyword argument, ``argument N * FACTOR``, ``result * FACTOR``,
``repeats * SHARE`` (this share of the rows of all arrays equals the row before), or the name of a function below.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import mutants
import numpy as np
import pandas as pd
import pytest
from mutants import PAPERS, ROOT

TABLE = Path(__file__).with_name("sabotages.tsv")
FULL: dict[str, tuple[str, ...]] = {  # tables of distributions
    "balmat2018": ("figure_1_laws",),
    "pan2023": ("algorithm", "phi_draws"),
    "ponnoprat2022": ("release_laws",),
    "raim2021": ("privacy_loss", "sampler_accuracy", "other_noises", "xi_mean", "xi_sse"),
    "wang2020": ("release_checks",),
}
SIZES = ("exact_draws", "runs", "swaps", "tables", "draws", "size")  # settings at their defaults in these tables
Sizes, Tables = dict[str, Any], dict[str, pd.DataFrame]


def repeated(rows: Any, share: float) -> Any:
    """Return the rows, with a share of them replaced by the row before."""
    found, every = np.array(rows), round(1 / share)
    later = found[every - 1 :: every]
    found[every - 1 :: every] = found[every - 2 :: every][: len(later)]
    return found


def exchanged(right: Any) -> Any:
    return lambda noisy, **rest: right(np.asarray(noisy)[[1, 0, 2]], **rest)


def exchanged_pair(right: Any) -> Any:
    return lambda released, **rest: right(released[::-1], **rest)


def without_jacobian(right: Any) -> Any:
    def nodes() -> Any:
        r, p, weights = right()
        return r, p, weights / (1 - p[:, 2]) / (weights / (1 - p[:, 2])).sum()

    return nodes


def shifted_cells(right: Any) -> Any:
    return lambda *given, **rest: np.roll(right(*given, **rest), 1, axis=-1)


def more_records(right: Any) -> Any:
    return lambda target, **rest: right(target, **(rest | {"count": rest["count"] + 20}))


def normal_noise(right: Any) -> Any:
    def release(self: Any, x: Any, *, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Any:
        return self.of(x) + 2**0.5 * sensitivity / epsilon * rng.standard_normal(4)

    return release


def rounded_up(right: Any) -> Any:
    def release_all(counts: Any, **rest: Any) -> Any:
        found = right(counts, **rest).copy()
        found[:, ::2] = np.maximum(found[:, ::2], np.asarray(counts))
        return found

    return release_all


def draws_again(right: Any) -> Any:
    def sampled(self: Any, size: int, *, rng: np.random.Generator) -> Any:
        x, *rest = right(self, size, rng=rng)
        return repeated(x, 0.05), *rest

    return sampled


def fewer_digits(right: Any) -> Any:
    return lambda *a, **k: (lambda digits, *rest: (0.98 * np.asarray(digits), *rest))(*right(*a, **k))


def more_prior(right: Any) -> Any:
    return lambda self, number: right(type(self)(self.law, self.scale, 1.05 * self.alpha), number)


def larger_r(right: Any) -> Any:
    return lambda *a, **k: (lambda r, *rest: (1.05 * r, *rest))(*right(*a, **k))


def changed(change: str, right: Any) -> Callable[..., Any]:
    """Return the function `right` with a change."""
    if change.isidentifier():
        return globals()[change](right)
    name, sign, text = change.rpartition(" ")[0].rpartition(" ")[0], change.split(" ")[-2:][0], change.split(" ")[-1]
    if sign not in "*=":
        raise ValueError(f"unknown change {change!r}")
    factor = float(text)
    if name == "result":
        return lambda *a, **k: factor * right(*a, **k)
    if name == "repeats":
        return lambda *a, **k: np.array([repeated(rows, factor) for rows in right(*a, **k)])
    if name.startswith("argument "):
        at = int(name.split()[1]) - 1
        return lambda *a, **k: right(*a[:at], factor * np.asarray(a[at], dtype=float)[()], *a[at + 1 :], **k)
    return lambda *a, **k: right(*a, **(k | {name: factor if sign == "=" else factor * np.asarray(k[name])[()]}))


def honest(paper: str) -> tuple[Sizes, Tables]:
    """Return sizes and tables of the paper's own sabotage tests, without an error."""
    from reproduction.verdicts import in_process

    folder = f"reproduction.papers.{paper}.tests"
    sys.path.insert(0, str(PAPERS / paper / "tests"))
    tests = import_module(f"{folder}.{'sabotages' if paper == 'wang2020' else 'test_sabotage'}")
    if paper == "ponnoprat2022":
        stand_ins = import_module("stand_ins")
        return tests.SIZES, tests.made(tests.CLOSED) | stand_ins.experiments() | {"table_1": stand_ins.table_1()}
    sizes, known, wanted = getattr(tests, "SIZES", None), None, getattr(tests, "WANTED", None)
    if paper == "balmat2018":
        times = import_module(f"{folder}.sabotage_times")
        known, wanted = {"r_timings": times.in_r(), **times.here()}, tests.JUDGED_FROM
    elif paper == "wang2020":
        wanted = (*tests.TABLES, "releases", "exact_moments", "tie_rules")
    elif paper == "pan2023":
        sizes, wanted = tests.SETTINGS, tests.USED
    return sizes, in_process.tables_of(paper, sizes, only=wanted, made=known) | (known or {})


def at_full_size(paper: str, sizes: Sizes, tables: Tables) -> tuple[Sizes, Tables]:
    """Return sizes and tables, with the defaults of the package for those in `FULL`."""
    from reproduction.paper import discover
    from reproduction.verdicts import in_process

    sections, larger = discover()[paper].settings["sections"], dict(sizes)
    for name in FULL[paper]:
        stated = {key: about["default"] for key, about in sections[name]["properties"].items() if "default" in about}
        larger[name] = sizes.get(name, {}) | {key: value for key, value in stated.items() if key in SIZES}
    kept = {key: table for key, table in tables.items() if key not in FULL[paper]}
    return larger, tables | in_process.tables_of(paper, larger, only=FULL[paper], made=kept)


def judged(paper: str) -> set[Any]:
    """Return the (artefact, quantity) pairs that count as reproduced or not reproduced."""
    from reproduction.verdicts import agreement

    published = agreement.read_published(PAPERS / paper / "published.tsv")
    nothing = (published["kind"] == "number") & published["value"].isna()
    wanted = published[published["kind"].isin(agreement.JUDGED) & ~nothing]
    return set(map(tuple, wanted[["artefact", "quantity"]].to_numpy()))


def flips(row: dict[str, str], sizes: Sizes, tables: Tables) -> list[str]:
    """Return the judged statements whose verdicts change."""
    from reproduction.verdicts import in_process

    paper, anew = row["paper"], row["tables"].split()
    before = in_process.verdicts(paper, tables)
    module, _, name = row["place"].partition(":")
    *path, attribute = name.split(".")
    place: Any = import_module(module)
    for part in path:
        place = getattr(place, part)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, attribute, changed(row["change"], getattr(place, attribute)))
        kept = {key: table for key, table in tables.items() if key not in anew}
        made = in_process.tables_of(paper, sizes, only=anew, made=kept)
        after = in_process.verdicts(paper, tables | made)
    rows = [key for key in before.index if before[key] != after[key] and key in judged(paper)]
    return [f"{artefact}: {quantity}" for artefact, quantity in rows]


def main(wanted: list[str]) -> int:
    """Test all errors, or those of the named papers, and write the table as it is filled in."""
    sys.path.insert(0, str(ROOT))
    rows, made, missed = mutants.table(TABLE), {}, 0
    for row in sorted((r for r in rows if not wanted or r["paper"] in wanted), key=lambda r: (r["paper"], r["kind"])):
        key = row["paper"], row["kind"]
        if key not in made:
            made = (
                {key: honest(row["paper"])}
                if row["kind"] == "large"
                else {key: at_full_size(row["paper"], *made[row["paper"], "large"])}
            )
        try:
            found = flips(row, *made[key])
            count, shown = str(len(found)), "; ".join(found[:2])
        except (ValueError, ArithmeticError, AssertionError, RuntimeError) as error:  # a run that fails has detected it
            count, shown = "stops", f"{type(error).__name__}: {str(error)[:100]}"
        missed += count == "0" and row["kind"] == "large"
        row |= {
            "judged rows": str(len(judged(row["paper"]))),
            "changed verdicts": count,
            "first changed verdicts": shown,
        }
        print(row["kind"], row["paper"], row["error"], count, shown, sep="\t", flush=True)
        mutants.write(TABLE, tuple(rows[0]), [tuple(r.values()) for r in rows])
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

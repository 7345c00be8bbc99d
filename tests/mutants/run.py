"""make mutants [ARGS="--package NAME --count N --seed N"]: what the tests notice when the code is changed at random.

For every package: a seeded sample of mutations and all that are listed by hand, each applied in a copy of the tree and
run against the tests that cover its lines; ``build/mutants/<package>.<seed>.tsv`` and ``<package>.by-hand.tsv`` have a
row for each, ``rates.tsv`` beside this file a line a package and sample. Exit code 1 if a mutation listed by hand
survives, or more than a tenth of the sampled ones that are not equivalent. Packages: ``--list``.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import covering
import mutations
import packages
import trials

import results

SEED = 20180531
ENOUGH = 40.0  # CPU seconds of tests that run its lines that a mutant meets; of any others where it is listed by hand
A_LITTLE = 10.0  # and of others that run its module, for what a cache hides from coverage


def main() -> int:
    asked = _asked()
    found = packages.found()
    if asked.list:
        print("\n".join(f"{r.name:16} {len(r.modules):3} modules {len(r.tests):3} test files" for r in found.values()))
        return 0
    unknown = sorted(set(asked.package) - set(found))
    if unknown:
        raise SystemExit(f"no such package: {', '.join(unknown)}; there are {', '.join(found)}")
    build = packages.TREE / "build/mutants"
    build.mkdir(parents=True, exist_ok=True)
    trials.load_large()
    short = []
    with TemporaryDirectory() as folder:
        copy = trials.copied(packages.TREE, Path(folder))
        for name in asked.package or found:
            short += [] if results.enough(_run_package(found[name], copy, build, asked)) else [name]
    print(f"not enough killed: {', '.join(short)}" if short else "enough killed in every package")
    return int(bool(short))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--package", action="append", default=[], help="a package; may be given again; all by default")
    parser.add_argument("--count", type=int, help="mutants sampled in a package; the package's own number by default")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the sample; {SEED} by default")
    parser.add_argument("--sample-only", action="store_true", help="without those listed by hand")
    parser.add_argument("--matching", default="", help="only mutants whose module or changed line has this text")
    parser.add_argument("--again", action="store_true", help="only those that survived in this sample's last run")
    parser.add_argument("--list", action="store_true", help="name the packages and stop")
    return parser.parse_args()


def _run_package(package: packages.Package, copy: Path, build: Path, asked: argparse.Namespace) -> list[results.Row]:
    seen = covering.covered(copy, package.tests, package.modules, build)
    count = package.count if asked.count is None else asked.count
    chosen = [] if asked.sample_only else mutations.by_hand(packages.TREE, package.by_hand, package.modules)
    chosen += mutations.sampled(packages.TREE, package.modules, count, asked.seed)
    kept = {True: build / f"{package.name}.by-hand.tsv", False: build / f"{package.name}.{asked.seed}.tsv"}
    again = asked.again or asked.matching
    known = {row.key: row for path in kept.values() for row in results.read(path)} if again else {}
    rows: list[results.Row] = []
    for mutation in chosen:
        row = known.get((mutation.module, mutation.before, mutation.after))
        if row is None or (row.outcome != "killed" and asked.matching in f"{mutation.module} {mutation.before}"):
            row = _tried(package, mutation, copy, build, seen)
            print(f"{package.name}: {row.told()}", flush=True)
        rows.append(row)
        listed = row.operator == "by hand"
        results.write(kept[listed], [r for r in rows if (r.operator == "by hand") == listed])
    print(results.kept_rate(package.name, f"seed {asked.seed}{', with new tests' * asked.again}", rows), flush=True)
    return rows


def _tried(
    package: packages.Package, mutation: mutations.Mutation, copy: Path, build: Path, seen: covering.Covered
) -> results.Row:
    reason = results.equivalent(mutation.module, mutation.before, mutation.after)
    if reason:
        return results.row(package.name, mutation, "equivalent", reason, 0.0)
    near, price = seen.affordable(seen.near(mutation.module, mutation.lines), ENOUGH)
    by_hand = mutation.operator == "by hand"
    others = [t for t in (seen.all if by_hand else seen.far)(mutation.module) if t not in set(near)]
    far, further = seen.affordable(others, ENOUGH if by_hand else A_LITTLE)
    path, spent = copy / mutation.module, 0.0
    original, compiled = path.read_bytes(), list(path.parent.glob(f"__pycache__/{path.stem}.cpython-*.pyc"))
    for stale in compiled:
        stale.unlink()
    path.write_text(mutation.source, encoding="utf-8")
    sys.dont_write_bytecode = True
    try:
        for tests, cost in ((near, price), (far, further)):
            if tests:
                work = partial(trials.run_tests, tests)
                answer, seconds = trials.in_child(copy, work, 20 + 3 * cost, build / f"{package.name}.log")
                spent += seconds
                if answer is None:
                    return results.row(package.name, mutation, "timeout", "", spent)
                if answer["code"] != 0:
                    by = answer["failed"][0] if answer["failed"] else "it cannot be imported"
                    return results.row(package.name, mutation, "killed", by, spent)
    finally:
        path.write_bytes(original)
        sys.dont_write_bytecode = False
    return results.row(package.name, mutation, "survived", "" if near else "no test runs it", spent)


if __name__ == "__main__":
    sys.exit(main())

"""Check a noisy-counts scenario against the rules that the schema cannot express, and return its assumptions as
sentences.

The module is written in plain Python, because it runs before any kernel is compiled.

A file with a column `parent` must describe a tree in which at least one node was measured. Every row is either a
measurement of a node, or the name of a node without a measurement. Several rows with the same name are several
measurements of this node.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import ceil, exp, inf, log
from pathlib import Path
from typing import Any

from dpmultinomial._files import table_columns

from ...config import published_cells, question_rules
from ..sentences import LEAST_SQUARES, level_text, listed, sampled
from ..sentences import prior_of_counts as prior_text  # noqa: F401  # used by `sentences.assumptions`

Columns = Mapping[str, Sequence[str]] | None
SCALES = ("scale", "sd", "sigma", "variance")
LAWS = ("laplace", "discrete_laplace", "gaussian", "discrete_gaussian", "exact", "table", "random_rounding")
LARGEST_TOTAL = 1_000_000
FEWEST = 30  # smallest number of counts to which a prior is fitted, as in `published.priors`
MANY = 16  # from this number of counts on, a total without noise may be arbitrarily large
_NOISE = (
    "state the noise of the counts, with noise: {law: .., scale: ..} or with epsilon (dpm answer: --noise laplace "
    "--scale 2)"
)
_PRIORS = ("flat", "jeffreys", "1/(1+n)", "fitted")
_WITHOUT = (
    "without a total, the prior must be flat, 1/(1+n), fitted, or a distribution of the counts such as {law: "
    "geometric, mean: 10}"
)
_WITHHELD = "by a total or by a prior with a finite mean, such as {law: geometric, mean: 10}"
_WHOLE = ("discrete_laplace", "discrete_gaussian")


def names(settings: Mapping[str, Any], columns: Columns) -> list[str]:
    """Return the names of the counts as written by the user, or "1", "2", .. by default. The list is empty if a release
    defines the names.
    """
    if columns is not None:
        return list(columns["name"])
    written = settings.get("counts", (settings.get("rehearsal") or {}).get("counts", ()))
    if isinstance(written, Mapping):
        return [str(name) for name in written]
    return list(settings.get("names") or [str(i + 1) for i in range(len(written))])


def cells(settings: Mapping[str, Any], columns: Columns) -> list[published_cells.Cell]:
    """Return the number or the bounds that the settings or the file state for every count. A missing count has neither
    a number nor bounds. Raise ValueError for a cell without a meaning.
    """
    if columns is not None:
        return published_cells.parsed(columns["value"], settings)
    written = settings.get("counts", (settings.get("rehearsal") or {}).get("counts", ()))
    listed = list(written.values()) if isinstance(written, Mapping) else list(written)
    return [published_cells.meaning(one, settings) if isinstance(one, str) else (one, None) for one in listed]


def censored_rows(
    columns: Mapping[str, Any], words: Mapping[str, Any]
) -> tuple[dict[str, Any], list[float], list[float], str]:
    """Return the noise distribution and the bounds of the counts in a batch, in the format of
    `published_cells.censored`.

    Parameters
    ----------
    columns : columns of the tables, including `lower_bound` and `upper_bound` if there are counts without a number.
    words : noise as settings.

    Returns
    -------
    (words, lower, upper, mistake)
    """
    size = len(columns["value"])
    free = [0.0] * size, [inf] * size
    if "lower_bound" not in columns:
        return dict(words), *free, ""
    ends = zip(columns["lower_bound"].tolist(), columns["upper_bound"].tolist(), strict=True)
    bounds = [None if low == -inf and high == inf else (low, high) for low, high in ends]
    rows: list[published_cells.Cell] = [
        (None if number != number else number, pair) for number, pair in zip(columns["value"], bounds, strict=True)
    ]
    try:
        noise, limits = published_cells.censored(words, rows, [str(name) for name in columns.get("name", range(size))])
    except ValueError as error:
        return dict(words), *free, str(error)
    return noise, *(limits or free), ""


def values(settings: Mapping[str, Any], columns: Columns) -> list[float | None]:
    """Return the given counts, in which None represents a count that is not published as a number."""
    return [number for number, _ in cells(settings, columns)]


def withheld_below(settings: Mapping[str, Any]) -> float:
    """Return the limit below which noisy values were withheld, according to the key ``withheld``. The limit is -inf if
    there is none. Without noise, this key is only about the cells with its symbol.
    """
    exact = settings.get("noise") in ("exact", {"law": "exact"})
    return -inf if exact else float((settings.get("withheld") or {}).get("below", -inf))


def stated_scales(columns: Columns) -> list[str]:
    """Return the names of the columns in a file that contain noise parameters for each row."""
    return [c for c in SCALES if columns is not None and c in columns]


def noise(settings: Mapping[str, Any], columns: Columns, whole: bool) -> dict[str, Any]:
    """Return the noise distribution of a scenario as a dictionary of settings. A scale that is given by a column is
    omitted.

    Parameters
    ----------
    settings, columns : settings of the scenario and columns of its file.
    whole : whether all counts are integers, which determines the default noise distribution if only ``epsilon`` is
        given.
    """
    stated = settings.get("noise")
    if stated is None:
        law = "discrete_laplace" if whole else "laplace"
        spent = {key: settings[key] for key in ("epsilon",) if key in settings and not stated_scales(columns)}
        return {"law": law, **spent, **({"sensitivity": settings.get("sensitivity", 2.0)} if spent else {})}
    return {"law": stated} if isinstance(stated, str) else dict(stated)


def mistakes(settings: Mapping[str, Any], columns: Columns, batch: bool) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the settings of the scenario.

    Parameters
    ----------
    settings : settings of one point of the grid, with defaults.
    columns : columns of the file as strings; no columns for a batch, because its tables are checked one by one.
    batch : whether the scenario is a batch.
    """
    if "release" in settings:
        return  # the record of the release contains everything that is checked below
    by_row = stated_scales(columns)
    if len(by_row) > 1:
        yield ".file", f"must contain only one column that states the noise, got {' and '.join(by_row)}"
    yield from _noise(settings, columns, by_row)
    if wrong_cell := _wrong_cell(settings):
        yield ".counts", wrong_cell
        return
    for key in by_row:
        wrong = [(i + 1, text) for i, text in enumerate((columns or {})[key]) if text and not float(text) > 0]
        if wrong:
            yield ".file", f"column {key}: must be > 0, got {wrong[0][1]} (row {wrong[0][0]})"
    if columns is not None and (blank := [i + 1 for i, text in enumerate(columns.get("group", ())) if not text]):
        yield ".file", f"column 'group': the cell in row {blank[0]} is empty: name a group for each count"
    known = [key for key in ("total", "rehearsal") if key in settings]
    if settings.get("about") == "rates" and not known and "total" not in (columns or ()):
        yield ".about", "rates require a public total: set total, or omit the key 'about'"
    if "parent" in (columns or ()) and batch:
        yield (
            ".file",
            "has the columns 'table' and 'parent', but a batch cannot contain trees: use one scenario per tree",
        )
    elif "level" in (columns or ()) and "parent" not in (columns or ()):
        yield ".file", "has a column 'level' (for the levels of a tree) but no column 'parent': add the column 'parent'"
    if batch:
        yield from _prior(settings, 0, with_total="total" in (columns or ()))
        yield from _bounds(settings)
        yield from _of_batch(settings, columns or {})
        return
    if columns is not None and is_tree(columns):
        yield from _numbers({k: v for k, v in settings.items() if k != "total"}, columns, values(settings, columns))
        yield from tree_mistakes(settings, columns)
        return
    labels, listed = names(settings, columns), values(settings, columns)
    if isinstance(settings.get("counts", (settings.get("rehearsal") or {}).get("counts")), Mapping):
        if "names" in settings:
            yield ".names", "must be omitted, because the counts have names"
    elif len(labels) != len(listed):
        yield ".names", f"must contain one name per count ({len(listed)} counts), got {len(labels)} names"
    if twice := sorted({name for name in labels if labels.count(name) > 1} if len(labels) < 2000 else _twice(labels)):
        rows = [i + 1 for i, name in enumerate(labels) if name == twice[0]]
        text = f"the name {twice[0]!r} occurs in rows {rows[0]} and {rows[1]}: rename one of the counts"
        yield ".names" if columns is None else ".file", text
    yield from _numbers(settings, columns, listed)
    yield from _without_numbers(settings, columns, labels)
    if unknown := [name for name in settings.get("among") or () if name not in set(labels)]:
        shown = ", ".join(labels[:20]) + (", .." if len(labels) > 20 else "")
        yield ".among", f"{', '.join(map(repr, unknown))}: unknown count. The counts are {shown}"
    if settings.get("among") and settings.get("total") is None and "rehearsal" not in settings:
        yield ".among", "shares among some of the counts require the public total of all counts: set total"
    yield from _prior(settings, len(listed))
    yield from _bounds(settings)
    grouped = {name for members in (settings.get("groups") or {}).values() for name in members}
    if "groups" in settings and "group" not in (columns or ()) and (alone := [n for n in labels if n not in grouped]):
        yield ".groups", f"the count {alone[0]!r} must be in one of the groups"
    yield from question_rules.mistakes(settings.get("questions") or {}, labels)


def _of_batch(settings: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) for every mistake in the missing counts and in the prior of a batch, such as priors
    by group without a column of groups. At most `FEWEST` rows are read.
    """
    if settings.get("missing") and "threshold" in (settings.get("noise") or ()):
        yield (
            ".missing",
            "must be omitted from a batch of noise with a threshold, because a count without a value was withheld",
        )
    if isinstance(settings.get("total"), Mapping):
        yield (
            ".total",
            "must be an integer in a batch: analyse a table with a noisy total as a scenario without a column 'table'",
        )
    prior = settings.get("prior")
    if isinstance(prior, Mapping) and "law" not in prior and "group" not in columns:
        yield ".prior", f"groups is required if the keys ({', '.join(prior)}) are names of groups: add a column 'group'"
    fitted = prior in ("fitted", {"law": "fitted"}) and "absent" not in settings  # absent cells add counts
    if fitted and str(settings["file"]).endswith(".csv"):
        with Path(str(settings["file"])).open(newline="", encoding="utf-8", errors="replace") as file:
            rows = filter(None, csv.reader(file))  # an empty line is not a row
            size = max(sum(1 for _ in islice(rows, FEWEST + 1)) - 1, 0)
        if size < FEWEST:
            yield ".prior", f"fitting a prior requires at least {FEWEST} measured counts, got {size} rows"


def _wrong_cell(settings: Mapping[str, Any]) -> str:
    """Return an error message for the first count in the settings whose text cannot be interpreted, or an empty string
    if all counts are valid.
    """
    written = settings.get("counts") or ()
    for name, one in written.items() if isinstance(written, Mapping) else enumerate(written, 1):
        try:
            published_cells.meaning(one if isinstance(one, str) else "", settings)
        except ValueError as error:
            return f"{name}: {error}, got {one!r}"
    return ""


def _without_numbers(settings: Mapping[str, Any], columns: Columns, found: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the mistakes in the settings of counts that are withheld or published as a range. Examples are ranges in
    combination with noise, and counts without any bound.
    """
    place, listed = ".file" if columns is not None else ".counts", cells(settings, columns)
    if len(found) != len(listed):  # the number of names is wrong, which is a separate mistake
        return
    stated = settings.get("noise")
    try:
        published_cells.censored({"law": stated} if isinstance(stated, str) else stated or {}, listed, found)
    except ValueError as error:
        yield place, str(error)
    withheld = isinstance(stated, Mapping) and "threshold" in stated  # a value that is not a number is below it
    if withheld and (lost := _unavailable(settings, columns, found)):
        yield (
            place,
            (
                f"{lost!r} is not available (key 'missing'), but under noise with a threshold, a count without a value "
                "was withheld: remove the count, or the symbol from missing"
            ),
        )
    least = withheld_below(settings)
    for name, (number, _) in zip(found, listed, strict=True):
        if number is not None and number < least:
            yield place, f"{name!r} is {number:g}, which is below {least:g}, the limit of withheld values"
            return
    free = settings.get("total") is None and settings.get("prior", "flat") in ("flat", "1/(1+n)") and not withheld
    for name, (number, bounds) in zip(found, listed, strict=True):
        if free and number is None and (bounds is None or bounds[1] == inf):
            lack = "value: fill the empty cell, or limit a withheld count" if bounds is None else "upper end: limit it"
            yield place, f"{name!r} has no {lack} {_WITHHELD}"
            return


def _unavailable(settings: Mapping[str, Any], columns: Columns, found: Sequence[str]) -> str:
    """Return the name of the first count whose value is a symbol in the list ``missing``, or an empty string if there
    is no such count.
    """
    written = settings.get("counts") or ()
    values = columns["value"] if columns else list(written.values() if isinstance(written, Mapping) else written)
    missing = settings.get("missing") or ()
    return next((name for name, value in zip(found, values, strict=False) if str(value).strip() in missing), "")


def _twice(found: Sequence[str]) -> set[str]:
    if len(set(found)) == len(found):
        return set()
    seen: set[str] = set()
    return {name for name in found if name in seen or seen.add(name)}  # type: ignore[func-returns-value]


def _noise(settings: Mapping[str, Any], columns: Columns, by_row: Sequence[str]) -> Iterator[tuple[str, str]]:
    given = [key for key in ("noise", "epsilon") if key in settings]
    column = columns is not None and "epsilon" in columns
    if column and by_row:
        yield ".file", f"the columns epsilon and {by_row[0]} both state the noise: remove one of the columns"
    elif column and "noise" in settings:
        yield ".noise", "must be omitted, because the file has a column epsilon"
    elif len(given) == 2:
        yield ".noise", "noise and epsilon must not both be given: omit one of the keys"
    elif not given and not by_row and not column:
        yield "", _NOISE
    if "sensitivity" in settings and "epsilon" not in given and not column:
        yield ".sensitivity", "is allowed only with epsilon: write this key inside noise"
    stated = settings.get("noise")
    if isinstance(stated, str) and stated not in LAWS:
        yield ".noise", f"{stated!r} is not a noise distribution. The available distributions are {', '.join(LAWS)}"
    elif isinstance(stated, str) and stated != "exact" and not by_row:
        parameter = {"random_rounding": ("base", "rounding"), "table": ("file", "table")}
        key, of = parameter.get(stated, ("scale", "noise"))
        yield ".noise", f"{stated!r} requires the {key} of the {of}: write noise: {{law: {stated}, ..}} with the {key}"
    if by_row and "epsilon" in given:
        yield ".epsilon", f"the column {by_row[0]} of the file also states the noise: keep only one of the two"
    if isinstance(stated, dict) and (twice := [key for key in by_row if key in stated]):
        yield ".noise", f"the key {twice[0]} must be omitted, because the file has a column {twice[0]}"
    elif isinstance(stated, dict):
        yield from law_mistakes(".noise", stated, by_row)
    if isinstance(settings.get("total"), dict):
        noise = settings["total"]["noise"]
        yield from law_mistakes(".total.noise", {"law": noise} if isinstance(noise, str) else noise, ())


def law_mistakes(place: str, stated: Mapping[str, Any], by_row: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) if the settings of a noise distribution contain a mistake."""
    try:
        from dpmultinomial._mechanisms.law_settings import law_of
    except ImportError:  # the kernels are not compiled yet; the job will report the mistake
        return
    words = {key: value for key, value in stated.items() if key != "file"} | dict.fromkeys(by_row, 1.0)
    try:
        if words["law"] != "table":
            law_of(words)
        elif "file" not in stated:
            raise ValueError(
                "noise: a noise table requires the key 'file' with the path of a CSV file that has the columns true, "
                f"released and probability, got the keys {', '.join(stated)}"
            )
        elif not Path(str(stated["file"])).is_file():
            yield f"{place}.file", f"{stated['file']!r} is not a file: paths are relative to the working directory"
    except (ValueError, TypeError) as error:
        yield place, str(error).removeprefix("noise: ")


def _numbers(
    settings: Mapping[str, Any], columns: Columns, listed: Sequence[float | None]
) -> Iterator[tuple[str, str]]:
    total = settings.get("total")
    place = ".file" if columns is not None else ".counts"
    whole = all(value is None or value == round(value) for value in listed)
    law = settings["noise"] if isinstance(settings.get("noise"), str) else (settings.get("noise") or {}).get("law")
    if law in _WHOLE and not whole:
        row, value = next((i + 1, value) for i, value in enumerate(listed) if value is not None and value % 1)
        yield (
            place,
            f"must contain only integers under {law} noise, got {value:g} in row {row}. The continuous distribution "
            f"is {law[9:]}",
        )
    if "rehearsal" in settings:
        made_up = sum(value for value in listed if value is not None)
        if total is not None:
            yield (
                ".total",
                (
                    f"{total}: the total of a rehearsal must be omitted, because the total is the sum of the counts "
                    f"({made_up})"
                ),
            )
        elif made_up > LARGEST_TOTAL and len(listed) < MANY:
            yield ".rehearsal.counts", f"the sum of the counts must be <= {LARGEST_TOTAL}, got {made_up}"
    elif isinstance(total, int) and total > LARGEST_TOTAL and 1 < len(listed) < MANY:
        yield (
            ".total",
            f"the exact total of fewer than {MANY} counts must be <= {LARGEST_TOTAL}, got {total}",
        )


def _bounds(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    limits = settings.get("bounds") or {}
    lower, upper = limits.get("lower", 0), limits.get("upper")
    if upper is not None and lower > upper:
        yield ".bounds", f"lower must be <= upper, got lower = {lower} and upper = {upper}"


def _prior_law(prior: Any, group: str = "") -> Iterator[tuple[str, str]]:
    """Yield a pair (key, message) if the settings of a prior distribution are invalid, for all counts or for one group
    of counts.
    """
    try:
        from dpmultinomial._posteriors.published.priors import prior_of
    except ImportError:  # the kernels are not compiled yet; the job will report the mistake
        return
    try:
        prior_of(prior)
    except (ValueError, TypeError) as error:
        yield ".prior", (f"group {group}: " if group else "") + str(error).removeprefix("prior: ")


def _prior(settings: Mapping[str, Any], size: int, *, with_total: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the mistakes in the settings of a prior for the counts. The prior is for `size` counts or, if `size` is 0,
    for every table of a batch.
    """
    prior: Any = settings.get("prior")
    known = with_total or settings.get("total") is not None or "rehearsal" in settings
    split = isinstance(prior, Mapping) and prior.get("law") == "multinomial"
    if isinstance(prior, str) and prior not in _PRIORS:
        yield ".prior", f"must be one of {', '.join(_PRIORS)}, a number, or {{law: .., ..}}, got {prior!r}"
    elif not known and (split or prior == "jeffreys" or isinstance(prior, (int, float, list))):
        yield ".prior", f"{prior} is a concentration of rates, which requires a total; {_WITHOUT}"
    elif isinstance(prior, list) and size and len(prior) != size:
        yield ".prior", f"must be one number or one number per count ({size} counts), got {len(prior)} numbers"
    elif isinstance(prior, Mapping) and "law" in prior and not split and prior["law"] != "fitted":
        yield from _prior_law(prior)
    elif isinstance(prior, Mapping) and "law" not in prior and not known:
        for group, part in prior.items():
            if part not in ("fitted", {"law": "fitted"}):
                yield from _prior_law(part, group)
    elif split and not _positive(prior.get("alpha", 1.0), size):
        yield (
            ".prior",
            f"alpha: {prior['alpha']} must be a concentration > 0: one number, or one number per count. This "
            "concentration is not fitted (prior: fitted fits a distribution of the counts, with or without a total)",
        )


def _positive(alpha: Any, size: int) -> bool:
    listed = alpha if isinstance(alpha, list) else [alpha]
    numbers = all(isinstance(a, (int, float)) and not isinstance(a, bool) and a > 0 for a in listed)
    return numbers and (not isinstance(alpha, list) or len(alpha) == size)


def work(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return rough estimates of the CPU time in seconds and of the memory in MB that one case of a noisy-counts
    scenario requires. For few counts, the cost of their sums grows with the total. For many counts, the cost grows with
    the number of counts.
    """
    listed = values(settings, None) if "file" not in settings else []
    total = settings.get("total")
    if len(listed) >= MANY:
        return 0.5 + 3e-3 * len(listed), 150.0 + 0.035 * len(listed)
    size = total if isinstance(total, int) else sum(v or 0 for v in listed) if "rehearsal" in settings else 1000
    cells, names_asked = float(size) * max(len(listed), 1), len(listed) + len(settings.get("among") or ())
    return 0.2 + 0.04 * names_asked + 4e-6 * cells, 7e-5 * cells + 0.1 * names_asked


Table = Mapping[str, Sequence[str]]
Mistakes = Iterator[tuple[str, str]]
_LEAVES = ("flat", "1/(1+n)", "fitted")
_SHARE = "questions: {name: {share: {of: [..], among: [..]}}}"


def is_tree(columns: Table | None) -> bool:
    """Return whether a file has a column of parents, so that its rows form a tree."""
    return columns is not None and "parent" in columns


def parents(columns: Table) -> dict[str, str | None]:
    """Return a mapping from the name of each node to the name of its parent (None for the root), in the order of the
    file.

    Parameters
    ----------
    columns : checked columns of the file, as strings (`mistakes`).
    """
    return {name: above or None for name, above in zip(columns["name"], columns["parent"], strict=True)}


def depths(columns: Table) -> dict[str, int]:
    """Return the number of steps from each node to the root.

    Parameters
    ----------
    columns : columns of the file, as strings.

    Raises
    ------
    ValueError
        If the parents do not form a tree; the message states the node and the rule.
    """
    above = parents(columns)
    for name, stated in zip(columns["name"], columns["parent"], strict=True):
        if (above[name] or "") != stated:
            first, other = (f"{text!r}" if text else "none" for text in (above[name], stated))
            raise ValueError(
                f"{name!r} has two parents, {first} and {other}, but all rows of a node must have the "
                "same parent: correct one of the rows"
            )
        if stated and stated not in above:
            raise ValueError(
                f"the parent of {name!r} is {stated!r}, which is not a name in the file: add a row with this name"
            )
    roots = [name for name, parent in above.items() if parent is None]
    if len(roots) != 1:
        listed_roots = f": {', '.join(map(repr, roots[:3]))}" if roots else ""
        size = len(roots) or "none"
        raise ValueError(f"a tree must have exactly one root (a node whose parent is empty), got {size}{listed_roots}")
    depth_of = {roots[0]: 0}
    for name in above:
        path: list[str] = []
        node = name
        while node not in depth_of and len(path) <= table_columns.DEEPEST:
            path.append(node)
            node = above[node] or ""
        if len(set(path)) < len(path):
            cycle = path[-2 - path[-2::-1].index(path[-1]) :]
            names = [*cycle[:5], ".."] if len(cycle) > 6 else cycle
            raise ValueError(
                f"the ancestors of {name!r} contain a cycle ({' -> '.join(names)}): correct the parents of these nodes"
            )
        if node not in depth_of or depth_of[node] + len(path) >= table_columns.DEEPEST:
            raise ValueError(
                f"the depth of {name!r} must be < {table_columns.DEEPEST}, got at least "
                f"{depth_of.get(node, 0) + len(path)}: use fewer levels"
            )
        for step, below in enumerate(reversed(path), start=1):
            depth_of[below] = depth_of[node] + step
    return depth_of


def levels(columns: Table) -> list[str] | None:
    """Return the names of the levels from the column `level`, or None if the file does not have this column. The first
    name is the level of the root.

    Parameters
    ----------
    columns : columns of the file, as strings.

    Raises
    ------
    ValueError
        If nodes at the same depth have different level names, or two depths have the same level name.
    """
    if "level" not in columns:
        return None
    depth = depths(columns)
    level_names: dict[int, str] = {}
    for name, level in zip(columns["name"], columns["level"], strict=True):
        known_level = level_names.setdefault(depth[name], level)
        if known_level != level or not level:
            raise ValueError(
                f"{name!r} has level {level!r}, but another node at the same depth ({depth[name]}) has level "
                f"{known_level!r}: use the same level for all nodes at the same depth"
            )
    named = [level_names[depth] for depth in sorted(level_names)]
    if len(set(named)) < len(named):
        raise ValueError(f"levels at different depths must have different names, got {', '.join(named)}")
    return named


def tree_mistakes(settings: Mapping[str, Any], columns: Table) -> Mistakes:
    """Yield a pair (key, message) for every mistake in the settings and in the file of a tree of counts.

    Parameters
    ----------
    settings : settings of a scenario.
    columns : columns of its file, as strings.
    """
    try:
        depth = depths(columns)
        levels(columns)
    except ValueError as error:
        yield ".file", str(error)
        return
    if "among" in settings:
        yield ".among", f"for shares among the counts of a tree, ask a question: {_SHARE}"
    if settings.get("about") == "rates":
        yield ".about", "must be 'counts' for a tree, got 'rates': set the key 'about' to 'counts'"
    if isinstance(settings.get("total"), Mapping):
        yield (
            ".total",
            (
                "a tree must not have a noisy total: add the noisy total as a measurement of the root, in a row of the "
                "file"
            ),
        )
    below, prior = max(depth.values()), settings.get("prior")
    if (isinstance(prior, str) and prior not in _LEAVES) or (
        isinstance(prior, Mapping) and prior.get("law") == "multinomial"
    ):
        yield (
            ".prior",
            f"{prior!r} is not a prior of a tree: use a concentration, one concentration per level, "
            f"{', '.join(_LEAVES)}, or a distribution of the leaves such as {{law: geometric, mean: 10}}",
        )
    if isinstance(settings.get("prior"), list) and len(settings["prior"]) != below:
        yield (
            ".prior",
            f"must contain one concentration per level below the root ({below} levels), got {len(settings['prior'])} "
            "concentrations",
        )
    yield from question_rules.mistakes(settings.get("questions") or {}, list(depth), parents(columns))


_LAWS = {
    "laplace": "Laplace noise of scale {scale}",
    "discrete_laplace": "discrete Laplace noise of scale {scale}",
    "gaussian": "Gaussian noise with standard deviation {sd}",
    "discrete_gaussian": "discrete Gaussian noise with parameter sigma {sigma}",
    "exact": "no noise",
    "random_rounding": "random rounding to a multiple of {base}",
    "table": "a perturbation with the probabilities of a published table",
}


def assumptions(point: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about the noise, the total and the sampling of the counts, as sentences."""
    sentences = noise_sentences(point.get("noise") or {})
    if limits := limits_text(point.get("bounds") or {}):
        sentences.append(limits)
    total = point.get("total")
    if "tree" in point:
        known = [total_sentence(total)] if isinstance(total, int) else []
        return [*sentences, *_tree(point["tree"]), _least_squares(point.get("noise") or {}), *known]
    if isinstance(total, int):
        sentences.append(total_sentence(total))
    elif isinstance(total, Mapping):
        noise_of_total = noise_text(total.get("noise") or {})
        published = float(total["released"]) + 0.0  # not -0
        sentences.append(f"The total was published as {published:,.12g}, with {noise_of_total}.")
    else:
        sentences.append("No total is stated.")
    if "rates" in point.get("groups", ()):
        sentences.append(SAMPLED)
    return sentences


SAMPLED = sampled("rates")


def of_tables(settings: Mapping[str, Any], *, known: bool) -> Iterator[str]:
    """Yield the assumptions about the totals and the sampling of the counts in a batch, as sentences.

    Parameters
    ----------
    settings : settings of the batch.
    known : whether the settings or the file state the totals.
    """
    if isinstance(total := settings.get("total"), int):
        yield f"The total of {total:,} record{'s' * (total != 1)} in each table is public and exact."
    elif known:
        yield "The total of each table is public and exact."
    else:
        yield "No totals are stated."
    if known and settings.get("about", "counts") != "counts":
        yield SAMPLED


def total_sentence(total: int) -> str:
    """Return a sentence that states the public total."""
    return f"The total of {total:,} record{'s' * (total != 1)} is public and exact."


def _tree(tree: Mapping[str, Any]) -> list[str]:
    """Return the assumptions about a tree of counts, as sentences."""
    levels = listed([f"{level['nodes']:,} at {level_text(level['level'])}" for level in tree["levels"]])
    sentences = [f"The counts form a tree in which each count is the sum of its children: {levels}."]
    sizes = {"measured more than once": tree["measured_more_than_once"], "not measured": tree["not_measured"]}
    if parts := [f"{_counts_were(size)} {how}" for how, size in sizes.items() if size]:
        sentences.append(f"{', and '.join(parts)}.")
    return sentences


def _least_squares(noise: Mapping[str, Any]) -> str:
    """Return sentences about the least-squares estimates of a tree and the values for which they are approximate."""
    laws = noise.get("laws", [noise])
    fixed = {key for law in laws if law.get("law") == "exact" or "fixed" in law for key in law}
    random = [law for law in laws if law.get("law") != "exact" and "fixed" not in law]
    keys = {key for law in random for key in law} | {law.get("law") for law in random}
    texts = {
        "fixed": "Values that were rounded or clipped without noise are not used."
        if fixed & {"rounded", "clipped", "fixed"}
        else "",
        "rounded": "Rounding errors of noisy values are treated as independent and uniform.",
        "clipped": "Clipped noisy values are used as if they had not been clipped, so the estimates can be biased.",
        "threshold": "Withheld noisy values are not used, so the estimates can be biased.",
        "random_rounding": "The standard deviations use the largest variance of a randomly rounded value.",
        "table": "The standard deviations use the largest variance in the table of probabilities.",
    }
    return " ".join([LEAST_SQUARES, *(text for key, text in texts.items() if text and key in {"fixed", *keys})])


def _counts_were(size: int) -> str:
    return "1 count was" if size == 1 else f"{size:,} counts were"


def limits_text(bounds: Mapping[str, Any]) -> str:
    """Return a sentence that states the bounds of the counts. The sentence is empty if the only bound is that counts
    are >= 0.
    """
    lower, upper = (float(bounds.get(key, default)) for key, default in (("lower", 0), ("upper", inf)))
    if lower == upper:
        return f"Every true count is {lower:,.0f}, by the stated bounds."
    if upper < inf and lower > -inf:
        return f"Every true count is between {lower:,.0f} and {upper:,.0f}, by the stated bounds."
    if upper < inf:
        return f"Every true count is at most {upper:,.0f}, by the stated bounds."
    if lower == -inf:
        return "The stated bounds allow negative counts."
    return f"Every true count is at least {lower:,.0f}, by the stated bounds." if lower else ""


def noise_sentences(words: Mapping[str, Any]) -> list[str]:
    """Return sentences that describe the noise of the counts and, if it is known, its size."""
    sentences = [noise_sentence(words)]
    if near := within(words):
        sure = "95 %" if words["law"] == "laplace" else "at least 95 %"
        how = f"is within {near} of" if near != "0" else "equals"
        sentences.append(f"With probability {sure}, a published count {how} the true count.")
    return sentences


def noise_sentence(words: Mapping[str, Any]) -> str:
    """Return a sentence that describes the noise, the rounding and any other change of each count before
    publication.
    """
    after = [describe(words) for key, describe in _AFTER.items() if key in words]
    if words.get("law") == "exact":
        return f"No noise was added to the counts{f'; they were changed by {listed(after)}' if after else ''}."
    if words.get("law") == "random_rounding" and "fixed" in words and not after:
        return f"No noise was added to the counts; each count was rounded {_rounded_to(words)}."
    if words.get("law") == "random_rounding" and not after:
        return f"Each count was rounded at random to a multiple of {words['base']:g}, independently of the others."
    text = noise_text(words)
    if "; " in text:
        return f"The noise of the counts is independent, with these distributions: {text}."
    verb = "was changed by" if words.get("law") in ("random_rounding", "table") else "has"
    return f"Each count {verb} {text}, independently of the other counts."


def within(words: Mapping[str, Any]) -> str:
    """Return a bound on the absolute noise that is exceeded with a probability of at most 5 %, as text. The text is
    empty unless the noise is unmodified Laplace or discrete Laplace noise and the scale is the same in all rows.
    """
    scale = words.get("scale")
    if set(words) != {"law", "scale"} or not isinstance(scale, (int, float)):
        return ""
    if words["law"] == "laplace":  # P(|noise| > x) = exp(-x/scale)
        near = scale * log(20)
        return f"{near:,.0f}" if near >= 100 else f"{near:.3g}"
    if words["law"] == "discrete_laplace":  # P(|noise| > k) = 2 a^(k + 1)/(1 + a)
        least = log(0.05 * (1 + exp(-1 / scale)) / 2)  # log a = -1/scale, also if a underflows to 0
        return f"{max(ceil(-scale * least) - 1, 0):,}"
    return ""


def noise_text(words: Mapping[str, Any]) -> str:
    """Return a description of the distribution of the noise."""
    if "laws" in words:
        sizes: dict[str, int] = {}
        for law in words["laws"]:
            text = noise_text({key: value for key, value in law.items() if key != "rows"})
            sizes[text] = sizes.get(text, 0) + law["rows"]
        if len(sizes) == 1:
            return next(iter(sizes))
        parts = [f"{text} ({size:,} count{'s' * (size != 1)})" for text, size in sizes.items()]
        return "; ".join(parts)
    text = _LAWS.get(str(words.get("law")), str(words.get("law")))
    if "fixed" in words:
        text = f"rounding {_rounded_to(words)}"
    shown = {key: _value_text(value) for key, value in words.items()}
    text = text.format(**{"scale": "as stated", "sigma": "as stated", "sd": "as stated", **shown})
    after = [describe(words) for key, describe in _AFTER.items() if key in words]
    return f"{text}, then {listed(after)}" if after else text


def _rounded_to(words: Mapping[str, Any]) -> str:
    """Return a description of deterministic rounding, such as 'to the nearest multiple of 5'. A count can be half-way
    between two multiples if the base is even.
    """
    text = f"{_DIRECTIONS[words['fixed']]} multiple of {words['base']:g}"
    return f"{text} ({_HALF_WAY} {_TIES['up']})" if words["fixed"] == "nearest" and words["base"] % 2 == 0 else text


_DIRECTIONS = {"nearest": "to the nearest", "up": "up to a", "down": "down to a"}
_TIES = {"even": "to the even one", "up": "to the upper one", "away": "to the one farther from 0"}
_HALF_WAY = "a value half-way between two multiples"
_CONTINUOUS = ("laplace", "gaussian")


def _rounding(words: Mapping[str, Any]) -> str:
    """Return a description of rounding. The rule for values half-way between two multiples is stated if such a value
    can be published, which is not the case for continuous noise or an odd step.
    """
    stated = words["rounded"] if isinstance(words["rounded"], Mapping) else {"step": words["rounded"]}
    text, ties = f"rounding to multiples of {stated['step']:g}", _TIES[stated.get("ties", "even")]
    can = words.get("law") not in _CONTINUOUS and stated["step"] % 2 == 0
    return f"{text} ({_HALF_WAY} {ties})" if can else text


_AFTER = {
    "rounded": _rounding,
    "clipped": lambda words: f"clipping at {words['clipped']['at']:g} from below",
    "threshold": lambda words: f"suppression of values below {words['threshold']:g}",
}


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping) and {"smallest", "largest"} <= set(value):
        if value["smallest"] == value["largest"]:
            return f"{value['smallest']:g}"
        return f"between {value['smallest']:g} and {value['largest']:g}"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)

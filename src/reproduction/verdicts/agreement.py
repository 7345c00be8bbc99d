"""Compare the printed statements of a paper with the reproduced values. The result states whether each statement is
reproduced, under which variant, and the reason if it is not.

Each kind of statement is tested in its own way. Three kinds are evidence for the paper, because they compare printed
with reproduced values:

``number`` a printed number: ours rounds to it, or is within three standard errors if either is random ``claim`` a
statement whose words determine the comparison, as a relation of two numbers (`rows.claim`) whose margin is ours, or as
a test of a distribution that the paper states (`rows.law`) ``curve`` a value read off a plot: `error` is the error of
reading

The kind ``wording`` is for a statement in words that need a threshold chosen by us (for example "very close"). The
column `words` quotes the words, the relation shows the threshold, and these statements have a separate score.

Two kinds are evidence for the code, because they compare two of our own results:

``law`` a test of our draws against our exact distribution (`rows.law`): ours is the p-value, `error` the level of the
test; ``sees`` is the minimum detectable effect: errors that the test rejects with probability 0.9 ``check`` two of our
evaluations, for example the drawn curve and the formula, as a relation

Four kinds are not part of any score:

``stricter`` a reading that is stricter than the words in column `words` ``timing`` compared within a factor, `error`,
or as a relation of times; it depends on the machine ``fact`` a number or claim that holds by definition, arithmetic or
the file that is read ``input`` chosen to match print, and ``derived``: follows from other rows

Verdicts: ``reproduced`` (text or corrected method), ``reproduced_by_slip`` (only by emulating an error of the paper's
program), ``differs`` (the note gives the reason), ``undecided`` (a claim that reproduces under no variant, with a
margin within two standard errors of zero under at least one), ``not_stated`` (nothing is printed), ``not_run`` (the
note gives the reason), ``machine_dependent``, ``input``, ``derived``. Cells of a table inherit the variant of their
table, which is tested as a whole (`reproduction.verdicts.table_tests`). Verdicts under the other variants of a row are
listed next to it, as ``as_written: differs; published: reproduced_by_slip``.
"""

from typing import Any

import numpy as np
import pandas as pd

from .rows import NOT_RUN, RELATIONS, holds
from .table_tests import LARGEST_Z, LEVEL, VARIANTS, judge, judged_tables, rounds, standard_score, unit_error

PUBLISHED = ("artefact", "quantity", "kind", "value", "digits", "error", "place", "words")
COLUMNS = (
    *("paper", "artefact", "quantity", "kind", "printed", "printed_digits", "printed_error", "ours", "mc_se", "z"),
    *("left", "relation", "right", "rounding", "sees", "variant", "verdict", "other_variants", "note", "place"),
    "words",
)
PAPER = ("number", "claim", "curve")  # evidence for the paper: printed values are compared with ours
WORDING = ("wording",)  # words of the paper with a threshold chosen by us
CODE = ("law", "check")  # evidence for the code: two of our own results are compared
JUDGED = (*PAPER, *WORDING, *CODE)
KINDS = (*JUDGED, "stricter", "fact", "timing", "input", "derived")
QUOTED = ("wording", "stricter")  # kinds whose statements quote the words of the paper
VERDICTS = (
    *("reproduced", "reproduced_by_slip", "differs", "undecided", "not_stated", "not_run"),
    *("machine_dependent", "input", "derived"),
)
_PLAIN, _CLAIM, _LAW = "computed(..)", "claim(.., left, '<=', right, ..)", "law(.., p_value, sees=..)"
_MADE = {  # functions that make the rows of each kind
    **{"claim": (_CLAIM, _LAW), "wording": (_CLAIM,), "check": (_CLAIM,), "law": (_LAW,)},
    **{"stricter": (_CLAIM, _PLAIN), "fact": (_PLAIN, _CLAIM), "timing": (_PLAIN, _CLAIM)},
}
_ORDER = {variant: place for place, variant in enumerate((*VARIANTS, NOT_RUN))}
_WIDE = 0.15  # relative tolerance of a printed number above which the row states the tolerance
_DECIDED = 2.0  # number of standard errors by which the margin of a random claim must differ from zero


def compare(published: pd.DataFrame, ours: pd.DataFrame, *, paper: str) -> pd.DataFrame:
    """Return the comparison of printed and reproduced statements, with one row per printed statement.

    Parameters
    ----------
    published : table with the columns `PUBLISHED`; `value` is NaN if nothing is printed, and `digits` is the number of
        printed decimals, which may be negative.
    ours : rows made by `rows.computed`, `rows.claim` and `rows.not_run`, with one or more variants per quantity.
    paper : slug of the paper.

    Returns
    -------
    DataFrame with `COLUMNS`. The score z is (ours - printed)/sqrt(mc_se^2 + 10^(-2 digits)/12), or margin/mc_se for a
        claim.

    Raises
    ------
    ValueError
        If the two tables do not name the same quantities, a variant or kind is unknown, a claim states no relation, or
        a statement differs without a note.
    """
    statements: list[Any] = [*published.itertuples()]
    mine: list[Any] = [*ours.itertuples()]
    _paired(statements, mine, paper)
    run = [row for row in mine if row.variant != NOT_RUN]
    _related(statements, run, paper)
    computed: dict[Any, list[Any]] = {}  # rows by artefact and quantity
    for row in sorted(mine, key=lambda row: _ORDER[row.variant]):
        computed.setdefault((row.artefact, row.quantity), []).append(row)
    fits: dict[Any, dict[str, Any]] = {}  # fits by artefact and variant
    for fit in judged_tables(filter(_is_number, statements), run):
        fits.setdefault(fit["artefact"], {})[fit["variant"]] = fit
    answers = [_row(s, computed[s.artefact, s.quantity], fits.get(s.artefact, {})) for s in statements]
    _explained(answers, paper)
    for answer in answers:
        answer |= {"paper": paper, "note": " ".join(filter(None, [answer["note"], answer["allowed"]]))}
    return pd.DataFrame(answers, columns=list(COLUMNS))


def variants(published: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """Return the results of the joint test of each complete table, with one row per artefact and variant (see
    `table_tests.judge`).
    """
    numbers = published[[_is_number(statement) for statement in published.itertuples()]]
    return judge(numbers, ours[ours["variant"] != NOT_RUN])


def _is_number(statement: Any) -> bool:
    return bool(statement.kind == "number" and not np.isnan(statement.value))


def read_published(path: Any) -> pd.DataFrame:
    """Return the file ``published.tsv`` of a paper as a table.

    Raises
    ------
    ValueError
        If the columns differ from `PUBLISHED`, a kind is unknown, or a statement lacks a value that its kind requires.
    """
    table = pd.read_csv(path, sep="\t", dtype={"value": float, "digits": float, "error": float, "words": object})
    if tuple(table.columns) != PUBLISHED:
        raise ValueError(f"{path}: the columns must be {', '.join(PUBLISHED)}, got {', '.join(table.columns)}")
    if unknown := set(table["kind"]) - set(KINDS):
        got = ", ".join(map(str, unknown))
        raise ValueError(f"{path}: kind must be one of {', '.join(KINDS)}, got {got}")
    for kind, column in (("curve", "error"), ("timing", "error"), ("law", "error"), ("number", "digits")):
        bare = table[(table["kind"] == kind) & table[column].isna() & (table["value"].notna() | (kind == "law"))]
        if len(bare):
            raise ValueError(
                f"{path}: rows of the kind {kind} must have a value in the column '{column}', but the value is "
                f"missing for {', '.join(bare['quantity'])}"
            )
    bare = table[table["kind"].isin(QUOTED) & table["words"].isna()]
    if len(bare):
        raise ValueError(
            f"{path}: rows of the kinds {' and '.join(QUOTED)} must quote the paper in the column "
            f"'words', but the quotation is missing for {', '.join(bare['quantity'])}"
        )
    return table


def _paired(statements: list[Any], ours: list[Any], paper: str) -> None:
    printed, computed = ({(row.artefact, row.quantity) for row in rows} for rows in (statements, ours))
    if printed != computed or len(printed) < len(statements):
        raise ValueError(
            f"{paper}: the published and the computed statements must be the same (published only: "
            f"{sorted(printed - computed)}, computed only: {sorted(computed - printed)})"
        )
    if unknown := {row.variant for row in ours} - _ORDER.keys():
        raise ValueError(
            f"{paper}: variant must be one of {', '.join(VARIANTS)}, got {', '.join(map(str, sorted(unknown)))}"
        )
    if unknown := {statement.kind for statement in statements} - set(KINDS):
        got = ", ".join(sorted(unknown))
        raise ValueError(f"{paper}: kind must be one of {', '.join(KINDS)}, got {got}")


def _related(statements: list[Any], run: list[Any], paper: str) -> None:
    """Check that every result row has the form that is required for this kind of statement. For example, a ``check``
    must have a relation, and a ``law`` must have a minimum detectable effect.
    """
    kind: dict[Any, Any] = {(row.artefact, row.quantity): row.kind for row in statements}
    misplaced: dict[str, list[str]] = {}
    for row in run:
        actual = _CLAIM if row.relation in RELATIONS else _LAW if row.sees else _PLAIN
        due = kind[row.artefact, row.quantity]
        if actual not in _MADE.get(due, (_PLAIN,)):
            misplaced.setdefault(due, []).append(f"{row.artefact}: {row.quantity}")
    wrong = [
        f"rows of the kind {due} must be created with {' or '.join(_MADE.get(due, (_PLAIN,)))}. The invalid rows are "
        f"{'; '.join(names)}"
        for due, names in misplaced.items()
    ]
    if wrong:
        raise ValueError(f"{paper}: {'. '.join(wrong)}")


def _explained(rows: list[dict[str, Any]], paper: str) -> None:
    """Check that every statement with the verdict ``differs`` has a note with the reason."""
    bare = [f"{row['artefact']}: {row['quantity']}" for row in rows if row["verdict"] == "differs" and not row["note"]]
    if bare:
        raise ValueError(
            f"{paper}: every row with the verdict 'differs' must have a reason, but the reason is missing for "
            f"{'; '.join(bare)}: add the reason as a note in agreement.ours"
        )


def _row(statement: Any, rows: list[Any], fits: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the agreement table for one printed statement. The argument `rows` contains the computed rows
    in the order of their variants, and `fits` contains the fit of the statement's table under each variant.
    """
    judged = [(*_judge(statement, row, fits.get(row.variant)), row) for row in rows]
    eligible = judged
    if statement.kind == "number" and fits:
        whole = next(variant for variant, fit in fits.items() if fit["chosen"])
        eligible = [j for j in judged if j[2].variant == whole] or [_first(statement, rows, fits[whole])]
    verdict, z, row = min(eligible, key=lambda j: _best(j[0]))  # the first of the best variants
    others = dict.fromkeys(
        f"{other.variant}: {outcome}" for outcome, _, other in judged if other is not row and other.variant != NOT_RUN
    )
    return {
        "artefact": statement.artefact,
        "quantity": statement.quantity,
        "kind": statement.kind,
        "printed": statement.value,
        "printed_digits": statement.digits,
        "printed_error": statement.error,
        "ours": row.ours,
        "mc_se": row.mc_se,
        "z": z,
        **{column: getattr(row, column) for column in ("left", "relation", "right", "rounding", "sees")},
        "variant": row.variant,
        "verdict": verdict,
        "other_variants": "; ".join(others) if statement.kind in (*JUDGED, "fact", "stricter") else "",
        "note": row.note or ("The computed value is not a number." if np.isnan(row.ours) else ""),
        "allowed": _allowed(statement, row),
        "place": statement.place,
        "words": statement.words,
    }


def _best(verdict: str) -> int:
    """Return the rank of a verdict: 0 for reproduced, 1 for undecided, and 2 for any other verdict. The variant with
    the lowest rank determines the verdict on the statement.
    """
    return 0 if verdict.startswith("reproduced") else 1 if verdict == "undecided" else 2


def _allowed(statement: Any, row: Any) -> str:
    """Return a remark if the tolerance of a verdict is wide, and an empty string otherwise. The tolerance is wide if
    the verdict on a number or curve allows a relative error of more than `_WIDE`.
    """
    judged = statement.kind in ("number", "curve", "stricter") and row.variant != NOT_RUN and not np.isnan(row.ours)
    if not (judged and abs(statement.value) > 0):
        return ""
    if statement.kind == "curve":
        reach = statement.error + LARGEST_Z * row.mc_se
    else:
        reach = unit_error(row.mc_se, statement.digits)
    if not reach / abs(statement.value) > _WIDE:
        return ""
    errors = f"{reach / row.mc_se:.0f} standard errors" if row.mc_se > 0 else "half a unit of its last digit"
    return (
        f"The verdict allows a difference of {100 * reach / abs(statement.value):.0f} % of the printed value, which is "
        f"{errors}."
    )


def _first(statement: Any, rows: list[Any], whole: Any) -> tuple[str, float, Any]:
    """Return the verdict, the z score and the row for the first variant of a statement. The statement has no result
    under the variant chosen for its table.
    """
    return *_judge(statement, rows[0], whole), rows[0]


def _judge(statement: Any, row: Any, table: Any) -> tuple[str, float]:
    """Return the verdict on one statement under one variant, and the standard score z of the statement. A value of NaN
    is never accepted.
    """
    good = "reproduced_by_slip" if row.variant == "published" else "reproduced"
    if row.variant == NOT_RUN:
        return "not_run", np.nan
    if statement.kind in ("input", "derived"):
        return statement.kind, np.nan
    if statement.kind == "timing":
        return "machine_dependent", np.nan
    if np.isnan(row.ours) or np.isnan(row.mc_se):
        return "differs", np.nan
    match "relation" if row.relation in RELATIONS else "law" if row.sees else statement.kind:
        case "relation":
            z = row.ours / row.mc_se if row.mc_se > 0 else np.copysign(np.inf, row.ours) if row.ours else 0.0
            undecided = row.mc_se > 0 and abs(z) < _DECIDED
            return ("undecided" if undecided else good if holds(row.ours, row.relation) else "differs"), z
        case "law":
            return (good if row.ours >= statement.error else "differs"), np.nan
    if np.isnan(statement.value):
        return "not_stated", np.nan
    if statement.kind == "curve":
        gap = row.ours - statement.value
        return (good if abs(gap) <= statement.error + LARGEST_Z * row.mc_se else "differs"), gap / statement.error
    z = standard_score(row.ours, row.mc_se, statement.value, statement.digits)
    if row.mc_se == 0:
        return (good if rounds(row.ours, statement.value, statement.digits) else "differs"), z
    joint = 1.0 if table is None else table["p_value"]
    return (good if joint >= LEVEL and abs(z) <= LARGEST_Z else "differs"), z

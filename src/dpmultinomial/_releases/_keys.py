"""Keys of the settings of a release, collected in one table for the checker, the schema and the documentation.

Names of categories are checked here too: two names that look the same are a mistake or an attack, because the count of
one person could be split between them. Names look alike if they have the same compatibility form in Unicode, or by a
short table of Cyrillic and Greek letters that look like Latin letters; not all fonts are covered.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._printing import has_unprintable

REQUIRED = object()
COUNTS, MODELS = ("discrete_laplace", "discrete_gaussian", "additive_counts"), ("naive_bayes", "bayesian_network")
MECHANISMS = (*COUNTS, "censored_statistics", "swap", *MODELS)
ALGORITHMS = ("1-independent", "1-summed", "2", "3")
NOISES = ("dirichlet", "discrete_laplace", "discrete_gaussian")
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1")
DELIMITERS = (",", ";", "\t", "|")
TREE_KEYS = ("levels", "shares", "narrow", "relation")
LARGEST_EPSILON, LARGEST_DELTA = 20.0, 1e-4
PARAMETERS = {"discrete_laplace": "epsilon", "discrete_gaussian": "rho"}  # mechanisms that can release a tree


@dataclass(frozen=True)
class Key:
    """Key in the settings of a release, with its rule and its description.

    Parameters
    ----------
    name : name of the key.
    kind : ``"text"``, ``"name"`` ([a-z][a-z0-9_]*), ``"number"``, ``"whole"``, ``"flag"``, ``"texts"`` (one string or
        several strings), or a mapping: ``"fractions"`` to numbers in (0, 1), ``"positives"`` to numbers > 0,
        ``"parts"`` to numbers > 0 that sum to 1, ``"intervals"`` to [low, high] pairs, ``"levels"`` and
        ``"network"`` to lists.
    description : meaning of the key, for users.
    default : `REQUIRED`, or the value that is used if the key is not stated.
    above, least, most, below : bounds of numbers; `above` and `below` are exclusive.
    choices : allowed values.
    """

    name: str
    kind: str
    description: str
    default: object = REQUIRED
    above: float | None = None
    least: float | None = None
    most: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()


COMMON = (
    Key("mechanism", "text", "mechanism that protects the data", choices=MECHANISMS),
    Key("data", "text", "the confidential CSV file, in confidential/, not tracked by git"),
    Key("source", "name", "source whose budget the release spends; default: the name of the release", None),
    Key(
        "generation",
        "whole",
        "generation of the release; a generation that is larger by 1 makes the release again and spends budget again",
        1,
        least=1,
    ),
    Key("delimiter", "text", "delimiter of the fields; default: detected from the header", None, choices=DELIMITERS),
    Key(
        "encoding",
        "text",
        "encoding of the file; default: by the byte order mark, otherwise UTF-8",
        None,
        choices=ENCODINGS,
    ),
    Key("accept_weak_privacy", "flag", "allow epsilon above 20, rho above 20 or delta above 1e-4", False),
)
_TREE = (
    Key(
        "levels", "texts", "names of the levels of a tree, beginning with the root; default: level 0, level 1, ..", None
    ),
    Key(
        "shares",
        "parts",
        "share of the budget for each level of a tree (level -> share); the shares sum to 1; default: equal shares",
        None,
    ),
    Key(
        "narrow",
        "texts",
        "level or levels of a tree for which the shares minimise the mean width of the intervals",
        None,
    ),
    Key(
        "relation",
        "text",
        "neighbouring relation of a tree; with 'replace a record', the count of the root is published without noise; "
        "default: 'add or remove a record'",
        None,
        choices=("add or remove a record", "replace a record"),
    ),
)
_EPSILON = Key("epsilon", "number", "privacy loss of the release", above=0, most=1000)
_RHO = Key("rho", "number", "zero-concentrated privacy loss of the release", above=0, most=1000)
_MODEL = (
    Key("target", "text", "column to predict; requires an entry in levels"),
    Key("numeric", "texts", "numeric columns; each requires an entry in bounds", ()),
    Key(
        "bounds",
        "intervals",
        "public limits of each numeric column (column -> [low, high]); values outside are counted in the outer bins",
        {},
    ),
    Key("bins", "whole", "number of bins of equal width between the bounds", 10, least=2, most=1000),
    Key("levels", "levels", "public categories of every column of the model that is not numeric (column -> list)"),
    Key(
        "noise",
        "text",
        "distribution of the noise; Dirichlet noise is drawn with floating-point numbers (hardened: false)",
        choices=NOISES,
    ),
    Key(
        "epsilon",
        "number",
        "privacy loss of the whole model: Rényi loss for dirichlet, otherwise pure loss",
        None,
        above=0,
        most=1000,
    ),
    Key("order", "number", "Rényi order, only for dirichlet", None, above=1, most=1000),
    Key(
        "rho",
        "number",
        "zero-concentrated privacy loss of the whole model, only for discrete_gaussian",
        None,
        above=0,
        most=1000,
    ),
    Key("delta", "number", "delta for which the record also states epsilon", 1e-6, above=0, below=1),
    Key(
        "floor",
        "number",
        (
            "smallest noisy count with discrete noise (smaller counts are raised to this value); default: the scale of "
            "the noise"
        ),
        None,
        above=0,
    ),
)
KEYS: dict[str, tuple[Key, ...]] = {
    "discrete_laplace": (
        *COMMON,
        _EPSILON,
        Key(
            "sensitivity",
            "whole",
            "L1 change of the counts (for a tree, of the counts of one level) if a record is replaced; at least 2",
            2,
            least=2,
            most=10**6,
        ),
        *_TREE,
    ),
    "discrete_gaussian": (
        *COMMON,
        _RHO,
        Key(
            "sensitivity",
            "whole",
            "squared L2 change of the counts (for a tree, of the counts of one level) if a record is replaced; at "
            "least 2",
            2,
            least=2,
            most=10**6,
        ),
        *_TREE,
    ),
    "additive_counts": (
        *COMMON,
        Key(
            "epsilon",
            "number",
            "privacy loss of each noisy count and of the noisy total; the release costs 2 epsilon",
            above=0,
            most=1000,
        ),
        Key(
            "algorithm",
            "text",
            "algorithm for non-negative, consistent counts (four algorithms)",
            "3",
            choices=ALGORITHMS,
        ),
    ),
    "censored_statistics": (
        *COMMON,
        Key("epsilon", "number", "privacy loss of the release", above=0, most=100),
        Key("column", "text", "column that contains the numbers"),
        Key("lower", "number", "public lower limit; records below this limit are only counted"),
        Key("upper", "number", "public upper limit; records above this limit are only counted"),
        Key(
            "shares",
            "fractions",
            "share of epsilon for each statistic (mean, sse, low, high -> share); the shares sum to 1",
            None,
        ),
        Key(
            "sensitivities",
            "positives",
            "sensitivity of each statistic, at least the derived sensitivity (mean, sse, low, high -> number)",
            {},
        ),
    ),
    "swap": (
        *COMMON,
        Key("swap", "texts", "columns that are swapped together"),
        Key("match", "texts", "columns in which two records must be equal to be swapped", ()),
        Key(
            "rate",
            "number",
            "probability that a record is selected; if only one record of a stratum was selected, the selection is "
            "repeated; the cost depends on the rate",
            above=0,
            below=1,
        ),
    ),
    "naive_bayes": (*COMMON, *_MODEL),
    "bayesian_network": (
        *COMMON,
        *_MODEL[1:],
        Key("network", "network", "parents of each column (column -> list), without cycles"),
    ),
}


def parameter(settings: Mapping[str, Any]) -> str:
    """Return the name of the setting that is varied when a release is planned. The name is ``"epsilon"``, ``"rho"`` or
    ``"rate"``.

    Parameters
    ----------
    settings : settings of a release.
    """
    if settings["mechanism"] == "swap":
        return "rate"
    gaussian = settings["mechanism"] == "discrete_gaussian" or settings.get("noise") == "discrete_gaussian"
    return "rho" if gaussian else "epsilon"


def table() -> list[dict[str, str]]:
    """Return a table of the keys of all mechanisms, with the columns mechanism, key, type, range, default and
    description.
    """
    return [
        {
            "mechanism": mechanism,
            "key": key.name,
            "type": key.kind,
            "range": bounds(key),
            "default": "required" if key.default is REQUIRED else repr(key.default),
            "description": key.description,
        }
        for mechanism, keys in KEYS.items()
        for key in keys
    ]


def bounds(key: Key) -> str:
    """Return a description of the values that are permitted under a key, such as ``> 0 and <= 1`` or ``one of 'add',
    'replace'``.
    """
    if key.choices:
        return "one of " + ", ".join(map(repr, key.choices))
    words = [
        f"{sign} {value:g}"
        for sign, value in (("> ", key.above), (">=", key.least), ("<=", key.most), ("<", key.below))
        if value is not None
    ]
    return " and ".join(w.replace("  ", " ") for w in words)


_CYRILLIC = (
    ("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d\u0475", "aeopcyxijsdhqwv"),
    ("\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u04c0\u04ae\u051a"
     "\u051c\u0474", "ABEKMHOPCTYXIJSIYQWV"),
)  # fmt: skip
_GREEK = (
    ("\u03bf\u03bd\u03c1", "ovp"),
    ("\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7", "ABEZHIKMNOPTYX"),
)
_DRAWN_ALIKE = {
    ord(one): latin for alike, drawn in (*_CYRILLIC, *_GREEK) for one, latin in zip(alike, drawn, strict=True)
}
UNSEEN = "spaces, invisible characters, or letters that look the same"
# letters and marks without a visible shape
_FILLERS = {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u3164", "\uffa0"}


def shown_name(name: str) -> str:
    """Return a normalised form of a name, which is identical for all names that look the same on screen. The normalised
    form is empty for a name without visible characters.

    Parameters
    ----------
    name : any string.
    """
    if name.isascii() and name.isprintable():
        return " ".join(name.split())
    seen = "".join(c for c in unicodedata.normalize("NFKC", name) if not _invisible(c))
    return " ".join(unicodedata.normalize("NFKC", seen.translate(_DRAWN_ALIKE)).split())


def has_controls(name: str) -> bool:
    """Return whether a name contains control characters or bidirectional marks, which change the reading direction of a
    line. Control characters are, for example, line breaks, tabs, and characters that a terminal interprets.
    """
    return has_unprintable(name) or "\n" in name or "\t" in name


def first_alike(names: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two different names that look the same, or None if there are no such names.

    Parameters
    ----------
    names : names in order.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(shown_name(name), name)
        if other != name:
            return other, name
    return None


def _invisible(character: str) -> bool:
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return selector or character in _FILLERS or unicodedata.category(character) == "Cf"

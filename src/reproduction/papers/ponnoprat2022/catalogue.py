"""Catalogue of the eight UCI data sets of Table 1, with the SHA-256 checksums of their files, their locations, their
formats, and the printed values.

Checksums are those of the uncompressed files as the UCI archive provides them (the CreditCard CSV is a re-export of the
archive's workbook, equal in every cell). Rows are in the order of the archive, with the training file first, as in the
author's files. The module uses only the standard library, because the workflow reads it before anything is installed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class File:
    """Raw file of a data set, with its name, its SHA-256 checksum, and its path in the zip archive. For nested
    archives, the path consists of several names.
    """

    name: str
    sha256: str
    member: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Source:
    """Entry of the catalogue for one data set, with the files and the format of the data set.

    Parameters
    ----------
    name : name of the data set.
    files : files, concatenated in this order.
    archive : address of the zip.
    archive_files : files in the archive, if its format differs from `files`.
    separator, header, skip : format of the text files.
    columns : names of the columns if `header` is False.
    target, numeric, dropped : columns.
    strip : characters removed from the end of the target.
    rounded : numeric columns that the author's copy has rounded to integers.
    printed : Table 1 as printed: instances, attributes, classes, percent positive (None if not printed).
    positive : the class that "percent positive" counts.
    networks : mapping from a node to its parents, for the Bayesian networks.
    """

    name: str
    files: tuple[File, ...]
    archive: str
    archive_files: tuple[File, ...] = ()
    separator: str = ","
    header: bool = True
    skip: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    target: str
    numeric: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    strip: str = ""
    rounded: tuple[str, ...] = ()
    printed: tuple[int, int, int, int | None]
    positive: str = ""
    networks: dict[str, tuple[str, ...]] = field(default_factory=dict)


_UCI = "https://archive.ics.uci.edu/static/public/"
_BILLS = tuple(f"{stem}_AMT{i}" for stem in ("BILL", "PAY") for i in range(1, 7))
_THYROID = [
    "age",
    "sex",
    "on_thyroxine",
    "query_on_thyroxine",
    "on_antithyroid_medication",
    "sick",
    "pregnant",
    "thyroid_surgery",
    "I131_treatment",
    "query_hypothyroid",
    "query_hyperthyroid",
    "lithium",
    "goitre",
    "tumor",
    "hypopituitary",
    "psych",
    "TSH",
    "T3",
    "TT4",
    "T4U",
    "FTI",
    "class",
]
_SHOPPER = [
    "Administrative",
    "Administrative_Duration",
    "Informational",
    "Informational_Duration",
    "ProductRelated",
    "ProductRelated_Duration",
    "BounceRates",
    "ExitRates",
    "PageValues",
    "SpecialDay",
]
_ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
_PIXELS = tuple(f"X{i}" for i in range(1, 65))
_WORDS = tuple(f"V{i}" for i in range(1, 58))

SOURCES = {
    source.name: source
    for source in (
        Source(
            name="CreditCard",
            files=(
                File(
                    name="UCI_Credit_Card.csv",
                    sha256="a0f0ab49d6326671d6cd83be5c88dcf18007025fe9a53ecd699119c871176ca1",
                ),
            ),
            archive=f"{_UCI}350/default+of+credit+card+clients.zip",
            archive_files=(
                File(
                    name="default of credit card clients.xls",
                    sha256="30c6be3abd8dcfd3e6096c828bad8c2f011238620f5369220bd60cfc82700933",
                    member=("default of credit card clients.xls",),
                ),
            ),
            target="default.payment.next.month",
            numeric=("LIMIT_BAL", "AGE", *_BILLS),
            dropped=("ID",),
            printed=(30000, 23, 2, 22),
            positive="1",
        ),
        Source(
            name="Thyroid",
            files=(
                File(
                    name="ann-train.data",
                    sha256="3da53a156bda36cb0c97e9f4b6b111c9226c54c4aa00230de5604b787c47e3a6",
                    member=("ann-train.data",),
                ),
                File(
                    name="ann-test.data",
                    sha256="c649ea19416e78c7996cfaaa2a9e281cb597d4b075aaa68c494fc3e4ee3aa30b",
                    member=("ann-test.data",),
                ),
            ),
            archive=f"{_UCI}102/thyroid+disease.zip",
            separator=r"\s+",
            header=False,
            columns=tuple(_THYROID),
            target="class",
            numeric=("age", "TSH", "T3", "TT4", "T4U", "FTI"),
            printed=(7200, 21, 3, None),
        ),
        Source(
            name="Shopper",
            files=(
                File(
                    name="online_shoppers_intention.csv",
                    sha256="b3055ee355f59134d851d32641183cb4a8b45def7124d2f50442a042f358e0d9",
                    member=("online_shoppers_intention.csv",),
                ),
            ),
            archive=f"{_UCI}468/online+shoppers+purchasing+intention+dataset.zip",
            target="Revenue",
            numeric=tuple(_SHOPPER),
            rounded=tuple(_SHOPPER),
            printed=(12330, 17, 2, 15),
            positive="TRUE",
        ),
        Source(
            name="Digit",
            files=(
                File(
                    name="optdigits.tra",
                    sha256="e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd",
                    member=("optdigits.tra",),
                ),
                File(
                    name="optdigits.tes",
                    sha256="6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
                    member=("optdigits.tes",),
                ),
            ),
            archive=f"{_UCI}80/optical+recognition+of+handwritten+digits.zip",
            header=False,
            columns=(*_PIXELS, "class"),
            target="class",
            numeric=_PIXELS,
            printed=(5620, 64, 10, None),
        ),
        Source(
            name="GermanCredit",
            files=(
                File(
                    name="SouthGermanCredit.asc",
                    sha256="5f363343f356ca38a0236baab849e472846399b2176ccc5bd686483dd8a7562f",
                    member=("SouthGermanCredit.asc",),
                ),
            ),
            archive=f"{_UCI}573/south+german+credit+update.zip",
            separator=r"\s+",
            target="kredit",
            numeric=("laufzeit", "hoehe", "alter"),
            printed=(1000, 20, 2, 30),
            positive="0",
            networks={
                "wohn": (),
                "verm": ("wohn",),
                "alter": ("wohn",),
                "hoehe": ("verm",),
                "buerge": ("verm",),
                "famges": ("hoehe",),
                "verw": ("hoehe",),
                "rate": ("hoehe",),
                "laufzeit": ("hoehe", "rate"),
                "pers": ("famges",),
                "gastarb": ("laufzeit",),
                "bishkred": ("alter",),
                "moral": ("bishkred",),
                "weitkred": ("moral",),
            },
        ),
        Source(
            name="Bank",
            files=(
                File(
                    name="bank-additional-full.csv",
                    sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
                    member=("bank-additional.zip", "bank-additional/bank-additional-full.csv"),
                ),
            ),
            archive=f"{_UCI}222/bank+marketing.zip",
            separator=";",
            target="y",
            numeric=(
                *("age", "duration", "campaign", "pdays", "previous", "emp.var.rate"),
                *("cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed"),
            ),
            printed=(41188, 20, 2, 11),
            positive="yes",
            networks={
                "month": (),
                "day_of_week": (),
                "housing": ("month",),
                "pdays": ("housing", "month"),
                "poutcome": ("housing", "pdays"),
                "previous": ("poutcome",),
                "contact": ("previous", "month"),
                "campaign": ("day_of_week", "month"),
                "duration": ("housing", "contact", "campaign"),
                "y": ("poutcome", "duration", "month"),
            },
        ),
        Source(
            name="Spam",
            files=(
                File(
                    name="spambase.data",
                    sha256="b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
                    member=("spambase.data",),
                ),
            ),
            archive=f"{_UCI}94/spambase.zip",
            header=False,
            columns=(*_WORDS, "spam"),
            target="spam",
            numeric=_WORDS,
            printed=(4601, 57, 2, 39),
            positive="1",
        ),
        Source(
            name="Adult",
            files=(
                File(
                    name="adult.data",
                    sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                    member=("adult.data",),
                ),
                File(
                    name="adult.test",
                    sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                    member=("adult.test",),
                ),
            ),
            archive=f"{_UCI}2/adult.zip",
            header=False,
            skip=(0, 1),
            columns=tuple(_ADULT),
            target="income",
            numeric=("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week"),
            dropped=("education-num",),
            strip=".",
            printed=(48842, 13, 2, 24),
            positive=">50K",
            networks={
                "age": (),
                "sex": (),
                "education": ("age",),
                "occupation": ("age", "sex", "education"),
                "capital-gain": ("sex", "education", "occupation"),
                "capital-loss": ("sex", "occupation", "capital-gain"),
                "income": ("occupation", "capital-gain", "capital-loss"),
            },
        ),
    )
}
BUNDLED = ("bundled_digits", "bundled_breast_cancer", "bundled_wine", "bundled_iris")
NAMES = ("CreditCard", "Thyroid", "Shopper", "Digit", "GermanCredit", "Bank", "Spam", "Adult")
NETWORKS = ("Adult", "Bank", "GermanCredit")


DOWNLOADED = "downloaded"  # marks a folder whose files were downloaded from the archive, not provided by the user


def places(name: str, file: File, folders: Sequence[str | Path]) -> Iterator[Path]:
    """Yield the paths at which the program searches for a file of the data set `name`, in the order of the search. Some
    of the paths may not exist.
    """
    for folder in map(Path, folders):
        for path in (folder / name / file.name, folder / file.name):
            yield path
            yield path.with_name(path.name + ".gz")


def brought(name: str, folders: Sequence[str | Path]) -> list[str]:
    """Return the paths of the files of a data set that the user has placed in local folders. A new file causes the data
    set to be prepared again.

    Downloads are ignored, because they result from an earlier preparation.
    """
    source = SOURCES.get(name)
    if source is None:
        return []
    files = (*source.files, *source.archive_files)
    local_files = [path for file in files for path in places(name, file, folders) if path.is_file()]
    return [str(path) for path in local_files if not (path.parent / DOWNLOADED).exists()]

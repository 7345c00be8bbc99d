"""What is known of a UCI data set: its files and how to read them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class File:
    """One raw file: its name, its SHA-256, and its member in the archive's zip (several names: zips in zips)."""

    name: str
    sha256: str
    member: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Source:
    """One data set.

    Parameters
    ----------
    name : of the data set.
    files : read in this order and put one below the other.
    archive : address of the zip.
    archive_files : in place of `files` where the archive has another format.
    separator, header, skip : of the text files.
    columns : their names where `header` is False.
    target, numeric, dropped : columns.
    strip : characters taken off the end of the target.
    rounded : numeric columns that the author's copy holds rounded to whole numbers.
    printed : Table 1 as printed: instances, attributes, classes, percent positive (None where not printed).
    positive : the class that "percent positive" counts.
    networks : node -> its parents, of the Bayesian networks.
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

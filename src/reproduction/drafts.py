"""Drafts of files that are written completely or not at all: a draft is written next to the file and then renamed."""

from pathlib import Path


def of(path: Path) -> Path:
    """Return the path of the draft of a file. Whatever is in this place is removed, because a link there could lead to
    any other file of the account, which would be overwritten.

    Parameters
    ----------
    path : path of the file, which need not exist.

    Raises
    ------
    OSError
        If a folder is in the place of the draft.
    """
    draft = path.with_name(path.name + ".part")
    draft.unlink(missing_ok=True)
    return draft

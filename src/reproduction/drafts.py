"""Drafts of files that are written completely or not at all: a draft is written next to the file and then renamed."""

from pathlib import Path


def of(path: Path) -> Path:
    """Return the path of the draft of a file. An existing file or link at this path is removed, because a link could
    lead to another file of the user account, which would then be overwritten.

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

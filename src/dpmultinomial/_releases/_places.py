"""Location of confidential files: the folder ``confidential/`` next to the configuration file. Only the owner of this
folder can open it.

``confidential/`` may be a link to the folder of the data, outside of this project. Confidential files in other folders
are rejected, so that the journal of spending, its key and its lock are always next to the data.

The reasons for rejecting a release do not contain confidential information.
"""

import os
import re
import stat
from pathlib import Path

from .. import _git


class Refused(ValueError):
    """Error that is raised if a release is rejected. The message states the reason and the remedy, but contains no
    confidential information.
    """


FOLDER, RELEASES = "confidential", "releases"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def folder(root: Path) -> Path:
    """Return the folder to which ``confidential/`` resolves after all symbolic links have been followed. The folder
    need not exist.
    """
    return (Path(root) / FOLDER).resolve()


def problems(data: str, root: Path) -> list[str]:
    """Return the reasons why a confidential file must not be in its current location. Links are followed, and no file
    is opened.

    Parameters
    ----------
    data : path of the file, relative to `root`.
    root : folder of the configuration.

    Returns
    -------
    list of str
    """
    if _CONTROL.search(data):
        return [f"must be a path without control characters, got {data!r}"]
    try:
        root, home = Path(root).resolve(), folder(root)
        path = (root / data).resolve()
    except (OSError, RuntimeError) as error:
        return [f"must be a path that can be resolved, got {data} ({error})"]
    if path == home or not path.is_relative_to(home):
        return [f"must lie in {FOLDER}/ (which may be a link to the folder that contains the data), got {data}"]
    try:
        reasons = [] if path.is_file() else [f"there is no file {data}"]
    except PermissionError as error:
        return [
            f"must be a file that you can open, got {data} ({error.strerror}): run the command as the user who owns "
            f"{FOLDER}/, or ask this user to run chown -R {os.geteuid()} {home}"
        ]
    return reasons + _public(home, root) + _open(home, path) + _tracked(root, home, path)


def own_folder(home: Path) -> None:
    """Raise ValueError if a user other than the owner can open the folder of the confidential files, or if the folder
    belongs to another user. The message states the remedy.
    """
    if reasons := _others(home):
        raise Refused("; ".join(reasons))


def own_account(folder: Path) -> None:
    """Raise ValueError if another user can change the folder with the budget records of the user account, which
    contains the copies of journals and the key of the fingerprints. The message states the remedy.
    """
    about = folder.stat()
    if about.st_uid != os.geteuid():
        raise Refused(
            f"{folder} belongs to another user (user ID {about.st_uid}), who can replace the copies of your journals: "
            "set HOME or XDG_STATE_HOME to a folder of your own"
        )
    if stat.S_IMODE(about.st_mode) & 0o022:
        raise Refused(f"{folder} can be changed by other users: run chmod 700 {folder}")


def own_file(path: Path, name: str = "") -> None:
    """Raise ValueError if the path of a file next to the confidential data is a link or a folder. The message states
    `name`, or the path below ``confidential/``.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise Refused(
            f"{name or f'{FOLDER}/{path.name}'} must be a regular file, got a link or a folder: move the link or "
            "folder to another place"
        )


def public_file(path: Path) -> None:
    """Raise ValueError if the path of a public file is a link, a folder, a pipe or a device. A link could point to any
    other file of the account, to which the line of a release would be appended.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise Refused(
            f"{RELEASES}/{path.name} must be a regular file, got a link, a folder or a pipe: move the link, folder "
            "or pipe to another place"
        )


def _public(home: Path, root: Path) -> list[str]:
    """Return the reasons why ``confidential/`` must not be in its current location. Public and confidential files must
    be separate.
    """
    top = next((p for p in (root, *root.parents) if (p / ".git").exists()), root)
    inside = home.is_relative_to(top) or home.is_relative_to(root)
    if home != root / FOLDER and inside:
        return [f"{FOLDER}/ must not be a link into the project, got {home}"]
    if top.is_relative_to(home):
        return [f"{FOLDER}/ must not be a link to a folder that contains the project, got {home}"]
    if (root / RELEASES).resolve().is_relative_to(home):
        return [f"{RELEASES}/ must not lead into {FOLDER}/, because {RELEASES}/ is published"]
    return []


def _open(home: Path, path: Path) -> list[str]:
    """Return one message for every path that users other than the owner can open or change. Each message states a
    remedy.
    """
    remarks = _others(home)
    for part in (path, *path.parents):
        if part == home:
            break
        if part.exists() and stat.S_IMODE(part.stat().st_mode) & 0o002:
            name = f"{FOLDER}/{part.relative_to(home)}"
            remarks.append(f"{name} can be changed by any user: run chmod o-w {name}")
    return remarks


def _others(home: Path) -> list[str]:
    """Return one message for each reason why other users can open the folder of the confidential files. A user to whom
    the folder belongs could also replace the journal and its key.
    """
    if not home.is_dir():
        return []
    about, remarks = home.stat(), []
    if stat.S_IMODE(about.st_mode) & 0o077:
        remarks.append(f"{FOLDER}/ can be opened by other users: run chmod 700 {FOLDER}")
    if about.st_uid != os.geteuid():
        remarks.append(
            f"{FOLDER}/ belongs to another user (user ID {about.st_uid}), who can read and change the data and the "
            f"budget records: run the command as this user, or run chown -R {os.geteuid()} {home}"
        )
    return remarks


def _tracked(root: Path, home: Path, path: Path) -> list[str]:
    """Return a list with an error message if git tracks files of the confidential folder, now or in any commit. The
    function checks all repositories that contain this folder, the folder of the file `path`, or a link to the
    confidential folder. A failure of git is also an error.
    """
    named = root / FOLDER
    inside = [part for part in dict.fromkeys((home, path.parent)) if part.is_dir()]
    looked = [(part, part) for part in inside if _git.repositories_around(part)]
    looked += [(top, home) for top in _git.repositories_around(home)[1:]]
    looked += [(top, named) for top in _git.repositories_around(root)] if named.is_symlink() else []
    for place, part in looked:
        what = f":(literal){part.relative_to(place)}" if part != place else "."
        try:
            listed = _git.output(place, "ls-files", "-z", "--", what).split("\0")[0]
            tracked = listed or _git.output(place, "rev-list", "--all", "-n", "1", "--", what).strip()[:12]
        except _git.GitError as error:
            return [
                f"git cannot determine whether its repository contains files of {FOLDER}/ ({error}): "
                "follow git's advice if "
                f"you trust this repository, or move the data out of it and make {FOLDER}/ a link to their folder"
            ]
        if tracked:
            return [
                f"git tracks files of {FOLDER}/ ({tracked if listed else f'commit {tracked}'}): run git rm --cached on "
                "them and remove them from the history; files that were already published, including the key, "
                "remain public"
            ]
    return []

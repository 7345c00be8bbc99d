"""``python -m dpmultinomial._releases``: what releases have spent; with ``restore``, the books brought together again.

It works in the folder of config.yaml. ``restore`` makes the journal beside the confidential data, the public ledger and
the account's memory say the same, which is all that any of them knows; nothing that was spent is forgotten.
``restore FOLDER ..`` also takes over what was spent on data of folders that are gone.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from . import restoring


def main(arguments: Sequence[str]) -> None:
    """Print what was spent, or restore and print what was done; exit with words where that cannot be."""
    word, *folders = arguments or ["state"]
    if word not in ("state", "restore") or (word == "state" and folders):
        sys.exit("usage: python -m dpmultinomial._releases [state | restore [FOLDER ..]]")
    try:
        said = restoring.state(Path.cwd()) if word == "state" else restoring.restored(Path.cwd(), take_over=folders)
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    print("\n".join(said))


if __name__ == "__main__":
    main(sys.argv[1:])

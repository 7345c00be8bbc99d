"""Command ``python -P -m dpmultinomial._releases``, which prints the privacy budget that the releases have spent.

With ``restore``, the command restores the budget records. With ``new-account-key``, the command generates a new key for
the fingerprints of released files in the user account if the key is lost.

The command works in the folder of config.yaml. ``restore`` combines the entries of the journal next to the confidential
data, the public ledger and the copy of the journal in the user account, and writes all entries to all three, so that no
recorded spending is lost. ``restore FOLDER ..`` also includes the spending recorded for data in folders that no longer
exist.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from .. import _printing
from . import restoring


def main(arguments: Sequence[str]) -> None:
    """Print the privacy budget that the releases have spent, or restore the budget records or the key of the user
    account and print the steps that were performed. Exit with a message if this is not possible.
    """
    word, *folders = arguments or ["state"]
    if word not in ("state", "restore", "new-account-key") or (word != "restore" and folders):
        sys.exit("usage: python -P -m dpmultinomial._releases [state | restore [FOLDER ..] | new-account-key]")
    try:
        if word == "restore":
            text = restoring.restored(Path.cwd(), take_over=folders)
        else:
            text = restoring.state(Path.cwd()) if word == "state" else restoring.new_account_key()
    except (ValueError, OSError) as error:
        _printing.stop(error)
    _printing.show("\n".join(text))


if __name__ == "__main__":
    main(sys.argv[1:])

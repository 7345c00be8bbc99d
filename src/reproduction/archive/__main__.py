"""Write or verify an archive: ``python -m reproduction.archive [file]``, ``python -m reproduction.archive verify
[folder]``.
"""

import sys
from pathlib import Path

from ..paper import PaperError
from . import contents, verifying, writing


def main(arguments: list[str]) -> None:
    """Write the archive of the run in the current folder, or verify an unpacked archive."""
    try:
        if arguments[:1] == ["verify"]:
            print(verifying.verified(Path(*arguments[1:2] or ["."])))
        else:
            target = Path(*arguments[:1] or [writing.default_name()])
            print(f"{target}: {writing.write(target, Path.cwd())}")
    except (contents.ArchiveError, verifying.Differs, PaperError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])

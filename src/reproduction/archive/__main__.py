"""Command that writes or verifies an archive, ``python -m reproduction.archive [file]`` or
``python -m reproduction.archive verify [folder]``.

For the verification, Python is started again in isolated mode, without the compiled modules in the folder. In addition,
`make verify` runs `checksums` on the folder before any of its code.
"""

import os
import sys
import tempfile
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Write the archive of the run in the current folder, or verify an unpacked archive."""
    if arguments[:1] == ["verify"]:
        _isolate(arguments)
    from dpmultinomial import _printing

    from ..paper import PaperError
    from . import checksums, contents

    try:
        if arguments[:1] == ["verify"]:
            from . import verifying

            _printing.show(verifying.verified(Path(*arguments[1:2] or ["."])))
        else:
            from . import crate

            target = Path(*arguments[:1] or [crate.default_name()])
            _printing.show(f"{target}: {crate.write(target, Path.cwd())}")
    except (contents.ArchiveError, checksums.Differs, PaperError) as error:
        _printing.stop(error)


def _isolate(arguments: list[str]) -> None:
    """Restart Python without the current folder on its path, without Python's environment variables, and without
    existing bytecode files.
    """
    if sys.flags.isolated and sys.flags.dont_write_bytecode and sys.pycache_prefix:
        return
    with tempfile.TemporaryDirectory() as prefix:
        options = ["-I", "-B", "-X", f"pycache_prefix={prefix}", "-m", "reproduction.archive"]
        status = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, *options, *arguments])
    sys.exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])

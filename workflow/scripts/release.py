"""Make one release of confidential data, as a job of the workflow that runs only once."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial._printing import message, printable
from dpmultinomial._releases.room import make, spent
from reproduction.config import json_text

p = snakemake.params
asked = {"budgets": p.budgets, "root": Path.cwd()}
try:
    folder = make(p.name, json_text.decoded(p.settings), **asked)
    words = spent(p.name, json_text.decoded(p.settings), **asked)
except (ValueError, OSError, RuntimeError) as error:  # the messages are safe to show
    text = message(f"release {p.name}: {error}")
    print(text, file=sys.stderr)
    print(text, file=sys.__stderr__)
    sys.exit(1)
print(printable(f"release {p.name}: {folder.relative_to(Path.cwd())}"))
print(printable(f"release {p.name}: {words}"))

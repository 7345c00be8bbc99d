"""Adapter: one release of confidential data, made once."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from dpmultinomial._releases.room import make
from reproduction.config import json_text

p = snakemake.params
try:
    folder = make(p.name, json_text.decoded(p.settings), budgets=p.budgets, root=Path.cwd())
except (ValueError, OSError, RuntimeError) as error:  # their words are safe to show; a traceback is not needed
    text = f"release {p.name}: {error}"
    print(text, file=sys.stderr)
    print(text, file=sys.__stderr__)
    sys.exit(1)
print(f"release {p.name}: {folder.relative_to(Path.cwd())}")

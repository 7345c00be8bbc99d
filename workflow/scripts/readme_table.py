"""README's artefact tables from the manifest; with --write they are put in their place."""

import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
with (ROOT / "workflow/artefacts.tsv").open(newline="") as stream:
    rows = list(csv.DictReader(stream, delimiter="\t"))
lines = []
for paper in dict.fromkeys(row["paper"] for row in rows):
    lines += ["<details>", f"<summary>{paper}: every artefact, its file, rule and minutes</summary>", ""]
    lines += ["| artefact | file | rule | minutes |", "| --- | --- | --- | --- |"]
    ours = [row for row in rows if row["paper"] == paper]
    lines += [f"| {row['label']} | `{row['output']}` | `{row['rule']}` | {row['minutes']} |" for row in ours]
    lines += ["", "</details>", ""]
text = "<!-- artefacts -->\n" + "\n".join(lines) + "<!-- /artefacts -->"
readme = ROOT / "README.md"
if "--write" in sys.argv:
    pattern = re.compile("<!-- artefacts -->.*?<!-- /artefacts -->", re.DOTALL)
    readme.write_text(pattern.sub(lambda _: text, readme.read_text()))
else:
    print(text)

"""Adapter: the agreement table of all papers."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

import pandas as pd

from reproduction import tables

table = pd.concat([tables.read(path) for path in snakemake.input.tables], ignore_index=True)
tables.write(table, snakemake.output.tsv)
caption = "Every statement printed in the papers beside ours: what reproduces, what does not, and why."
first = ["paper", "artefact", "quantity", "verdict", "printed", "ours"]
shown = table[[*first, *(column for column in table if column not in first)]]
tables.write_html(shown, snakemake.output.html, title="Agreement with the papers", caption=caption, most=None)

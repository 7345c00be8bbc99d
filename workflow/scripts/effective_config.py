"""Adapter: the configuration as used, defaults and overlays included."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)

import yaml

from reproduction.config import sealing

text = yaml.safe_dump(sealing.unsealed(snakemake.params.config), sort_keys=False, default_flow_style=None, width=120)
Path(snakemake.output[0]).write_text(text, encoding="utf-8")

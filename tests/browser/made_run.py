"""Synthetic run, written in a second: a results folder per paper, with names that a hostile user would choose."""

import hashlib
import json

import numpy as np
import pandas as pd
import yaml
from PIL import Image

from reproduction import kind, paper, provenance
from reproduction.config import scenario_settings
from reproduction.scenarios import making
from reproduction.verdicts import agreement

END = "</script><script>alert(1)</script>"  # what must never end a script of a page
SECRET = "north,812404"  # a line of the confidential file
VERDICTS = tuple(agreement.VERDICTS)
SOUGHT = "Geweke"  # a word of a few statements
NOT_MADE = "table_1"  # an artefact of every run here that was not made, where a paper has one


def make(root, *, papers=None):
    """Write a run into `root`; return the slugs of its papers."""
    found = {slug: p for slug, p in paper.discover().items() if papers is None or slug in papers}
    config = {"root_seed": 7, "shards": 1, "run": list(found), "releases": {}, "budgets": {}}
    for p in found.values():
        _results(root, p)
    config["scenarios"] = _scenarios(root)
    config["releases"] = {
        "county": {"source": "survey", "data": "confidential/county.csv", "mechanism": "discrete_laplace"},
        "waiting": {"source": "survey", "data": "confidential/other.csv", "mechanism": "discrete_laplace"},
    }
    _release(root)
    (root / "results/config.effective.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    vouch(root)
    return list(found)


def vouch(root):
    """Write the checksums of every file, as the jobs that make the files do."""
    for folder in ("results", "figures"):
        for path in sorted((root / folder).rglob("*.*")):
            if path.parent == root / "results/scenarios":
                continue  # one provenance speaks for several files
            if path.suffix in (".csv", ".png", ".yaml"):
                beside = path.with_suffix(provenance.SUFFIX)
                made = json.loads(beside.read_text()) if beside.is_file() else {"function": "made up"}
                provenance.write(made, path)


def _results(root, p):
    folder = root / "results" / p.slug
    folder.mkdir(parents=True)
    (root / "figures" / p.slug).mkdir(parents=True)
    table = pd.DataFrame({"x": np.linspace(0, 1, 40), "status": ["exact"] * 39 + ["not converged"], "what": END})
    for artefact in p.artefacts:
        if artefact.name == NOT_MADE:
            continue
        if artefact.table and artefact.name != "errata":
            table.to_csv(folder / f"{artefact.name}.csv", index=False)
            (folder / f"{artefact.name}.provenance.json").write_text(json.dumps(_provenance(artefact.name)))
        if artefact.figure:
            _picture(root / f"figures/{p.slug}/{artefact.name}.png")
    errata = [{"number": n, "erratum": END, "evidence": f"evidence {n} <&>", "command": f"c {n}"} for n in (1, 2)]
    pd.DataFrame(errata).to_csv(folder / "errata.csv", index=False)
    statements(p).to_csv(folder / "agreement.csv", index=False)


def statements(p):
    """Return every printed statement with a verdict; the verdicts are assigned in turn."""
    printed = agreement.read_published(p.folder / "published.tsv")
    rows = printed.rename(columns={"value": "printed", "digits": "printed_digits", "error": "printed_error"})
    verdict = [VERDICTS[i % len(VERDICTS)] for i in range(len(rows))]
    ours = np.arange(len(rows), dtype=float) - 5
    rows = rows.assign(paper=p.slug, ours=ours, mc_se=0.25, z=0.0, variant="corrected", verdict=verdict)
    rows = rows.assign(note=[f"because {END} {i}" for i in range(len(rows))])
    rows = rows.assign(relation="", sees="", other_variants="published: differs")
    return rows.reindex(columns=list(agreement.COLUMNS))


def _provenance(name):
    packages = {"numpy": "2.4.6"}
    settings = {"words": END}
    made = {
        "function": f"papers.{name}",
        "settings": settings,
        "root_seed": 7,
        "commit": "c" * 40,
        "packages": packages,
    }
    return made | {"dpmultinomial": "0.2.0", "python": "3.11.7", "platform": "Linux", "machine": "x86_64"}


def _scenarios(root):
    """Write a case with a hostile name, a chain that failed, a batch with an invalid table, and a missing scenario."""
    counts = {END: 12.3, "b": -4.1, "c": 44.2}
    written = {
        "mine": {"kind": "noisy_counts", "counts": counts, "epsilon": 1.0, "total": 50, "among": [END, "b"]},
        "sites": {"kind": "noisy_counts", "file": str(root / "sites.csv"), "epsilon": 1.0},
        "chain": {"kind": "noisy_counts", "counts": {"d": 3, "e": 4}, "epsilon": 1.0, "total": 7},
        "absent": {"kind": "noisy_counts", "counts": [1, 2], "epsilon": 1.0},
    }
    rows = [f"t{t},{name},{value},50" for t in range(40) for name, value in (("a", 30.5), ("b", 19.1))]
    (root / "sites.csv").write_text("\n".join(["table,name,value,total", *rows, "broken,a,1,2", "broken,b,1,3"]) + "\n")
    kinds = kind.discover()
    (root / "figures/scenarios").mkdir(parents=True)
    for name in ("mine", "sites", "chain"):
        files = making.files(name, root)
        making.part(scenario_settings.single(name, written[name], kinds), files, root_seed=7)
        _picture(root / f"figures/scenarios/{name}.png")
        if name == "chain":  # as if it had been drawn by a chain that failed
            files.csv.write_text(files.csv.read_text().replace("exact", "not converged"))
            facts = json.loads(files.facts.read_bytes())
            facts["points"][0]["accuracy"] = [
                {"status": "not converged", "reason": "smallest ESS 12, required 400", "rows": 6}
            ]
            making.write_facts(facts, files.facts)
        provenance.write({"function": "made up"}, *files.all)
    return written


def _release(root):
    folder = root / "releases/county/1"
    folder.mkdir(parents=True)
    public = f'category,count\n"{END}",12\nsouth,7\n'
    (folder / "release.csv").write_text(public)
    record = {"release": "county", "generation": 1, "mechanism": "discrete_laplace", "law": "discrete Laplace"}
    record |= {"scale": 2.0, "step": 1, "sensitivity": 2, "sensitivity_norm": "L1", "total": 19, "categories": 2}
    record |= {"cost": {"relation": "replace a record", "epsilon": 1.0}, "neighbours": "replace a record"}
    record |= {"source": "survey", "hardened": True, "file": "release.csv", "versions": {"python": "3.11.7"}}
    record |= {"sha256": hashlib.sha256(public.encode()).hexdigest()}
    (folder / "record.json").write_text(json.dumps(record))
    (root / "confidential").mkdir()
    (root / "confidential/county.csv").write_text(f"category,count\n{SECRET}\n")
    (root / "confidential/.release_key").write_text("k" * 64)


def _picture(path):
    Image.new("RGB", (640, 320), "white").save(path)

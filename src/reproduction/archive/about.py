"""What the project says of itself to registries, from CITATION.cff and pyproject.toml: .zenodo.json, codemeta.json.

``python -m reproduction.archive.about`` writes both files; a test holds them against this module.
"""

import json
import tomllib
from typing import Any

import yaml

from dpmultinomial import __version__

from . import contents

FILES = (".zenodo.json", "codemeta.json")


def facts() -> dict[str, str]:
    """Title, description, author, version, licence."""
    citation, project = _read()
    title, author = citation["title"], citation["authors"][0]["name"]
    licence = f"https://spdx.org/licenses/{citation['license']}"
    described = {"description": project["description"], "version": __version__, "license": licence}
    return {"title": title, "author": author} | described


def zenodo() -> dict[str, Any]:
    """What Zenodo reads when a version is deposited."""
    citation, project = _read()
    return {
        **{"title": citation["title"], "upload_type": "software", "description": project["description"]},
        **{"creators": [{"name": author["name"]} for author in citation["authors"]], "version": __version__},
        **{"license": citation["license"], "keywords": project["keywords"], "access_right": "open"},
        "notes": "Reproduces: " + "; ".join(_cited(paper) for paper in citation["references"]) + ".",
    }


def codemeta() -> dict[str, Any]:
    """CodeMeta 3.0."""
    citation, project = _read()
    return {
        **{"@context": "https://w3id.org/codemeta/3.0", "type": "SoftwareSourceCode", "name": project["name"]},
        **{"alternateName": citation["title"], "description": project["description"], "version": __version__},
        **{"license": facts()["license"], "keywords": project["keywords"], "developmentStatus": "active"},
        "author": [{"type": "Organization", "name": author["name"]} for author in citation["authors"]],
        "programmingLanguage": ["Python", "Cython", "Snakemake"],
        "runtimePlatform": f"Python {project['requires-python']}",
        "softwareRequirements": project["dependencies"],
        "referencePublication": [
            {"type": "ScholarlyArticle", "name": paper["title"], "datePublished": str(paper["year"])}
            for paper in citation["references"]
        ],
    }


def text(name: str) -> str:
    """The file of this name."""
    return json.dumps({FILES[0]: zenodo, FILES[1]: codemeta}[name](), indent=2, ensure_ascii=False) + "\n"


def _read() -> tuple[dict[str, Any], dict[str, Any]]:
    citation = yaml.safe_load((contents.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return citation, tomllib.loads((contents.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _cited(paper: dict[str, Any]) -> str:
    names = " and ".join(author["family-names"] for author in paper["authors"])
    return f"{names} ({paper['year']}), {paper['title']}"


if __name__ == "__main__":
    for file in FILES:
        (contents.ROOT / file).write_text(text(file), encoding="utf-8")

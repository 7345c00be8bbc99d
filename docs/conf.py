"""The documentation site: ``make docs`` builds it offline, warnings are errors."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs/_ext")]

project = "dpmultinomial"
author = "The dpmultinomial contributors"
version = release = import_module("dpmultinomial").__version__
project_copyright = author

extensions = [
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "sphinx_design"),
    *("mathml", "docstrings", "papers", "release_keys", "gallery"),
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext", "_templates", "api/*.reference*"]  # twins serve the tests alone
templates_path = ["_templates"]
nitpicky = False
smartquotes = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = project
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static", str(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSerif.ttf"))]  # for formulas
html_sidebars = {page: [] for page in ("index", "start", "results", "gallery")}
html_css_files = ["site.css"]
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_depth": 3,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _elsewhere(package: ModuleType) -> list[str]:
    """Public names of a package that a submodule of it defines, by their full names."""
    named = {name: getattr(package, name) for name in getattr(package, "__all__", ())}
    return [f"{v.__module__}.{n}" for n, v in named.items() if hasattr(v, "__module__") and callable(v)]


for _page in (ROOT / "docs/api").glob("dpmultinomial*.rst"):  # of a module that is gone
    if find_spec(_page.stem) is None:
        _page.unlink()

_library = import_module("dpmultinomial")
_rooms = [name for name in _library.__all__ if (Path(_library.__path__[0]) / name / "__init__.py").is_file()]
autosummary_context = {
    "elsewhere": {f"dpmultinomial.{room}": _elsewhere(import_module(f"dpmultinomial.{room}")) for room in _rooms}
}


def _inherited(app, what, name, obj, skip, options):
    """Leave out what other packages write into our classes (scikit-learn's metadata requests)."""
    return skip or bool(re.fullmatch(r"set_\w+_request", name.rpartition(".")[2]))


def setup(app):
    """Hooks of this site alone."""
    app.connect("autodoc-skip-member", _inherited)

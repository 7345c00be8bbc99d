"""The documentation site: ``make docs`` builds it offline, warnings are errors."""

import re
import sys
from importlib import import_module
from pathlib import Path

import matplotlib

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs/_ext")]

project = "dpmultinomial"
author = "The dpmultinomial contributors"
version = release = import_module("dpmultinomial").__version__
project_copyright = author

extensions = [
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "sphinx_design"),
    *("docstrings", "papers", "release_keys", "gallery"),
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = False
smartquotes = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 110
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


for _page in (ROOT / "docs/api").glob("*.rst"):  # of a name that is gone
    if _page.stem.rpartition(".")[2] not in import_module("dpmultinomial").__all__:
        _page.unlink()


def _inherited(app, what, name, obj, skip, options):
    """Omit what other packages write into our classes (scikit-learn's methods and metadata requests)."""
    foreign = str(getattr(obj, "__module__", "")).startswith("sklearn")
    return skip or foreign or bool(re.fullmatch(r"set_\w+_request", name.rpartition(".")[2]))


def setup(app):
    """Hooks of this site alone."""
    app.connect("autodoc-skip-member", _inherited)

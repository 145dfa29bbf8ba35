"""How the pages are built: ``sphinx-build -W --keep-going -b html docs OUT``."""

import importlib.util
import os
import sys
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.append(str(Path(__file__).parent.parent))  # reproductions

import figures

import trueness

if importlib.util.find_spec("torch") is None:  # its reference page is then written without it
    autodoc_mock_imports = ["torch"]

project = "trueness"
author = "The trueness developers"
copyright = "The trueness developers, BSD 3-Clause"
release = version = trueness.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "figures",
    "formulas",
    "capabilities",
    "docstrings",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "_build",
    "gallery",
    "sg_execution_times.rst",
    "auto_examples/sg_execution_times.rst",
]
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

# Docstrings: numpy style, a name in single backticks is a link where it is one.
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 72
add_module_names = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "auto_examples/backreferences",
    "doc_module": ("trueness",),
    "image_scrapers": (figures.scrape,),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 10**6,
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": "True",
    "write_computation_times": False,
    "reset_modules": (),
    "ignore_repr_types": r"(matplotlib|trueness\.plots)\.",
}

html_theme = "pydata_sphinx_theme"
html_title = "trueness"
html_static_path = ["_static"]
html_css_files = ["trueness.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "tutorial": [], "citation": []}
html_copy_source = False
html_math_renderer = "drawn"
html_theme_options = {
    "logo": {"text": "trueness"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

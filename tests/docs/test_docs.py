"""The documentation: every block of every page runs and prints what the page shows; the pages build, link and load nothing."""

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT

import trueness
from trueness.metrics.registry import METRICS

DOCS = ROOT / "docs"
BUILT = {"_build", "auto_examples"}
sys.path.insert(0, str(DOCS / "_ext"))

import pages  # noqa: E402

# Packages whose own imports warn on this Python, or with each other's newest releases.
NOISY = {"pyspark", "dask", "distributed", "netcal", "torchmetrics", "relplot"}
# Shell blocks that are not of this library's command: installing it, and measuring it for half an hour.
NOT_RUN = ("pip install", "python -m benchmarks", "trueness reproduce")


def sources(suffix):
    return sorted(path for path in DOCS.rglob(f"*{suffix}") if not BUILT & set(path.relative_to(DOCS).parts))


PAGES = [page for page in sources(".md") if pages.runs(page)]


def need(page):
    """Skip a page whose packages are not installed."""
    for package in pages.packages(page):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    if "pyspark" in pages.packages(page) and shutil.which("java") is None:
        pytest.skip("Spark needs Java")


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).with_suffix("").as_posix())
def test_page(page, tmp_path, monkeypatch):
    """Its blocks run in order, in an empty folder, and print what stands below them."""
    import matplotlib.pyplot as plt

    need(page)
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    with warnings.catch_warnings():
        if NOISY & pages.packages(page):
            warnings.simplefilter("ignore")
        for block, printed in pages.run(page):
            shown = "nothing" if block.shown is None else f"\n{block.shown}"
            assert pages.same(block.shown, printed), f"{page.name}:{block.line} prints\n{printed}\nbut the page shows {shown}"
    plt.close("all")


def test_no_block_is_forgotten():
    """A shell block that does not run is one of the few kinds that need not."""
    for page in sources(".md"):
        for block in pages.blocks(page):
            if block.kind == "sh" and pages.commands(block) is None:
                lines = [line for line in block.code.splitlines() if line]
                assert all(line.startswith(NOT_RUN) for line in lines), f"{page}:{block.line}"
            assert block.kind in {"python", "sh", "yaml", *pages.SHOWN} or block.kind.startswith("{"), f"{page}:{block.line}"


# As built


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages, built from a copy with warnings as errors."""
    for package in ("sphinx", "pydata_sphinx_theme", "sphinx_gallery", "myst_parser", "ziamath", "sklearn", "torch"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns(*BUILT, "__pycache__"))
    shutil.copytree(ROOT / "reproductions", folder / "reproductions", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "html"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


class Anchors(HTMLParser):
    """Where a page points to, what it loads, and what may be pointed to."""

    def __init__(self, page):
        super().__init__()
        self.links, self.loads, self.ids = [], [], []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.ids += [held[name] for name in ("id", "name") if held.get(name) and (name == "id" or tag == "a")]
        if tag == "a" and held.get("href"):
            self.links.append(held["href"])
        if tag in ("img", "script", "iframe", "source", "video", "audio", "embed") and held.get("src"):
            self.loads.append(held["src"])
        if tag == "link" and held.get("href") and {"stylesheet", "preload", "icon", "shortcut"} & set(held["rel"].split()):
            self.loads.append(held["href"])


@pytest.fixture(scope="module")
def anchors(site):
    return {page: Anchors(page) for page in site.rglob("*.html") if "_static" not in page.parts}


@pytest.mark.full
def test_every_internal_link_and_anchor_resolves(site, anchors):
    dead = []
    for page, held in anchors.items():
        for link in [*held.links, *held.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
            if not target.is_file():
                dead.append(f"{page.relative_to(site)} → {link}")
            elif parts.fragment and target in anchors and unquote(parts.fragment) not in anchors[target].ids:
                dead.append(f"{page.relative_to(site)} → {link} (no such anchor)")
    assert dead == []


def test_no_page_loads_anything_from_elsewhere(site, anchors):
    outside = [f"{page.name}: {load}" for page, held in anchors.items() for load in held.loads if urlsplit(load).netloc]
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        outside += [f"{sheet.name}: {found}" for found in re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\"]+", text)]
    assert outside == []


def public_names():
    import reproductions
    from trueness import brownian

    yield from (f"trueness.{name}" for name in trueness.__all__)
    yield from (f"trueness.brownian.{name}" for name in brownian.__all__)
    yield from (f"reproductions.{name}" for name in reproductions.__all__)
    yield "trueness.torch.CalibrationSummary"


def test_every_public_name_has_an_entry(anchors):
    ids = {name for page, held in anchors.items() if page.parent.name == "reference" for name in held.ids}
    entries = {name.removeprefix("module-") for name in ids}
    assert sorted(set(public_names()) - entries) == []


def test_the_table_of_metrics_is_the_registry(site):
    text = (site / "reference" / "metrics.html").read_text(encoding="utf-8")
    table = text[text.index("<table") : text.index("</table>")]
    assert re.findall(r'title="trueness\.(\w+)"', table) == list(METRICS)


def test_the_command_line_page_has_every_command(site):
    from trueness.cli.commands import cli

    text = (site / "command-line.html").read_text(encoding="utf-8")
    for name in cli.commands:
        assert f'id="trueness-{name}"' in text


def test_ten_examples_at_least(site):
    examples = list((site / "auto_examples").glob("plot_*.html"))
    assert len(examples) >= 10
    for example in examples:
        text = example.read_text(encoding="utf-8")
        assert "picture" in text, example.name
        assert "Traceback" not in text, example.name


@pytest.mark.full
def test_search_works_without_a_network(site):
    """In a real browser, from the files themselves."""
    api = pytest.importorskip("playwright.sync_api")
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if where is None:
        pytest.skip("no Chromium on this machine")
    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    asked = []
    with api.sync_playwright() as playwright:
        engine = playwright.chromium.launch(executable_path=where, args=quiet)
        context = engine.new_context(offline=True)
        tab = context.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto((site / "search.html").as_uri() + "?q=noise+floor")
        tab.wait_for_selector("#search-results li a", timeout=60_000)
        found = tab.locator("#search-results li").count()
        wide = {}
        for name in ("index", "tutorial", "reference/metrics", "how-to/gate-a-release", "explanation/side-by-side", "validity"):
            tab.set_viewport_size({"width": 390, "height": 800})
            tab.goto((site / f"{name}.html").as_uri())
            wide[name] = tab.evaluate("document.documentElement.scrollWidth")
        engine.close()
    assert found >= 5
    assert {name: width for name, width in wide.items() if width > 390} == {}
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


# Words


def test_spelling():
    """Common misspellings, in the pages, the examples and the docstrings."""
    if importlib.util.find_spec("codespell_lib") is None:
        pytest.skip("needs codespell: pip install -e '.[docs]'")
    files = [
        *sources(".md"),
        *sources(".py"),
        *sorted(Path(inspect.getfile(trueness)).parent.rglob("*.py")),
        ROOT / "README.md",
    ]
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words-list", "ECCE,ecce,smECE", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

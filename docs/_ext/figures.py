"""Pictures for light and for dark pages: those that a page's own code saves, and those of the gallery."""

import ast
import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pages
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = Path("_build", "figures")  # within the source folder, ignored by git
_INK, _PAPER = "#d8dce2", "none"
_LIGHTER = 0.25  # of the way to white
_PIXELS_PER_INCH = 84  # on the page; files have more


def darken(figure: Any) -> None:
    """Black becomes light, white becomes clear and colours become a little lighter, in every artist."""
    import matplotlib.colors as mcolors

    def turned(color: Any) -> Any:
        *rgb, alpha = mcolors.to_rgba(color)
        if alpha == 0 or min(rgb) >= 0.95:
            return "none"  # and not a clear colour, to which an artist's own alpha would be applied
        if max(rgb) <= 0.2:
            return (*mcolors.to_rgb(_INK), alpha)
        return (*(part + _LIGHTER * (1 - part) for part in rgb), alpha)

    for artist in figure.findobj():
        for what in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
            getter, setter = (
                getattr(artist, f"get_{what}", None),
                getattr(artist, f"set_{what}", None),
            )
            if getter is None or setter is None:
                continue
            old = getter()
            if (
                old is None
                or (isinstance(old, str) and old in ("none", "auto"))
                or len(old) == 0
            ):
                continue
            several = not mcolors.is_color_like(old)
            setter([turned(color) for color in old] if several else turned(old))


def save_pair(figure: Any, path: Path, **options: Any) -> None:
    """The figure as it is, and beside it as NAME-dark.png for dark pages."""
    figure.savefig(path, **options)
    darken(figure)
    figure.savefig(path.with_stem(f"{path.stem}-dark"), **options | {"facecolor": _PAPER})


@contextlib.contextmanager
def _saving_pairs() -> Iterator[None]:
    """While a page's code runs, each figure that it saves is saved twice."""
    from matplotlib.figure import Figure

    plain = Figure.savefig

    def savefig(self: Any, path: Any, **options: Any) -> None:
        Figure.savefig = plain
        try:
            save_pair(self, Path(path), **options)
        finally:
            Figure.savefig = savefig

    Figure.savefig = savefig
    try:
        yield
    finally:
        Figure.savefig = plain


def draw_pages(app: Sphinx) -> None:
    """Run the pages that show a picture of their own."""
    import matplotlib.pyplot as plt

    for page in sorted(Path(app.srcdir).rglob("*.md")):
        if "```{picture}" not in page.read_text(encoding="utf-8"):
            continue
        folder = Path(app.srcdir) / FOLDER / page.relative_to(app.srcdir).with_suffix("")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with contextlib.chdir(folder), _saving_pairs():
            space: dict[str, Any] = {"__name__": "__page__"}
            for block in pages.blocks(page):
                if block.kind == "python":
                    pages.run_python(block, page, space)
        plt.close("all")


class Picture(SphinxDirective):
    """A figure that this page's code has saved, in the colours of the reader's theme."""

    required_arguments = 1
    option_spec = {"alt": directives.unchanged_required, "width": directives.unchanged}  # noqa: RUF012 - docutils' manner

    def run(self) -> list[nodes.Node]:
        """Two images, of which the theme shows one."""
        name = Path(self.arguments[0])
        folder = FOLDER / self.env.docname
        found: list[nodes.Node] = []
        for file, theme in (
            (name, "only-light"),
            (name.with_stem(f"{name.stem}-dark"), "only-dark"),
        ):
            image = nodes.image(
                uri=f"/{(folder / file).as_posix()}",
                alt=self.options["alt"],
                classes=[theme, "picture"],
            )
            if "width" in self.options:
                image["width"] = self.options["width"]
            found.append(image)
        return [nodes.container("", *found, classes=["pictures"])]


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Sphinx-Gallery's scraper: every open figure, light and dark."""
    import matplotlib.pyplot as plt

    title = (
        ast.get_docstring(ast.parse(Path(block_vars["src_file"]).read_text(encoding="utf-8")))
        or ""
    )
    lines = [".. container:: pictures", ""]
    alt = f"Figure of the example: {title.partition(chr(10))[0]}"
    for number in plt.get_fignums():
        figure = plt.figure(number)
        path = Path(next(block_vars["image_path_iterator"]))
        save_pair(figure, path, dpi=150)
        for file, theme in (
            (path, "only-light"),
            (path.with_stem(f"{path.stem}-dark"), "only-dark"),
        ):
            uri = "/" + file.relative_to(gallery_conf["src_dir"]).as_posix()
            lines += [
                f"   .. image:: {uri}",
                f"      :class: {theme} picture",
                f"      :alt: {alt}",
                f"      :width: {round(_PIXELS_PER_INCH * figure.get_figwidth())}px",
                "",
            ]
    plt.close("all")
    return "\n".join(lines) if len(lines) > 2 else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register."""
    app.add_directive("picture", Picture)
    app.connect("builder-inited", draw_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

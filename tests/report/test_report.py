"""The report page: what it holds, that nothing from data becomes markup, and that it works in a real browser."""

import base64
import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueness import assess, reliability_curve, summarize
from trueness.demo import make_demo
from trueness.report import render

Y, P, _ = make_demo(4000)
PAYLOADS = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><script>alert(1)</script>", "{{7*7}}",
    "javascript:alert(1)", "a\u2028b\u2029c", "\u202egnp.exe", "nul\x00byte", "' onmouseover='alert(1)", "<!--", "]]>",
    "&lt;b&gt;", "</title><svg onload=alert(1)>",
)  # fmt: skip


class Elements(HTMLParser):
    """How often each element and attribute occurs."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[tuple[str, ...]] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag,] += 1
        for name, _ in attrs:
            self.seen[tag, name] += 1


def elements(page: str) -> Counter[tuple[str, ...]]:
    parser = Elements()
    parser.feed(page)
    parser.close()
    return parser.seen


def grouped(name: str) -> Any:
    return assess(Y[:200], P[:200], by=np.where(P[:200] < 0.5, name, "other"), metrics=["ecce_r"])


@pytest.fixture(scope="module")
def found() -> Any:
    return assess(Y, P, by=np.array(["north", "south", "east"])[np.arange(len(Y)) % 3])


@pytest.fixture(scope="module")
def page(found: Any) -> str:
    return render(found)


@pytest.fixture(scope="module")
def benign() -> Any:
    return elements(render(grouped("plain"), title="plain", source="plain"))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_names_from_data_never_become_markup(payload, benign) -> None:
    hostile = render(grouped(payload), title=payload, source=payload)
    assert elements(hostile) == benign
    assert not any(len(key) == 2 and key[1].startswith("on") for key in elements(hostile))
    json.loads(embedded(hostile))


def embedded(page: str) -> str:
    return re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)


def test_the_policy_names_the_one_script(page) -> None:
    script = re.search(r"<script>(.*?)</script>", page, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in page
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:|//)""", page)
    assert page.count("<script") == 2


def test_the_page_reads_without_a_script(found, page) -> None:
    text = re.sub(r"<[^>]+>", "", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S))
    assert found.verdict.replace("'", "&#x27;") in text
    for words in ("noise floor", "What these numbers mean", "How this was computed", "north", "south", "seed"):
        assert words in text
    assert 'id="local-line" class="line" d="M' in page


def test_the_embedded_results_are_those_of_the_assessment(found, page) -> None:
    held = json.loads(embedded(page))
    assert held["results"] == json.loads(json.dumps(found.to_dict()))


@pytest.mark.full
def test_a_large_report_stays_small() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(300_000)
    page = render(assess(summarize((rng.random(len(f)) < f).astype(int), f)))
    assert len(page.encode()) < 300_000


def test_written_whole(found, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    found.report(target, title="A title")
    assert "<title>A title</title>" in target.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_notebook_shows_the_same(found) -> None:
    html = found._repr_html_()
    assert "SmoothECE" in html
    assert all(name in html for name in ("north", "south", "east"))
    assert "<button" not in html
    assert html.count("<svg") == 2
    assert "<script" not in html


# In a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if where is None:
        pytest.skip("no Chromium on this machine")
    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    with api.sync_playwright() as playwright:
        engine = playwright.chromium.launch(executable_path=where, args=[*quiet, "--disable-sync", "--disable-quic"])
        yield engine
        engine.close()


@pytest.fixture
def tab(browser: Any, page: str, tmp_path: Path) -> Iterator[Any]:
    target = tmp_path / "report.html"
    target.write_text(page, encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1100, "height": 900})
    shown = context.new_page()
    trouble: list[str] = []
    shown.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
    shown.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    shown.on("request", lambda request: None if request.url.startswith("file:") else trouble.append(f"request: {request.url}"))
    shown.goto(target.as_uri())
    yield shown
    assert trouble == []
    context.close()


def drawn(tab: Any) -> np.ndarray:
    """The points of the curve in units of the data."""
    held = json.loads(tab.locator("#data").text_content())
    frame, (low, high) = held["frame"], held["curve"]["window"]
    numbers = re.findall(r"[ML]([\d.]+) ([\d.]+)", tab.locator("#local-line").get_attribute("d"))
    x, y = np.array(numbers, dtype=float).T
    share = np.stack([(x - frame["left"]) / frame["wide"], 1 - (y - frame["top"]) / frame["tall"]], axis=1)
    return low + (high - low) * share


def slide(tab: Any, place: int) -> float:
    """Moves the slider; returns the bandwidth it says."""
    tab.locator("#bandwidth").fill(str(place))
    return float(
        tab.locator("#bandwidth").get_attribute("data-width") or tab.evaluate("JSON.parse(data.textContent).curve.bandwidth")
    )


@pytest.mark.parametrize("place", [0, 35, 50, 100])
def test_the_slider_draws_the_library_s_curve(tab, place) -> None:
    curve, line = reliability_curve(Y, P, bandwidth=slide(tab, place)), drawn(tab)
    np.testing.assert_allclose(line[:, 1], np.interp(line[:, 0], curve.score, curve.outcome), atol=1e-4)
    hidden = tab.locator("#confidence").get_attribute("visibility") == "hidden"
    assert hidden == (place != 50)


def test_the_slider_begins_at_the_curve_s_own_bandwidth_and_moves_on_from_there(tab, found) -> None:
    assert slide(tab, 50) == found.local_curve.bandwidth
    assert slide(tab, 51) / found.local_curve.bandwidth == pytest.approx(4 ** (1 / 50))
    near = drawn(tab)
    slide(tab, 50)
    own = drawn(tab)
    assert np.abs(np.interp(near[:, 0], own[:, 0], own[:, 1]) - near[:, 1]).max() < 0.01


def open_page(browser: Any, page: str, tmp_path: Path) -> Any:
    target = tmp_path / "other.html"
    target.write_text(page, encoding="utf-8")
    shown = browser.new_page()
    shown.goto(target.as_uri())
    return shown


def test_the_curve_of_rare_events_survives_the_slider(browser, tmp_path) -> None:
    rng = np.random.default_rng(0)
    f = rng.beta(2, 500, 100_000)
    found = assess(rng.random(100_000) < f, f, metrics=["ecce_r"])
    assert found.local_curve.scale == "logit"
    shown = open_page(browser, render(found), tmp_path)
    before = shown.locator("#local-line").get_attribute("d")
    curve = reliability_curve(found.data, bandwidth=slide(shown, 20), scale="logit")
    line, high = drawn(shown), found.local_curve.window[1]
    inside = np.interp(line[:, 0], curve.score, curve.outcome)
    assert np.isnan(inside).sum() <= 2  # between a place that is drawn and one that is not
    np.testing.assert_allclose(line[:, 1], np.where(np.isnan(inside), line[:, 1], inside), atol=1e-3 * high)
    for name in ("#confidence", "#consistency", "#everywhere"):
        assert shown.locator(name).get_attribute("visibility") == "hidden"
    shown.locator("#bandwidth-reset").click()
    assert shown.locator("#local-line").get_attribute("d") == before
    shown.close()


def test_few_scores_are_dots_without_a_slider(browser, tmp_path) -> None:
    rng = np.random.default_rng(0)
    f = rng.integers(1, 10, 500) / 10
    shown = open_page(browser, render(assess(rng.random(500) < f, f, metrics=["ecce_r"])), tmp_path)
    assert shown.locator("#local .mark").count() == 9
    assert shown.locator("#bandwidth").count() == 0
    shown.locator("#local").focus()
    shown.keyboard.press("ArrowRight")
    assert shown.locator("#local-reading").text_content().startswith("prediction 0.200: happened 0.")
    shown.close()


@pytest.mark.full
@pytest.mark.parametrize("shape", ["uniform", "ends"])
def test_the_page_is_small_for_many_rows_and_groups(shape) -> None:
    rng = np.random.default_rng(1)
    n = 1_000_000
    f = rng.random(n) if shape == "uniform" else rng.beta(0.3, 0.3, n)
    y = rng.random(n) < f
    assert len(render(assess(summarize(y, f)))) < 300_000
    many = assess(y[:200_000], f[:200_000], by=np.arange(200_000) % 3000, metrics=["ecce_r"])
    page = render(many)
    assert len(page) < 400_000
    assert "2800 groups with larger p-values are not listed" in page
    assert json.loads(embedded(page))["results"]["groups_not_listed"] == 2800


@pytest.mark.parametrize("bins", [5, 20, 100])
def test_the_bin_control_draws_the_library_s_bins(tab, bins) -> None:
    tab.locator("#bin-count").select_option(str(bins))
    curve = reliability_curve(Y, P, kind="binned", bins=bins)
    held = json.loads(tab.locator("#data").text_content())["frame"]
    marks = tab.eval_on_selector_all(
        "#bins circle", "list => list.map(c => [Number(c.getAttribute('cx')), Number(c.getAttribute('cy'))])"
    )
    x = (np.array(marks)[:, 0] - held["left"]) / held["wide"]
    y = 1 - (np.array(marks)[:, 1] - held["top"]) / held["tall"]
    seen = curve.rows > 0
    np.testing.assert_allclose(x, curve.prediction[seen], atol=1e-4)
    np.testing.assert_allclose(y, curve.outcome[seen], atol=1e-4)
    assert tab.locator("#bin-value").text_content() == f"ECE {curve.binned_ece:#.3g}"


def column(tab: Any, number: int) -> list[str]:
    return tab.eval_on_selector_all("table.sortable tbody tr", f"rows => rows.map(r => r.cells[{number}].textContent)")


def test_groups_sort_by_mouse_and_by_keyboard(tab) -> None:
    buttons = tab.locator("table.sortable th button")
    buttons.nth(0).click()
    assert column(tab, 0) == ["east", "north", "south"]
    buttons.nth(0).click()
    assert column(tab, 0) == ["south", "north", "east"]
    assert tab.locator("table.sortable th").nth(0).get_attribute("aria-sort") == "descending"
    buttons.nth(2).focus()
    tab.keyboard.press("Enter")
    values = [float(text) for text in column(tab, 2)]
    assert values == sorted(values)


def test_the_pointer_and_the_keys_read_the_curves(tab) -> None:
    tab.locator("#local").hover()
    assert re.match(r"prediction 0\.\d+: happened 0\.\d+", tab.locator("#local-reading").text_content())
    tab.locator("#cumulative").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#cumulative-reading").text_content().startswith("scores up to ")


def test_everything_has_a_name_and_enough_contrast(tab) -> None:
    unnamed = tab.evaluate(
        """() => [...document.querySelectorAll("input, select, button, svg[role=img]")].filter(e =>
            !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute("aria-label") &&
            !document.getElementById(e.getAttribute("aria-labelledby"))).map(e => e.outerHTML)"""
    )
    assert unnamed == []
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.evaluate("document.querySelectorAll('h1').length") == 1
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        pairs = tab.evaluate(
            """() => [...document.querySelectorAll("h1, h2, p, td, th, dt, dd, figcaption, caption, label, span")].map(e => {
                let back = e;
                while (back && getComputedStyle(back).backgroundColor === "rgba(0, 0, 0, 0)") back = back.parentElement;
                return [getComputedStyle(e).color, back ? getComputedStyle(back).backgroundColor : "rgb(255, 255, 255)"]; })"""
        )
        assert min(contrast(*pair) for pair in pairs) >= 4.5, scheme


def contrast(a: str, b: str) -> float:
    """The ratio of WCAG 2."""

    def luminance(color: str) -> float:
        channels = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_phone_needs_no_sideways_scrolling(tab) -> None:
    tab.set_viewport_size({"width": 360, "height": 740})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_print_leaves_the_controls_out(tab) -> None:
    tab.emulate_media(media="print")
    assert not tab.locator("#bandwidth").is_visible()
    assert tab.locator("#local").is_visible()


def test_without_scripts_the_controls_are_hidden(browser, page, tmp_path) -> None:
    target = tmp_path / "report.html"
    target.write_text(page, encoding="utf-8")
    context = browser.new_context(java_script_enabled=False, offline=True)
    shown = context.new_page()
    shown.goto(target.as_uri())
    assert not shown.locator("#bandwidth").is_visible()
    assert shown.locator(".verdict").is_visible()
    context.close()

"""The page of a comparison: what it holds, and that no predictor's name becomes markup."""

import re
from functools import cache
from html import escape

import pytest

from trueness import compare
from trueness.demo import make_demo
from trueness.report.compare import notebook_comparison, render_comparison

Y, P, TRUTH = make_demo(400)


@cache
def compared(name):
    return compare(Y, {name: P, "truth": TRUTH}, metrics=["ecce_r", "brier_score"])


@pytest.mark.parametrize("name", ["<b>x</b>", "<img src=x>", 'a"b', "&lt;i&gt;", "</title><p>"])
def test_names_never_become_markup(name):
    found = compared(name)
    plain, odd = (re.sub(r"[^<>]", "", page) for page in (render_comparison(compared("x")), render_comparison(found)))
    assert odd == plain  # the same brackets, whatever the name
    assert escape(name) in render_comparison(found)
    assert name not in notebook_comparison(found) or name == escape(name)


def test_the_title_is_escaped():
    page = render_comparison(compared("model"), title="<b>&")
    assert "<title>&lt;b&gt;&amp;</title>" in page
    assert "<h1>&lt;b&gt;&amp;</h1>" in page


def test_the_page_holds_the_verdict_the_values_and_the_differences():
    found = compared("model")
    page = render_comparison(found)
    assert escape(found.verdict) in page
    for title, head, rows in (*found.value_tables(), *found.difference_tables()):
        for text in (title, *head, *(cell for row in rows for cell in row)):
            assert f">{escape(text)}</" in page
    assert "<script" not in page


def test_writing_it(tmp_path):
    found = compared("model")
    found.report(tmp_path / "page.html", title="Two")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == render_comparison(found, title="Two")
    assert found._repr_html_() == notebook_comparison(found)

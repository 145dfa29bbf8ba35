"""The page: every name from data escaped, one script whose hash is in the policy, numbers embedded as JSON."""

import base64
import hashlib
import json
import math
import os
import platform
import re
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from trueness import __version__
from trueness._atomic import write_atomically
from trueness._text import clean, percent, show_points
from trueness.assessment import Assessment
from trueness.curves.binned_curve import binned_curve
from trueness.curves.cumulative_curve import thinned
from trueness.curves.local_curve import ENOUGH, LocalCurve, behind
from trueness.data.sample import Sample
from trueness.inference.gap import WorstGap
from trueness.inference.groups import GroupTest
from trueness.metrics.registry import METRICS
from trueness.options import check_path, check_text
from trueness.report.svg import LEFT, SIZE, TALL, TOP, WIDE, binned_svg, cumulative_range, cumulative_svg, drawn, local_svg
from trueness.report.words import COLUMNS

BIN_CHOICES = (5, 10, 15, 20, 25, 50, 100)
_SLIDER = 4.0  # times the bandwidth at either end of the slider, its own in the middle
_POINTS = 600
_GROUPS = 200


def write_report(
    assessment: Assessment, path: str | os.PathLike[str], *, title: str = "Calibration report", source: str = ""
) -> None:
    """Write the page; the file appears whole or not at all."""
    write_atomically(check_path("path", path), render(assessment, title=title, source=source).encode("utf-8"))


def render(assessment: Assessment, *, title: str = "Calibration report", source: str = "") -> str:
    """The page as text."""
    title = clean(check_text("title", title), 200)
    script, style = part("page.js"), part("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
    )
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="verdict">{_unbroken(escape(assessment.verdict))}</p>',
        _metrics(assessment),
        _test(assessment),
        _diagrams(assessment),
        _bins(assessment),
        _groups(assessment),
        _meanings(assessment),
        _method(assessment, source),
    ]
    body = f'<body><main>{"".join(parts)}</main><script type="application/json" id="data">{_embedded(assessment)}</script>'
    return f"{head}{body}<script>{script}</script></body></html>\n"


def _unbroken(text: str) -> str:
    """Numbers such as 1.9e-21 on one line: browsers would break them after the minus sign."""
    return re.sub(r"[\d.]+e-\d+", r'<span class="whole">\g<0></span>', text)


def part(name: str) -> str:
    """A file of this folder."""
    return files("trueness.report").joinpath(name).read_text(encoding="utf-8")


def notebook(assessment: Assessment) -> str:
    """Verdict, table and both diagrams for a notebook's cell; follows its light or dark page as far as colours allow."""
    style = part("notebook.css")
    pair = f'<div class="pair">{local_svg(assessment.local_curve)}{cumulative_svg(assessment.cumulative_curve)}</div>'
    notes = "".join(f"<p>Note: {escape(clean(note, 1000))}</p>" for note in assessment.notes)
    verdict = f"<p><strong>{_unbroken(escape(assessment.verdict))}</strong></p>"
    groups = _groups(assessment, sortable=False)
    tables = f"{_metrics(assessment)}{_test(assessment)}"
    return f'<div class="trueness"><style>{style}</style>{verdict}{tables}{pair}{groups}{notes}</div>'


def _metrics(assessment: Assessment) -> str:
    names = ("metric", "value", f"{percent(assessment.level)} interval", "noise floor", "p")
    head = "".join(f'<th scope="col"{_right(i)}>{escape(name)}</th>' for i, name in enumerate(names))
    rows = []
    for line in assessment.metrics:
        cells = line.cells
        first = f'<th scope="row">{escape(cells[0])}</th>'
        rows.append(f"<tr>{first}{''.join(f'<td class=number>{escape(cell)}</td>' for cell in cells[1:])}</tr>")
    caption = f"{assessment.n} rows"
    return (
        f'<div class="scroll"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _test(assessment: Assessment) -> str:
    """The parts of the test, and what those saw that saw something; nothing where it has no more than one."""
    test = assessment.test.rest or assessment.test
    if len(test.parts) < 2:
        return ""
    seen, rows = test.seen(1 - assessment.level), []
    for part in test.parts:
        words = escape(part.words) if part in seen else ""
        rows.append(
            f'<tr><th scope="row">{escape(part.label)}</th><td class=number>{escape(part.shown)}</td><td>{words}</td></tr>'
        )
    whose = "of the other rows, " if assessment.test.rest is not None else ""
    caption = f"Combined test {whose}p {test.shown}, and what each part of it saw"
    head = '<th scope="col">part of the test</th><th scope="col" class="number">p alone</th><th scope="col">what it saw</th>'
    return (
        f'<div class="scroll"><table><caption>{_unbroken(escape(caption))}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _right(column: int) -> str:
    return ' class="number"' if column else ""


def _diagrams(assessment: Assessment) -> str:
    curve = assessment.local_curve
    level = percent(assessment.level)
    what = "What happened near each prediction"
    bands = "" if curve.soft else f"Grey: where {{}} would lie if predictions were perfect ({level}){{}}. "
    if curve.dots:
        slider, told = "", f"{what}, score by score. {bands.format('dots', ', all at once')}Bars: {level} intervals."
    else:
        slider = _slider(curve)
        both = "; light grey: all of it at once"
        told = (
            f"{what}, where at least {ENOUGH:.0f} rows are near. {bands.format('the curve', both)}"
            f"Blue band: {level} confidence, score by score. Along the bottom: where the predictions are."
        )
    local = f"<figure>{local_svg(curve)}{slider}<output id='local-reading'></output><figcaption>{told}</figcaption></figure>"
    marked, test = assessment.located.worst, assessment.test
    left_out = "" if test.rest is None else f"Left out: {test.contradictions} certain predictions that were wrong. "
    worst = left_out + ("" if marked is None else f"Marked: {escape(marked.described)}. ")
    cumulative = (
        f"<figure>{cumulative_svg(assessment.cumulative_curve)}<output id='cumulative-reading'></output><figcaption>Outcomes "
        f"less predictions, added up in the order of the scores: where the line falls, predictions are too high. {worst}The "
        "grey wedge shows the size of noise, ± 2σ.</figcaption></figure>"
    )
    return f'<h2>Where</h2><div class="pair">{local}{cumulative}</div>'


def _slider(curve: LocalCurve) -> str:
    return (
        '<div class="controls script-only"><label for="bandwidth">bandwidth</label>'
        '<input type="range" id="bandwidth" min="0" max="100" step="1" value="50">'
        f'<span id="bandwidth-value">{curve.bandwidth:.3g}{_unit(curve)} (by cross-validation)</span>'
        '<button type="button" id="bandwidth-reset">reset</button></div>'
    )


def _unit(curve: LocalCurve) -> str:
    return " in logits" if curve.scale == "logit" else ""


def _bin_counts(assessment: Assessment) -> list[int]:
    """Numbers of bins to choose from: those whose edges are left where cells were merged."""
    return [count for count in BIN_CHOICES if assessment.data.has_bins(count)] or [1]


def _bins(assessment: Assessment) -> str:
    counts = _bin_counts(assessment)
    first = 15 if 15 in counts else counts[-1]
    curve = binned_curve(assessment.data, bins=first, level=assessment.level)
    options = "".join(f'<option value="{count}"{" selected" if count == first else ""}>{count}</option>' for count in counts)
    chooser = (
        f'<div class="controls script-only"><label for="bin-count">bins</label><select id="bin-count">{options}</select>'
        f'<span id="bin-value">ECE {curve.binned_ece:.3g}</span></div>'
    )
    return (
        f'<h2>By bins</h2><div class="pair"><figure>{binned_svg(curve)}{chooser}<figcaption>Mean outcome against mean '
        f"prediction of bins of equal width, with {percent(assessment.level)} intervals. Empty bins are left out."
        '</figcaption></figure><figure style="visibility:hidden" aria-hidden="true"></figure></div>'
    )


def _groups(assessment: Assessment, *, sortable: bool = True) -> str:
    if assessment.groups is None:
        return ""
    names = ("group", "rows", "ECCE-R", "p", "p, adjusted")
    button = '<button type="button">{}</button>' if sortable else "{}"  # without the page's script it would do nothing
    head = "".join(f'<th scope="col"{_right(i)}>{button.format(name)}</th>' for i, name in enumerate(names))
    rows = [_group_row(each) for each in assessment.groups.ranked()[:_GROUPS]]
    hidden = len(assessment.groups) - len(rows)
    caption = "The combined test of each group; adjusted p-values hold for all groups together (Holm)."
    if hidden:
        caption += f" {hidden} groups with larger p-values are not listed."
    return (
        f'<h2>Groups</h2><div class="scroll"><table class="sortable"><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _group_row(each: GroupTest) -> str:
    name, rows, *texts = map(escape, each.cells(120))
    cells = [f'<th scope="row">{name}</th>', f'<td class="number" data-value="{rows}">{rows}</td>']
    if each.test is None or each.adjusted_log10_pvalue is None:
        nothing = '<td class="number" data-value="">–</td>'
        return f'<tr>{"".join(cells)}{nothing}{nothing}<td data-value="">{escape(each.reason)}</td></tr>'
    keys = (each.test.value, each.test.log10_pvalue, each.adjusted_log10_pvalue)
    cells += [
        f'<td class="number" data-value="{max(key, -1e300)!r}">{text}</td>' for key, text in zip(keys, texts, strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _meanings(assessment: Assessment) -> str:
    metrics = "".join(
        f"<dt>{escape(METRICS[line.name].label)}</dt><dd>{escape(METRICS[line.name].meaning)}</dd>"
        for line in assessment.metrics
    )
    columns = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in COLUMNS)
    return f"<h2>What these numbers mean</h2><dl>{metrics}{columns}</dl>"


def _method(assessment: Assessment, source: str) -> str:
    test = assessment.test
    settings = [
        ("rows used", str(assessment.n)),
        ("test", f"{test.statistic}, {test.method}: {test.reason}"),
        *([] if assessment.gap is None else [("worst range", _gap(assessment.gap))]),
        ("level of intervals", f"{assessment.level:g}"),
        ("intervals", assessment.interval.method),
        ("seed", str(assessment.seed)),
        ("curve", _curve_words(assessment.local_curve)),
        ("trueness", __version__),
        ("numpy, python", f"{np.__version__}, {platform.python_version()}"),
    ]
    if source:
        settings.insert(0, ("source", clean(source, 200)))
    settings += [("note", note) for note in assessment.notes]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in settings)
    return f"<h2>How this was computed</h2><dl>{listed}</dl>"


def _curve_words(curve: LocalCurve) -> str:
    if curve.dots:
        return "few scores, each by itself"
    return f"local linear, Gaussian kernel, bandwidth {curve.bandwidth:.6g}{_unit(curve)} by leave-one-out cross-validation"


def _gap(gap: WorstGap) -> str:
    """What is known of the range that is off the most."""
    observed, estimated, at_least = (show_points(each) for each in (gap.observed, gap.estimated, gap.at_least))
    return f"off by {observed} points as observed, by {estimated} as estimated, by {at_least} at least, whichever was chosen"


def _embedded(assessment: Assessment) -> str:
    """Everything as JSON that no page can mistake for its own text."""
    cumulative = assessment.cumulative_curve
    kept = thinned(cumulative.difference, _POINTS)
    points = zip(cumulative.share[kept], cumulative.difference[kept], cumulative.score[kept], strict=True)
    embedded = {
        "results": _results(assessment),
        "frame": {"size": SIZE, "left": LEFT, "top": TOP, "wide": WIDE, "tall": TALL},
        "curve": _embedded_curve(assessment.local_curve, assessment.data),
        "cumulative": [_short(np.array(point)) for point in points],
        "range": list(cumulative_range(cumulative)),
        "bins": {str(count): _bin_points(assessment.data, count, assessment.level) for count in _bin_counts(assessment)},
    }
    text = json.dumps(embedded, allow_nan=False, separators=(",", ":"))
    for letter in "<>&'\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _embedded_curve(curve: LocalCurve, sample: Sample) -> dict[str, Any]:
    """What the script draws the curve from at other bandwidths: sums of neighbouring scores; dots stay as they are."""
    shown = {"dots": curve.dots, "window": list(curve.window), "enough": ENOUGH, "logit": curve.scale == "logit"}
    if curve.dots:
        return {**shown, "drawn": [_short(curve.score), _short(curve.outcome)]}
    points = behind(curve, sample)
    kept = drawn(curve)
    return {
        **shown,
        "bandwidth": curve.bandwidth,
        "times": _SLIDER,
        "drawn": [_short(column[kept]) for column in (curve.score, curve.outcome)],
        "at": curve.score.tolist(),
        "score": points.score.tolist(),  # in full: near 1 it is the differences that count
        "weight": _short(points.weight),
        "e": _short(points.e),
        "w2": _short(points.w2) if points.weighted or points.soft else None,
    }


def _results(assessment: Assessment) -> dict[str, Any]:
    """What was found; of very many groups those that the page lists, and what parts of a test saw where it saw something."""
    embedded = assessment.to_dict()
    if assessment.groups is not None and len(assessment.groups) > _GROUPS:
        names = {id(each) for each in assessment.groups.ranked()[:_GROUPS]}
        kept = [place for place, each in enumerate(assessment.groups) if id(each) in names]
        embedded["groups_not_listed"] = len(embedded["groups"]) - len(kept)
        embedded["groups"] = [embedded["groups"][place] for place in kept]
        for group in embedded["groups"]:
            if group["adjusted_pvalue"] > 1 - assessment.level:
                group["test"].pop("parts", None)
    return embedded


def _bin_points(sample: Sample, count: int, level: float) -> dict[str, Any]:
    curve = binned_curve(sample.summary(), bins=count, level=level)
    filled = curve.rows > 0
    columns = (curve.prediction[filled], curve.outcome[filled], curve.low[filled], curve.high[filled])
    return {"ece": curve.binned_ece, "points": [_short(np.array(point)) for point in zip(*columns, strict=True)]}


def _short(values: Any) -> list[float | None]:
    """Numbers to ten digits: far below a pixel, half the size."""
    return [None if math.isnan(value) else float(f"{value:.10g}") for value in values.tolist()]

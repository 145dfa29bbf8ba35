"""What holds for every metric of the registry, whatever the data (STYLE 15); a metric added later is covered too."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueness import (
    brier_score,
    ecce,
    logit_smoothed_ece,
    smooth_ece,
    smooth_ece_area,
    summarize,
    weak_calibration_error,
)
from trueness.errors import NeedsRowsError
from trueness.metrics.registry import METRICS

# A third of the profile's examples: there are some thirty settings of a metric for each law.
LAW = settings(max_examples=settings().max_examples // 3, deadline=None, suppress_health_check=list(HealthCheck))

# DESIGN 4, from rows: what two right answers may differ by. Anything not named here is exact to 1e-12 absolute.
RELATIVE = {
    "smooth_ece": 1e-8,
    "smooth_ece_area": 1e-6,
    "logit_smoothed_ece": 1e-6,
    "weak_calibration_error": 1e-9,
    "distance_to_calibration": 1e-8,
    "log_loss": 1e-12,
    "decompose": 1e-12,
}

ENTRIES = [
    pytest.param(metric, dict(options), id=f"{name}-{options}" if options else name)
    for name, metric in METRICS.items()
    for options in ({}, *(v for v in metric.variants if v))
    if options.get("method") != "monte-carlo"  # random by definition
]
WEIGHTED = [p for p in ENTRIES if p.values[0].takes_weights_and_soft_labels(p.values[1])]


# ------------------------------------------------------------------------------------------------------------- helpers


def call(metric, options, *data, w=None):
    weights = {} if w is None else {"sample_weight": w}
    return metric.function(*data, **weights, **options)


def flat(value, leave=()):
    """Every number of a result, by name; the worst interval is left out, as rounding chooses between equal extremes."""
    if dataclasses.is_dataclass(value):
        value = value.to_dict()
    if isinstance(value, dict):
        parts = {k: v for k, v in value.items() if k not in {"worst", *leave}}
    elif isinstance(value, (tuple, list)):
        parts = dict(enumerate(value))
    elif value is None or isinstance(value, str):
        return {}
    else:
        return {"": float(value)}
    return {f"{k}.{rest}": x for k, v in parts.items() for rest, x in flat(v).items()}


def assert_same(metric, options, a, b, leave=()):
    a, b = flat(a, leave), flat(b, leave)
    assert a.keys() == b.keys()
    relative = RELATIVE.get(metric.name, 0)
    if options.get("scale", "probability") != "probability":
        relative = 1e-6
    for key in a:
        if options.get("debias"):  # a root near zero magnifies the last digits of its square
            assert a[key] ** 2 == pytest.approx(b[key] ** 2, abs=1e-12, rel=0)
        else:
            assert a[key] == pytest.approx(b[key], abs=1e-12, rel=relative), key


scores = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 0.1, 0.3, 0.1 + 0.2, 0.29, 1 / 3, 0.7, 0.99, 2.0**-20, 1 - 2.0**-53]),
    st.integers(0, 10).map(lambda k: k / 10),
    st.floats(0, 1),
)


@st.composite
def pairs(draw, soft=False, least=1, most=20):
    n = draw(st.integers(least, most))
    f = draw(st.lists(scores, min_size=n, max_size=n))
    label = st.one_of(st.sampled_from([0.0, 1.0]), scores) if soft else st.sampled_from([0.0, 1.0])
    y = draw(st.lists(label, min_size=n, max_size=n))
    return np.array(y), np.array(f)


def some_pairs(data, metric, options, **limits):
    soft = metric.takes_weights_and_soft_labels(options) and data.draw(st.booleans())
    return data.draw(pairs(soft=soft, **limits))


def some_weights(data, n, whole=False):
    one = st.integers(0, 3) if whole else st.floats(0.01, 10) | st.just(0.0)
    w = np.array(data.draw(st.lists(one, min_size=n, max_size=n)), dtype=np.float64)
    w[data.draw(st.integers(0, n - 1))] = 2.0
    return w


# ---------------------------------------------------------------------------------------------------------------- laws


def test_registry():
    assert METRICS
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.needs in ("summary", "rows")
        assert metric.bounds[0] <= metric.best <= metric.bounds[1]


@pytest.mark.parametrize(("metric", "options"), ENTRIES)
@given(data=st.data())
@LAW
def test_row_order(metric, options, data):
    y, f = some_pairs(data, metric, options)
    order = np.array(data.draw(st.permutations(range(len(f)))))
    w = some_weights(data, len(f)) if metric.takes_weights_and_soft_labels(options) else None
    moved = None if w is None else w[order]
    assert_same(metric, options, call(metric, options, y, f, w=w), call(metric, options, y[order], f[order], w=moved))


@pytest.mark.parametrize(("metric", "options"), WEIGHTED)
@given(data=st.data())
@LAW
def test_whole_number_weights_are_repeats(metric, options, data):
    y, f = some_pairs(data, metric, options)
    w = some_weights(data, len(f), whole=True)
    times = w.astype(int)
    repeated = call(metric, options, np.repeat(y, times), np.repeat(f, times))
    assert_same(metric, options, call(metric, options, y, f, w=w), repeated, leave={"sigma"})  # sigma counts rows


@pytest.mark.parametrize(("metric", "options"), WEIGHTED)
@given(data=st.data())
@LAW
def test_weight_zero_is_absence(metric, options, data):
    y, f = some_pairs(data, metric, options)
    w = some_weights(data, len(f))
    keep = w > 0
    assert_same(metric, options, call(metric, options, y, f, w=w), call(metric, options, y[keep], f[keep], w=w[keep]))


@pytest.mark.parametrize(("metric", "options"), WEIGHTED)
@given(data=st.data())
@LAW
def test_weight_scale(metric, options, data):
    y, f = some_pairs(data, metric, options)
    w = some_weights(data, len(f))
    c = data.draw(st.sampled_from([2.0, 0.1, 7.3, 1e-6, 1e6]))
    assert_same(metric, options, call(metric, options, y, f, w=w), call(metric, options, y, f, w=c * w))


@pytest.mark.parametrize(("metric", "options"), WEIGHTED)
@given(data=st.data())
@LAW
def test_no_weights_are_weights_of_one(metric, options, data):
    y, f = some_pairs(data, metric, options)
    assert_same(metric, options, call(metric, options, y, f), call(metric, options, y, f, w=np.ones(len(f))))


@pytest.mark.parametrize(("metric", "options"), ENTRIES)
@given(data=st.data())
@LAW
def test_bounds(metric, options, data):
    y, f = some_pairs(data, metric, options)
    low, high = metric.bounds
    for key, value in flat(call(metric, options, y, f)).items():
        assert low - 1e-12 <= value <= high + 1e-12, key
        assert not math.isnan(value)


@pytest.mark.parametrize(("metric", "options"), ENTRIES)
@given(data=st.data())
@LAW
def test_parts_merge_to_the_whole(metric, options, data):
    y, f = some_pairs(data, metric, options, least=2)
    cut = data.draw(st.integers(1, len(f) - 1))
    w = None
    if metric.takes_weights_and_soft_labels(options) and data.draw(st.booleans()):
        w = some_weights(data, len(f))
        w[[0, cut]] = 1.0
    bins = (options["bins"],) if "bins" in options else ()

    def part(rows):
        return summarize(y[rows], f[rows], sample_weight=None if w is None else w[rows], bins=bins)

    whole = part(slice(None))
    if not metric.takes_summary(options):
        with pytest.raises(NeedsRowsError):
            call(metric, options, whole)
        return
    expected = call(metric, options, whole)
    for merged in (part(slice(cut)) + part(slice(cut, None)), sum([part(slice(cut, None)), part(slice(cut))])):
        value = call(metric, options, merged)
        if w is None and np.all((y == 0) | (y == 1)):  # integer sums: the same bits
            assert flat(value) == flat(expected)
        else:
            assert_same(metric, options, value, expected)


@pytest.mark.parametrize(("metric", "options"), ENTRIES)
def test_inputs_are_read_not_written(metric, options):
    rng = np.random.default_rng(2)
    f = np.round(rng.random(300), 2)
    y = (rng.random(300) < f).astype(np.float64)
    w = rng.random(300) if metric.takes_weights_and_soft_labels(options) else None
    arrays = [a for a in (y, f, w) if a is not None]
    before = [a.copy() for a in arrays]
    for array in arrays:
        array.flags.writeable = False
    expected = call(metric, options, y, f, w=w)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))
    assert flat(call(metric, options, *before[:2], w=None if w is None else before[2])) == flat(expected)


@pytest.mark.parametrize(("metric", "options"), ENTRIES)
@given(data=st.data())
@LAW
def test_lists_are_arrays(metric, options, data):
    y, f = some_pairs(data, metric, options)
    w = some_weights(data, len(f)) if metric.takes_weights_and_soft_labels(options) else None
    value = call(metric, options, y.tolist(), f.tolist(), w=None if w is None else w.tolist())
    assert flat(value) == flat(call(metric, options, y, f, w=w))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_small_float_labels_are_promoted_before_any_sum(dtype):
    rng = np.random.default_rng(0)
    f = rng.random(200_000)
    y = np.clip(f + 0.05 * rng.normal(size=len(f)), 0, 1).astype(dtype)
    for metric in (smooth_ece_area, smooth_ece, logit_smoothed_ece, brier_score):
        assert metric(y, f) == metric(y.astype(np.float64), f)


@pytest.mark.parametrize(("order", "n"), [("sorted by label", 100_000), ("interleaved", 300_000)])
def test_a_constant_prediction_that_is_right_gives_zero_in_any_order(order, n):
    y = np.zeros(n, dtype=int)
    y[: 3 * n // 10] = 1
    if order == "interleaved":
        y = np.random.default_rng(3).permutation(y)
    f = np.full(n, 0.3)
    assert smooth_ece(y, f) == 0.0
    assert weak_calibration_error(y, f) < 1e-15
    result = ecce(y, f)
    assert result.range < 1e-15
    assert result.worst is None
    assert ecce(summarize(y, f)).worst is None


def test_no_warning_escapes_with_warnings_as_errors():
    script = (
        "import numpy as np, trueness as t\n"
        "for y, f in [([0], [0.0]), ([1], [0.0]), ([1, 0], [1.0, 0.0]), ([0.5], [0.5]), ([1, 1], [1.0, 1.0])]:\n"
        "    s = t.summarize(y, f)\n"
        "    for d in ((y, f), (s,)):\n"
        "        for m in (t.binned_ece, t.smooth_ece, t.smooth_ece_area, t.logit_smoothed_ece, t.ecce, t.brier_score):\n"
        "            m(*d)\n"
        "    t.log_loss(y, f); t.decompose(y, f, score='log'); t.distance_to_calibration(y, f)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


@pytest.mark.parametrize(("metric", "options"), ENTRIES)
def test_plain_floats(metric, options):
    value = call(metric, options, [0, 1, 1, 0], [0.1, 0.4, 0.8, 0.3])
    assert all(type(x) is float for x in (value if isinstance(value, tuple) else [value]) if not hasattr(x, "to_dict"))
    assert flat(value)

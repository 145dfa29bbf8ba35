"""One function and one entry give everything: the recipe of CONTRIBUTING.md is executed and taken through every door."""

import itertools
import json
import math
import re
import sys
import textwrap
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT

import trueness
from trueness.cli import main
from trueness.errors import InputError
from trueness.metrics.drawing import Drawing, Norm
from trueness.metrics.registry import METRICS, Metric, bind, register
from trueness.report.html import render


@pytest.fixture
def recipe(monkeypatch):
    """The module that the recipe writes."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^ *```python\n(.*?)^ *```$", text, flags=re.S | re.M)
    module = ModuleType("net")
    monkeypatch.setitem(sys.modules, "net", module)
    before = dict(METRICS)
    exec(compile(textwrap.dedent(block), "CONTRIBUTING.md", "exec"), module.__dict__)  # noqa: S102 - our own page
    yield module
    METRICS.clear()
    METRICS.update(before)


@pytest.fixture
def plain(monkeypatch):
    """A metric with nothing but a function."""

    def spread(y_true, y_prob=None, *, power: float = 2.0, sample_weight=None) -> float:
        f = np.asarray(y_prob if y_prob is not None else y_true.rows("spread").arrays.f)
        y = np.asarray(y_true if y_prob is not None else y_true.rows("spread").arrays.y)
        return float(np.average(np.abs(y - f) ** power, weights=sample_weight))

    metric = Metric(name="spread", label="spread of the residuals", function=spread, needs="rows")
    monkeypatch.setitem(METRICS, "spread", metric)
    return metric


def rows(n=400):
    rng = np.random.default_rng(0)
    f = rng.random(n)
    return (rng.random(n) < np.clip(f - 0.2, 0, 1)).astype(int), f


def test_the_recipe_s_metric_is_right(recipe):
    y, f = rows()
    assert recipe.net_error(y, f) == pytest.approx(abs((y - f).mean()), abs=1e-13)
    assert recipe.net_error(trueness.summarize(y, f)) == pytest.approx(abs((y - f).mean()), abs=1e-13)


def test_the_recipe_goes_through_every_door(recipe, tmp_path, capsys):
    y, f = rows()
    value = recipe.net_error(y, f)
    for data in ((y, f), (trueness.summarize(y, f),)):
        test = trueness.calibration_test(*data, statistic="net_error", rng=0)
        assert test.pvalue == pytest.approx(1 / 2000)
        interval = trueness.confidence_interval(*data, metric="net_error", rng=0)
        assert 0 < interval.low < value < interval.high
        floor = trueness.noise_floor(*data, metric="net_error", rng=0)
        assert floor == pytest.approx(np.sqrt(2 / np.pi * (f * (1 - f)).sum()) / len(f), rel=0.05)  # mean of a folded normal
    groups = trueness.group_tests(y, f, by=np.arange(len(y)) % 2, statistic="net_error", rng=0)
    assert all(each.test.statistic == "net_error" for each in groups)
    found = trueness.assess(y, f, metrics=["net_error"])
    assert found["net_error"].value == pytest.approx(value)
    assert found["net_error"].interval.low > 0
    assert "net error" in str(found)
    assert "How far predictions are too high or too low in all." in render(found)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([y, f]), delimiter=",", header="y,p", comments="")
    command = ["check", str(tmp_path / "rows.csv"), "-y", "y", "-p", "p", "--max", "net_error=0.01", "--json"]
    assert main(command) == 1
    (line,) = json.loads(capsys.readouterr().out)["checks"]
    assert line["name"] == "net_error"
    assert line["value"] == pytest.approx(value)


def test_a_metric_without_a_drawing_has_a_test_and_a_floor_and_no_interval(plain):
    y, f = rows(100)
    test = trueness.calibration_test(y, f, statistic="spread", options={"power": 1.0}, resamples=99, rng=0)
    assert 0 < test.pvalue <= 1
    assert trueness.noise_floor(y, f, metric="spread", resamples=99, rng=0) == pytest.approx((f * (1 - f)).mean(), rel=0.1)
    with pytest.raises(InputError, match="no interval for spread that is known to cover"):
        trueness.confidence_interval(y, f, metric="spread")
    line = trueness.assess(y, f, metrics=["spread"])["spread"]
    assert line.interval is None
    assert line.cells[2] == "–"


def test_options_are_bound_by_the_signature():
    bound = bind("binned_ece", {"bins": 20}, what="metric")
    assert dict(bound.given) == {"bins": 20}
    assert bound.options == {
        "bins": 20, "strategy": "uniform", "norm": "l1", "weighting": "mass", "closed": "left", "debias": False,
    }  # fmt: skip
    assert bind("logit_smoothed_ece", None, what="metric").options["bandwidth"] == 1 / 15
    with pytest.raises(InputError, match="binned_ece has no option 'bin'; it takes bins, strategy"):
        bind("binned_ece", {"bin": 20}, what="metric")


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="'ecce_r' already"):
        register(METRICS["ecce_r"])


def test_a_norm_must_say_what_noise_is():
    assert Drawing().norm(None, {}, None) is None
    with pytest.raises(NotImplementedError):
        Norm(None).noise(np.zeros((1, 2)))


def test_every_metric_with_an_interval_says_what_it_means():
    assert all(metric.meaning for metric in METRICS.values() if metric.has_interval)


def test_without_a_drawing_rows_of_one_score_are_drawn_as_rows(plain):
    """Seven rows, three of one score: P(T ≥ T_obs) is a sum over 128 outcomes, of a metric that reads squares of outcomes."""
    f, y = np.array([0.13, 0.21, 0.37, 0.37, 0.37, 0.64, 0.83]), np.array([0, 1, 1, 0, 1, 0, 1])
    all_outcomes = np.array(list(itertools.product((0, 1), repeat=7)))
    chance = np.where(all_outcomes, f, 1 - f).prod(axis=1)
    expected = chance[((all_outcomes - f) ** 2).mean(axis=1) >= ((y - f) ** 2).mean() - 1e-12].sum()
    p = trueness.calibration_test(y, f, statistic=plain.name, method="simulated", resamples=9999, rng=1).pvalue
    assert abs(p - expected) <= 4 * math.sqrt(expected * (1 - expected) / 9999)

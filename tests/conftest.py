"""What every test may lean on: the shared data, no silent skips where none are allowed, and repeatable examples."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TRUENESS_SHARED") or ROOT.parent / "shared")
NO_SKIP = os.environ.get("TRUENESS_NO_SKIP", "") not in ("", "0")

_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("everyday", max_examples=25, derandomize=True, database=None, **_CALM)
settings.register_profile("thorough", max_examples=1000, **_CALM)
settings.load_profile(os.environ.get("TRUENESS_HYPOTHESIS", "everyday"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the reference figures and the real data; tests that need it are skipped where it is missing."""
    if not (SHARED / "reference").is_dir():
        pytest.skip(f"no shared data at {SHARED}: set TRUENESS_SHARED")
    return SHARED


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a browser or the built pages is of the full tier; what needs a GPU is skipped where there is none."""
    for item in items:
        if {"browser", "site"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.full)
    gpu = [item for item in items if item.get_closest_marker("gpu")]
    if gpu and not _has_gpu():
        for item in gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Where TRUENESS_NO_SKIP is set, a skipped test has failed, unless it needs a GPU or is expected to fail."""
    report = yield
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("gpu") is None:
        report.outcome = "failed"
        report.longrepr = f"skipped although TRUENESS_NO_SKIP is set: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """The same for modules that skip themselves whole, as importorskip does."""
    report = yield
    if NO_SKIP and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} skipped although TRUENESS_NO_SKIP is set: {_reason(report)}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have to tell also where they pass: the fuzzer's seed, and how many hostile calls kept their promise."""
    told, counts = [], dict[str, Counter[str]]()
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    for name, value in [each for report in reports for each in report.user_properties]:
        if name == "told":
            told.append(str(value))
        elif isinstance(value, dict):
            counts.setdefault(name, Counter()).update({"tests": 1, **value})
    told += [f"{name}: {', '.join(f'{count} {what}' for what, count in each.items())}" for name, each in counts.items()]
    for line in told:
        terminalreporter.write_line(line)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    return where[2] if isinstance(where, tuple) else str(where)

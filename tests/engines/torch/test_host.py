"""Sums of CPU tensors: the array engine's kernels against the plain operations of PyTorch, bit by bit."""

import numpy as np
import pytest
from pairs import all_pairs

from trueness.engines.arrays import compiled
from trueness.summary.ruler import ruler

torch = pytest.importorskip("torch")
from trueness.engines.torch import host  # noqa: E402
from trueness.engines.torch.sums import TensorSums  # noqa: E402

RNG = np.random.default_rng(3)
EDGES = ruler((37,)).edges[::6]
SCORES = np.concatenate(
    [
        EDGES,
        np.nextafter(EDGES, 2),
        np.nextafter(EDGES, -1),
        [-0.0, 5e-324, 2**-300, 2**-1022, 1.0],
        np.repeat([0.29, 0.5, 1 / 3], 500),
    ]
)
SCORES = RNG.permutation(np.concatenate([np.clip(SCORES, -0.0, 1.0), RNG.beta(0.1, 0.1, 5000)]))
FAULTS = [np.nan, np.inf, -0.1, 1.5, 1 + 2**-52, -(2**-52)]
LABELS = RNG.integers(0, 2, len(SCORES))
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.fixture(params=["plain", "compiled", "in threads"])
def engine(request, monkeypatch):
    monkeypatch.setattr(host, "accelerator", lambda n: None if request.param == "plain" else compiled)
    monkeypatch.setattr(host, "_PIECE", 10_000)
    if request.param == "in threads":
        monkeypatch.setattr(host, "PAYS_ONCE_LOADED", 1000)
        monkeypatch.setattr(host, "_PIECE", 512)


def judged(sums, y, f, w=None):
    """The sums of rows that all go through the plain operations."""
    sums._judge(y, f, w)
    return sums


def added(sums, y, f, w=None):
    for a in range(0, len(f), 7001):
        part = slice(a, a + 7001)
        sums.update(y[part], f[part], None if w is None else w[part])
    return sums


def both(floats, *columns):
    expected, found = (TensorSums.zeros(ruler((37,)), "cpu", floats=floats) for _ in range(2))
    return added(found, *columns).flat(), judged(expected, *columns).flat()


@pytest.mark.parametrize(
    ("label", "score", "engine"),
    all_pairs(DTYPES, ("float16", "bfloat16", "float32", "float64"), ("plain", "compiled", "in threads")),
    indirect=["engine"],
)
@pytest.mark.usefixtures("engine")
def test_hard_labels_have_the_same_bits(label, score):
    f, y = torch.from_numpy(SCORES).to(getattr(torch, score)), torch.from_numpy(LABELS).to(getattr(torch, label))
    f[100:106] = torch.tensor(FAULTS, dtype=torch.float64).to(f.dtype)
    if y.is_floating_point():
        y[103:108] = torch.tensor([0.5, np.nan, 2.0, -1.0, 1 + torch.finfo(y.dtype).eps], dtype=torch.float64).to(y.dtype)
    elif label != "bool":
        y[103] = 2
    found, expected = both(False, y, f)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("faults", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("score", ["bfloat16", "float32", "float64"])
def test_float_sums_have_the_same_bits(engine, score, weighted, faults):
    f, y = torch.from_numpy(SCORES).to(getattr(torch, score)), torch.from_numpy(RNG.random(len(SCORES)))
    y[::3] = torch.from_numpy(LABELS[::3]).double()
    w = torch.from_numpy(RNG.random(len(SCORES)) * 3)
    if faults:
        f[100:106] = torch.tensor(FAULTS, dtype=torch.float64).to(f.dtype)
        y[200:204] = torch.tensor([np.nan, 2.0, -1.0, 1e-320])
        w[300:304] = torch.tensor([0.0, np.nan, -1.0, np.inf])
    found, expected = both(True, y, f, *([w] if weighted else []))
    assert torch.equal(found, expected)


def test_views_are_read_as_they_are(engine):
    f = torch.from_numpy(np.repeat(SCORES, 2))[::2]
    y = torch._neg_view(-torch.from_numpy(LABELS))  # what the imaginary part of a conjugate is
    found, expected = both(False, y, f)
    assert torch.equal(found, expected)


class Marked(torch.Tensor):
    """A tensor of another kind, which may hold no memory that NumPy could read."""


def test_tensors_of_other_kinds_go_through_plain_operations(engine, monkeypatch):
    monkeypatch.setattr(host, "_array", None)
    f = torch.from_numpy(SCORES).as_subclass(Marked)
    found, expected = both(False, torch.from_numpy(LABELS), f)
    assert torch.equal(found, expected)

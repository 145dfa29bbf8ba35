"""Tensors on their device: the same bits as NumPy, batch by batch."""

import numpy as np
import pytest

from trueness import smooth_ece, summarize
from trueness.errors import InputError
from trueness.summary.ruler import ruler

torch = pytest.importorskip("torch")
from trueness.torch import CalibrationSummary  # noqa: E402

EDGES = ruler((7,)).edges
RNG = np.random.default_rng(2)
F = np.concatenate([RNG.random(5000), EDGES, np.nextafter(EDGES, 0), np.nextafter(EDGES[:-1], 1), RNG.beta(0.1, 0.1, 3000)])
F = np.concatenate([F, [0.0, 1.0, 5e-324, 1 - 2**-53, 1 + 2**-52, -1e-17]])
N = len(F)
Y = (RNG.random(N) < 0.4).astype(np.int64)
W = RNG.integers(0, 3, N) * 0.5
SOFT = np.clip(RNG.normal(0.5, 0.4, N), 0, 1)
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def batches(*columns, count=7):
    for at in np.array_split(np.arange(N), count):
        yield [torch.as_tensor(column[at]) for column in columns]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("label", [torch.uint8, torch.int64, torch.bool, torch.float32])
def test_hard_labels_give_the_same_bits(device, label):
    collected = CalibrationSummary(bins=(7,), device=device)
    for y, f in batches(Y, F):
        collected.update(y_true=y.to(label).to(device), y_prob=f.to(device))
    found = collected.compute()
    assert found == summarize(Y, F, bins=7)
    assert found.clipped == 2


@pytest.fixture(params=[torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def default_dtype(request):
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


@pytest.mark.parametrize("device", DEVICES)
def test_the_default_dtype_changes_nothing(device, default_dtype):
    hard, soft = CalibrationSummary(bins=(7,), device=device), CalibrationSummary(soft=True, device=device)
    for y, f, z, w in batches(Y, F, SOFT, W):
        hard.update(y_true=y.to(device), y_prob=f.to(device))
        soft.update(y_true=z.to(device), y_prob=f.to(device), sample_weight=w.to(device))
    assert hard.compute() == summarize(Y, F, bins=7)
    expected = summarize(SOFT, F, sample_weight=W)
    np.testing.assert_array_equal(soft.compute().cells, expected.cells)
    np.testing.assert_allclose(soft.compute().sums, expected.sums, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_narrow_floats(device, dtype):
    f = torch.as_tensor(np.clip(F, 0, 1)).to(dtype)
    collected = CalibrationSummary(device=device)
    collected.update(y_true=torch.as_tensor(Y).to(device), y_prob=f.to(device))
    assert collected.compute() == summarize(Y, f.to(torch.float64).numpy())


@pytest.mark.parametrize("device", DEVICES)
def test_soft_labels_and_weights(device):
    collected = CalibrationSummary(soft=True, device=device)
    for y, f, w in batches(SOFT, F, W):
        collected.update(y_true=y.to(device), y_prob=f.to(device), sample_weight=w.to(device))
    found, expected = collected.compute(), summarize(SOFT, F, sample_weight=W)
    np.testing.assert_array_equal(found.cells, expected.cells)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-14)
    assert found.rejected == expected.rejected
    assert found.soft


@pytest.mark.parametrize("device", DEVICES)
def test_rows_that_cannot_be_used(device):
    f, y = F.copy(), Y.astype(float)
    f[:3], y[5] = np.nan, np.inf
    collected = CalibrationSummary(nan="drop", device=device)
    collected.update(y_true=torch.as_tensor(y).to(device), y_prob=torch.as_tensor(f).to(device))
    found, expected = collected.compute(), summarize(y, f, nan="drop")
    assert found == expected
    assert found.rejected == expected.rejected
    strict = CalibrationSummary(device=device)
    f[7] = 1.5
    strict.update(y_true=torch.as_tensor(y).to(device), y_prob=torch.as_tensor(f).to(device))
    with pytest.raises(InputError) as caught:
        strict.compute()
    assert f"y_prob: 3 of {N} values are missing or not finite" in str(caught.value)
    assert f"y_prob: 1 of {N} values is outside [0, 1]" in str(caught.value)
    assert f"y_true: 1 of {N} values is missing or not finite" in str(caught.value)


def test_soft_labels_must_be_asked_for():
    collected = CalibrationSummary()
    collected.update(y_true=torch.tensor([0.0, 0.5, 1.0]), y_prob=torch.tensor([0.1, 0.5, 0.9]))
    with pytest.raises(InputError, match="soft=True"):
        collected.compute()
    with pytest.raises(InputError, match="soft=True"):
        collected.update(y_true=torch.ones(1), y_prob=torch.ones(1), sample_weight=torch.ones(1))


def test_logits_only_when_told():
    logits = torch.randn(1000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = torch.as_tensor(Y[:1000])
    told = CalibrationSummary(from_logits=True)
    told.update(y_true=y, y_prob=logits)
    assert told.compute() == summarize(Y[:1000], torch.sigmoid(logits).numpy())
    assert told.compute().notes == ("y_prob: logits passed through a sigmoid",)
    untold = CalibrationSummary()
    untold.update(y_true=y, y_prob=logits)
    with pytest.raises(InputError, match="from_logits=True"):
        untold.compute()


def test_reset_and_nothing_given():
    collected = CalibrationSummary()
    collected.update(y_true=torch.tensor([1]), y_prob=torch.tensor([0.5]))
    collected.reset()
    with pytest.raises(InputError, match="no rows"):
        collected.compute()
    with pytest.raises(TypeError):
        collected.update(torch.tensor([1]), torch.tensor([0.5]))
    with pytest.raises(InputError, match="update"):
        collected(torch.tensor([1]), torch.tensor([0.5]))


@pytest.mark.parametrize(
    ("y", "f", "text"),
    [
        ([1, 0], torch.tensor([0.5, 0.5]), "a list is not a tensor"),
        (torch.tensor([1, 0]), torch.tensor([0.5]), "lengths differ"),
        (torch.tensor([1, 0]), torch.tensor([[0.5, 0.5], [0.5, 0.5]]), "has shape"),
        (torch.tensor([1, 0]), torch.tensor([0.5j, 0.5j]), "complex"),
    ],
)
def test_what_is_refused(y, f, text):
    with pytest.raises(InputError, match=text):
        CalibrationSummary().update(y_true=y, y_prob=f)


def test_gradients_are_left_alone():
    weight = torch.nn.Parameter(torch.tensor(0.3, dtype=torch.float64))
    prediction = torch.sigmoid(weight * torch.as_tensor(F[:100]))
    collected = CalibrationSummary()
    collected.update(y_true=torch.as_tensor(Y[:100]), y_prob=prediction)
    prediction.sum().backward()
    assert weight.grad is not None
    assert not collected.get_extra_state().requires_grad


def test_a_training_loop():
    """What a user would write: validation after each epoch, next to any other metric."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn((4000, 3), generator=generator)
    y = (torch.rand(4000, generator=generator) < torch.sigmoid(2 * x[:, 0] - x[:, 1])).float()
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    errors = []
    collected = CalibrationSummary(from_logits=True)
    for _ in range(5):
        for start in range(0, 4000, 500):
            part = slice(start, start + 500)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x[part])[:, 0], y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        collected.reset()
        for start in range(0, 4000, 1000):
            part = slice(start, start + 1000)
            collected.update(y_true=y[part], y_prob=model(x[part])[:, 0])
        errors.append(smooth_ece(collected.compute()))
    assert errors[-1] < errors[0]


@pytest.mark.gpu
@pytest.mark.parametrize("y", [Y, Y.astype(bool), Y.astype(np.float32), SOFT], ids=["int", "bool", "float", "soft"])
def test_summarize_leaves_tensors_on_their_device(y, monkeypatch):
    on_device = torch.as_tensor(y).cuda(), torch.as_tensor(F).cuda().requires_grad_()
    copied = []
    real = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x, *a, **k: (copied.append(x.numel()), real(x, *a, **k))[1])
    found = summarize(*on_device, bins=7)
    expected = summarize(y, F, bins=7)
    assert N not in copied
    if y is SOFT:
        np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-14)
    else:
        assert found == expected


@pytest.mark.gpu
@pytest.mark.parametrize("many", [1, 1 << 40], ids=["copies of the table", "one table"])
@pytest.mark.parametrize("values", [1, 2, 10, 100, 10**6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_rows_that_share_their_places_on_a_device(monkeypatch, many, values, dtype):
    monkeypatch.setattr("trueness.engines.torch.triton._MANY", many)
    rng = np.random.default_rng(values)
    f = torch.as_tensor(rng.integers(0, values, 300_001) / values).to(dtype)
    y = torch.as_tensor(rng.integers(0, 2, len(f)).astype(np.uint8))
    collected = CalibrationSummary(device="cuda")
    for part in (slice(0, 200_000), slice(200_000, 290_000), slice(290_000, None)):  # the last are few
        collected.update(y_true=y[part].cuda(), y_prob=f[part].cuda())
    assert collected.compute() == summarize(y.numpy(), f.to(torch.float64).numpy())


@pytest.mark.gpu
def test_what_cannot_be_used_on_a_device_is_told_by_row():
    f = torch.as_tensor(F).cuda()
    f[5] = torch.nan
    with pytest.raises(InputError, match="first: row 5"):
        summarize(torch.as_tensor(Y).cuda(), f)
    assert summarize(torch.as_tensor(Y).cuda(), f, nan="drop").n == N - 1


def test_more_rows_at_one_score_than_its_integers_hold():
    collected = CalibrationSummary()
    collected.update(y_true=torch.tensor([1]), y_prob=torch.tensor([1.0]))
    collected._sums.table *= 2**32
    with pytest.raises(InputError, match=r"at most 2\^32"):
        collected.compute()


def test_vanishing_weights_are_refused():
    weighted = CalibrationSummary(soft=True, bins=7)
    tiny = torch.full((9,), 1e-200, dtype=torch.float64)
    weighted.update(y_true=torch.ones(9), y_prob=torch.full((9,), 0.5), sample_weight=tiny)
    with pytest.raises(InputError, match="Divide all weights"):
        weighted.compute()

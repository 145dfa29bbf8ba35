"""`CalibrationSummary` as a module: its options, its state, and what a model that holds it goes through."""

import copy
import pickle
import socket
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, product
from types import SimpleNamespace

import numpy as np
import pytest

from trueness import summarize
from trueness.errors import InputError

torch = pytest.importorskip("torch")
from trueness.torch import CalibrationSummary  # noqa: E402

RNG = np.random.default_rng(5)
N = 400
F = np.concatenate([RNG.beta(0.3, 0.3, N - 2), [1 + 2**-52, np.nan]])
Y = (RNG.random(N) < 0.4).astype(np.int64)
SOFT = RNG.random(N)
W = RNG.integers(0, 3, N) * 0.5
KINDS = {"hard": {"bins": 7}, "soft": {"soft": True}, "logits": {"from_logits": True}}


class Model(torch.nn.Module):
    """Two features to a score; calibration is collected in the forward pass, as BatchNorm's buffers are."""

    def __init__(self, **options):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(2)
        self.linear = torch.nn.Linear(2, 1)
        self.calibration = CalibrationSummary(nan="drop", **options)

    def forward(self, x, y):
        logits = self.linear(self.norm(x))[:, 0]
        self.calibration.update(y_true=y, y_prob=torch.sigmoid(logits.double()))
        return logits


def collect(calibration, rows=slice(None)):
    """The rows given to a summary, of whatever kind it is."""
    given = {"y_true": torch.as_tensor((SOFT if calibration.soft else Y)[rows]), "y_prob": torch.as_tensor(F[rows])}
    if calibration.soft:
        given["sample_weight"] = torch.as_tensor(W[rows])
    calibration.update(**given)
    return calibration


def same(found, expected):
    """Sums, and what else is known of the rows."""
    assert found == expected
    assert (found.rejected, found.clipped, found.source) == (expected.rejected, expected.clipped, expected.source)


# Options


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"nan": "Drop"}, "nan='Drop' is not a choice. Pass nan='raise' (the default) or nan='drop'."),
        ({"nan": None}, "nan=None is not a choice."),
        ({"soft": "no"}, "soft: 'no' is not True or False."),
        ({"soft": 1}, "soft: 1 is not True or False."),
        ({"from_logits": "no"}, "from_logits: 'no' is not True or False."),
        ({"from_logits": None}, "from_logits: None is not True or False."),
        ({"bins": None}, "bins: None is not a whole number"),
        ({"bins": 0}, "bins: 0 is not a whole number"),
        ({"bins": "7"}, "bins: '7' is not a whole number"),
        ({"device": "nowhere"}, "device: 'nowhere' is not a device of PyTorch."),
        ({"device": 1.5}, "device: 1.5 is not a device of PyTorch."),
    ],
)
def test_options_of_the_wrong_kind_are_refused(options, text):
    with pytest.raises(InputError) as caught:
        CalibrationSummary(**options)
    assert str(caught.value).startswith(text)


def test_options_of_numpy_are_taken():
    made = CalibrationSummary(soft=np.True_, bins=np.int64(7))
    assert repr(made) == "CalibrationSummary(soft=True, from_logits=False, bins=(7,))"
    with pytest.raises(AttributeError):
        made.soft = False


# Tensors


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("name", ["y_true", "y_prob", "sample_weight"])
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: torch.empty(2, device="meta"), "the tensor is on the meta device and holds no values"),
        (lambda: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), "the tensor is nested"),
        (lambda: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged), "the tensor is nested"),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8), "2 of 2 values are of dtype quint8"),
        (lambda: torch.ones(2).to_sparse(), "the tensor is sparse (torch.sparse_coo). Pass its dense form"),
        (lambda: torch.ones((2, 1)).to_sparse_csr(), "the tensor is sparse (torch.sparse_csr). Pass its dense form"),
        (lambda: torch.ones(2) * 1j, "2 of 2 values are of dtype complex64 (first: row 0, value 1j)"),
        (lambda: torch.ones(2).to(torch.float8_e4m3fn), "2 of 2 values are of dtype float8_e4m3fn"),
        (lambda: torch.tensor(1.0), "is a single value, not a column of values"),
        (lambda: torch.ones((1, 2)), "has shape (1, 2)"),
    ],
)
def test_tensors_that_are_no_column_of_numbers(name, make, text):
    collected = CalibrationSummary(soft=True)
    given = {"y_true": torch.ones(2), "y_prob": torch.ones(2), "sample_weight": torch.ones(2)}
    with pytest.raises(InputError) as caught:
        collected.update(**given | {name: make()})
    assert str(caught.value).startswith(f"{name}: {text}")
    with pytest.raises(InputError, match="no rows: 0 were given"):
        collected.compute()


def test_logits_that_are_not_finite_count_as_missing():
    collected = CalibrationSummary(from_logits=True, nan="drop")
    logits = torch.tensor([0.0, torch.inf, -torch.inf, torch.nan, 800.0, -800.0])
    collected.update(y_true=torch.tensor([1, 1, 0, 0, 1, 0]), y_prob=logits)
    assert collected.compute() == summarize([1, 1, 0], [0.5, 1.0, 0.0])
    assert collected.compute().rejected == {"prediction missing or not finite": 3}


# State


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_state_dict_keeps_the_sums(options, tmp_path):
    model = Model(**options)
    collect(model.calibration, slice(0, 300))
    expected = model.calibration.compute()
    torch.save(model.state_dict(), tmp_path / "model.pt")
    collect(model.calibration, slice(300, None))  # what was saved stays what it was
    again = Model(**options)
    collect(again.calibration)
    again.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    same(again.calibration.compute(), expected)
    collect(again.calibration, slice(300, None))
    same(again.calibration.compute(), model.calibration.compute())


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_state_dict_of_the_summary_itself(options):
    kept = collect(CalibrationSummary(nan="drop", **options))
    again = CalibrationSummary(nan="drop", **options)
    state = kept.state_dict()
    again.load_state_dict(state, assign=True)
    again.reset()
    again.load_state_dict(state)
    same(again.compute(), kept.compute())
    assert all(isinstance(value, torch.Tensor) for value in state.values())  # as formats that hold tensors alone need


@pytest.mark.parametrize("other", [{}, {"bins": 9}, {"bins": 7, "soft": True}, {"bins": 7, "from_logits": True}])
@pytest.mark.parametrize("strict", [True, False])
def test_the_state_of_other_options_is_refused(other, strict):
    state = collect(CalibrationSummary(bins=7)).state_dict()  # 7 and 9 bins have equally many cells
    held = collect(CalibrationSummary(nan="drop", **other), slice(0, 50))
    before = held.compute()
    with pytest.raises(InputError) as caught:
        held.load_state_dict(state, strict=strict)
    assert "that of one with soft=False, from_logits=False, bins=(7,); this one has soft=" in str(caught.value)
    same(held.compute(), before)


def test_a_checkpoint_without_the_sums_says_so():
    state = {name: value for name, value in Model().state_dict().items() if "calibration" not in name}
    with pytest.raises(RuntimeError, match=r"Missing key.*calibration"):
        Model().load_state_dict(state)


def damaged(state, at, value):
    state = state.clone()
    state[at] = value
    return state


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x.half(), "a tensor of torch.float16 with shape"),
        (lambda x: x[None], "is not its state"),
        (lambda x: x.to("meta"), "that holds no values is not its state"),
        (lambda x: x.tolist(), "a list is not its state"),
        (lambda x: x[:0], "of another version"),
        (lambda x: x[:2], "of another version"),
        (lambda x: damaged(x, 0, 99), "of another version"),
        (lambda x: damaged(x, 3, -9), "that of one with"),
        (lambda x: damaged(x, 3, 2**60), "that of one with"),
        (lambda x: x[:-1], "is damaged: it has 389977 sums in place of 389978"),
        (lambda x: damaged(x, -1, 1 << 40), "is damaged"),
        (lambda x: damaged(x, 5, -1), "is damaged: a count is below 0"),
        (lambda x: torch.cat([x[:4], -x[4:]]), "is damaged"),
    ],
)
def test_what_is_no_state_is_refused(change, text):
    held = collect(CalibrationSummary(nan="drop"))
    before, state = held.compute(), held.get_extra_state()
    with pytest.raises(InputError) as caught:
        held.load_state_dict({"_extra_state": change(state)})
    assert text in str(caught.value)
    assert len(str(caught.value)) < 400
    same(held.compute(), before)


# A model that holds one


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_casts_and_copies_leave_the_sums_alone(options):
    model = Model(**options)
    expected = collect(model.calibration).compute()
    for cast in ("half", "bfloat16", "float", "double", "cpu", "share_memory"):
        getattr(model, cast)()
        same(model.calibration.compute(), expected)
    for cast in (torch.float16, "cpu", torch.ones(1)):
        same(model.to(cast).calibration.compute(), expected)
    same(model.type(torch.float16).calibration.compute(), expected)
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301
        same(copied.calibration.compute(), expected)
        collect(copied.calibration)
        assert copied.calibration.compute().n == 2 * expected.n
    same(model.calibration.compute(), expected)


def test_an_averaged_model_collects_for_itself():
    model = Model()
    collect(model.calibration)
    averaged = torch.optim.swa_utils.AveragedModel(model, use_buffers=True)
    averaged.module.calibration.reset()
    own = collect(averaged.module.calibration, slice(0, 100)).compute()
    averaged.update_parameters(model)
    averaged.update_parameters(model)
    same(averaged.module.calibration.compute(), own)


def test_a_model_made_without_values():
    model = Model(bins=7)
    expected = collect(model.calibration).compute()
    with torch.device("meta"):
        empty, assigned = Model(bins=7), Model(bins=7)
    with pytest.raises(InputError, match="meta device, which holds no values"):
        collect(empty.calibration)
    empty.to_empty(device="cpu")
    same(collect(empty.calibration).compute(), expected)
    assigned.load_state_dict(model.state_dict(), assign=True)
    same(assigned.calibration.compute(), expected)


def test_sums_stay_with_the_host_where_a_device_has_no_float64():
    collected = collect(CalibrationSummary(soft=True, nan="drop"))
    expected = collected.compute()
    collected._apply(lambda _: SimpleNamespace(device=torch.device("mps")))
    assert collected._sums.table.device.type == "cpu"
    same(collected.compute(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize(("sums", "outcomes", "scores"), list(product(("cpu", "cuda"), repeat=3)))
def test_devices_may_differ(sums, outcomes, scores):
    collected = CalibrationSummary(nan="drop", device=sums)
    collected.update(y_true=torch.as_tensor(Y).to(outcomes), y_prob=torch.as_tensor(F).to(scores))
    same(collected.compute(), summarize(Y, F, nan="drop"))
    again = CalibrationSummary(nan="drop", device=outcomes)
    again.load_state_dict(collected.state_dict())
    assert again._sums.table.device.type == outcomes
    same(again.to(scores).compute(), collected.compute())


# Modes


@pytest.fixture
def _determinism():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


MODES = {
    "inference": torch.inference_mode,
    "no_grad": torch.no_grad,
    "grad": torch.enable_grad,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "default device": lambda: torch.device("meta"),
}


@pytest.mark.parametrize(("kind", "made", "updated"), [(k, *both) for k, both in zip(cycle(KINDS), product(MODES, MODES))])
@pytest.mark.usefixtures("_determinism")
def test_modes_change_nothing(kind, made, updated):
    options = KINDS[kind]
    expected = collect(CalibrationSummary(nan="drop", **options)).compute()
    with MODES[made]():
        collected = CalibrationSummary(nan="drop", device="cpu", **options)
    y, f = torch.as_tensor(SOFT if collected.soft else Y), torch.as_tensor(F).requires_grad_()
    given = {"y_true": y, "y_prob": f} | ({"sample_weight": torch.as_tensor(W)} if collected.soft else {})
    with MODES[updated]():
        collected.update(**given)
        collected.reset()
        collected.update(**given)
        same(collected.compute(), expected)
        state = collected.state_dict()
    same(collected.compute(), expected)
    collected.reset()
    collected.load_state_dict(state)
    same(collected.compute(), expected)
    assert f.grad is None


def test_shapes_and_strides():
    expected = collect(CalibrationSummary(nan="drop")).compute()
    wide = torch.as_tensor(np.column_stack([F, F + 9]))
    labels = torch.as_tensor(np.repeat(Y, 2))[::2]
    for y, f in [(labels, wide[:, 0]), (labels[:, None], wide[:, :1]), (torch.as_tensor(Y)[:, None], wide[:, 0])]:
        collected = CalibrationSummary(nan="drop")
        collected.update(y_true=y, y_prob=f)
        same(collected.compute(), expected)


@pytest.mark.full
def test_compiled_code_around_it():
    collected = CalibrationSummary(nan="drop")
    y, f = torch.as_tensor(Y), torch.as_tensor(F)

    @torch.compile(backend="eager")
    def step(y, f):
        halved = f / 2
        collected.update(y_true=y, y_prob=halved)
        return halved * 2

    for rows in (slice(0, 300), slice(300, None)):
        step(y[rows], f[rows])
    same(collected.compute(), summarize(Y, F / 2, nan="drop"))


# Several processes


def refusal(calibration):
    with pytest.raises(InputError) as caught:
        calibration.all_reduce()
    return str(caught.value)


def sums_alone(rank):
    """Digests that must be that of all rows, and what is refused."""
    own = collect(CalibrationSummary(nan="drop"), slice(rank, None, 2))
    state = own.state_dict()
    own.all_reduce()
    whole, again = [own.compute()], refusal(own)
    whole.append(own.compute())
    own.reset()
    collect(own, slice(rank, None, 2)).all_reduce()
    whole.append(own.compute())
    loaded = CalibrationSummary(nan="drop")
    loaded.load_state_dict(state)  # each its own
    loaded.all_reduce()
    whole.append(loaded.compute())
    loaded.load_state_dict(collect(CalibrationSummary()).state_dict())  # both the same
    twice = refusal(loaded)
    if rank:
        loaded.reset()
    loaded.all_reduce()
    whole.append(loaded.compute())
    soft = collect(CalibrationSummary(soft=True, nan="drop"), slice(rank, None, 2))
    soft.all_reduce()
    options = refusal(CalibrationSummary(bins=7 + 2 * rank))
    return {"whole": whole, "again": again, "twice": twice, "soft": soft.compute(), "options": options}


def sums_in_a_model(rank):
    """The rows that this process gave its model, what the model has collected of them, and of all."""
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(Model())
    features = torch.randn(N, 2)
    seen = []
    for part in (slice(rank, 200, 2), slice(200 + rank, 300, 4), slice(300 + rank, None, 2)):
        logits = model(features[part], torch.as_tensor(Y[part]))
        seen.append((Y[part], torch.sigmoid(logits.detach().double()).numpy()))
        logits.sum().backward()
    own = model.module.calibration.compute()
    model.module.calibration.all_reduce()
    return {
        "rows": [np.concatenate(column) for column in zip(*seen, strict=True)],
        "own": own,
        "all": model.module.calibration.compute(),
    }


def run(rank, port, queue):
    import torch.distributed as dist

    try:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
        queue.put((rank, sums_alone(rank) | sums_in_a_model(rank)))
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        queue.put((rank, traceback.format_exc()))
        raise


@pytest.fixture(scope="module")
def processes():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue()
    children = [context.Process(target=run, args=(rank, port, queue), daemon=True) for rank in (0, 1)]
    for child in children:
        child.start()
    found = {}
    for _ in children:
        rank, result = queue.get(timeout=120)
        assert not isinstance(result, str), result
        found[rank] = result
    for child in children:
        child.join(timeout=60)
    return [found[0], found[1]]


class Threads:
    """`torch.distributed` of two processes, played by two threads of this one."""

    def __init__(self):
        self.barrier, self.given, self.own = threading.Barrier(2, timeout=60), {}, threading.local()

    def __call__(self, rank):
        self.own.rank = rank
        return sums_alone(rank)

    def _exchanged(self, tensor):
        self.given[self.own.rank] = tensor.clone()
        self.barrier.wait()
        both = [self.given[0], self.given[1]]
        self.barrier.wait()
        return both

    def all_gather(self, parts, own, group=None):
        for part, other in zip(parts, self._exchanged(own), strict=True):
            part.copy_(other)

    def all_reduce(self, part, group=None):
        part.copy_(sum(self._exchanged(part)))


def test_sums_of_two_are_added_once(monkeypatch):
    together = Threads()
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda group=None: 2)
    monkeypatch.setattr(torch.distributed, "all_gather", together.all_gather)
    monkeypatch.setattr(torch.distributed, "all_reduce", together.all_reduce)
    with ThreadPoolExecutor(2) as pool:
        added_once(list(pool.map(together, (0, 1))))


@pytest.mark.full
def test_sums_of_two_processes_are_added_once(processes):
    added_once(processes)


def added_once(processes):
    for found in processes:
        for whole in found["whole"]:
            same(whole, summarize(Y, F, nan="drop"))
        weighted = summarize(SOFT, F, sample_weight=W, nan="drop")
        np.testing.assert_array_equal(found["soft"].rows, weighted.rows)
        np.testing.assert_allclose(found["soft"].sums, weighted.sums, rtol=1e-12, atol=1e-14)
        assert "several processes hold the same sums" in found["again"]
        assert "several processes hold the same sums" in found["twice"]
        assert "different options (soft, from_logits, bins)" in found["options"]


@pytest.mark.full
def test_a_model_in_two_processes_keeps_the_sums_of_each(processes):
    """`DistributedDataParallel` as it is by default sends the first process's buffers to the others at each forward pass."""
    parts = [summarize(*found["rows"]) for found in processes]
    assert parts[0] != parts[1]
    for found, own in zip(processes, parts, strict=True):
        assert found["own"] == own
        assert found["all"] == sum(parts)


def test_without_processes_there_is_nothing_to_add_up():
    with pytest.raises(InputError, match="all_reduce: there are no processes"):
        CalibrationSummary().all_reduce()

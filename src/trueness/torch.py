"""Calibration while a model trains or is validated: sums on the model's device, a summary at the end."""

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any, Literal

from trueness._values import show
from trueness.engines.torch.sums import TensorSums
from trueness.errors import InputError, MissingPackageError
from trueness.inputs.frames import one_column_tensor
from trueness.options import check_flag, check_options
from trueness.summary.ruler import ruler
from trueness.summary.summary import Summary

try:
    import torch
except ImportError as error:
    raise MissingPackageError("trueness.torch needs PyTorch. Install the extra: pip install 'trueness[torch]'.") from error

__all__ = ["CalibrationSummary"]

_FORMAT = 1  # of what state_dict keeps


class CalibrationSummary(torch.nn.Module):  # type: ignore[misc]
    """Collect predictions batch by batch in constant memory, on their own device.

    Parameters
    ----------
    soft : bool
        Whether outcomes may be soft labels, or weights are given; sums are then float64.
    from_logits : bool
        Whether `y_prob` holds logits, to be passed through a sigmoid.
    nan : {"raise", "drop"}
        What `compute` does about rows with a missing value: refuse, or leave out and count.
    bins : sequence of int
        As for `summarize`.
    device : optional
        Where the sums are kept; `.to(device)` moves them. On Apple's devices, which have no float64, they are the host's.

    Notes
    -----
    A model may hold one. `state_dict` keeps the sums, and loading refuses those of other options; half precision,
    `DistributedDataParallel` and averaged models leave them alone.

    Examples
    --------
    >>> import torch
    >>> from trueness import smooth_ece
    >>> from trueness.torch import CalibrationSummary
    >>> collected = CalibrationSummary()
    >>> for _ in range(3):
    ...     collected.update(y_true=torch.tensor([0, 1, 1]), y_prob=torch.tensor([0.2, 0.7, 0.9]))
    >>> collected.compute()
    <Summary of 9 rows in 3 of 48746 cells, integer sums>
    >>> round(smooth_ece(collected.compute()), 4)
    0.1749
    """

    def __init__(
        self,
        *,
        soft: bool = False,
        from_logits: bool = False,
        nan: Literal["raise", "drop"] = "raise",
        bins: Iterable[int] | int = (),
        device: Any = None,
    ) -> None:
        super().__init__()
        check_flag("soft", soft)
        check_flag("from_logits", from_logits)
        check_options(nan)
        self.from_logits, self.nan = bool(from_logits), nan
        on = ruler(bins)
        # Not buffers: those DistributedDataParallel overwrites with the first process's, averaged models with the model's.
        self._sums = TensorSums.zeros(on, _device(device), floats=bool(soft))
        self._shared = 0  # a number that processes with the same sums have in common

    @property
    def soft(self) -> bool:
        """Whether outcomes may be soft labels, or weights are given."""
        return self._sums.floats

    def extra_repr(self) -> str:
        """The options that decide what is summed."""
        return _options(self._settings())

    def _settings(self) -> list[int]:
        bins = self._sums.on.bins
        return [_FORMAT, self.soft, self.from_logits, len(bins), *bins]

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> "CalibrationSummary":
        """Follow a model to its device, but not to half precision: sums stay what they are."""
        self._sums = self._sums.moved(fn(torch.empty(0, dtype=torch.int64, device=self._sums.table.device)).device)
        return self

    def get_extra_state(self) -> torch.Tensor:
        """Options and sums as one tensor of integers, which `state_dict` keeps and no cast of floats touches."""
        settings = torch.tensor(self._settings(), dtype=torch.int64, device=self._sums.table.device)
        return torch.cat([settings, self._sums.flat()])

    def set_extra_state(self, state: torch.Tensor) -> None:
        """What `load_state_dict` calls: these sums in place of those so far."""
        if not isinstance(state, torch.Tensor) or state.dtype != torch.int64 or state.ndim != 1 or state.is_meta:
            raise InputError(
                f"CalibrationSummary: {_kind(state)} is not its state, a tensor of int64. Load what state_dict gave."
            )
        settings = self._settings()
        given = state[: 4 + max(int(state[3]), 0)].tolist() if len(state) > 3 else []
        if given != settings:
            other = f"that of one with {_options(given)}" if given[:1] == [_FORMAT] else "of another version"
            raise InputError(
                f"CalibrationSummary: the state to load is {other}; this one has {_options(settings)}. "
                "Make it with the same options, or leave the state out."
            )
        bits = state[len(settings) :]
        self._sums, self._shared = self._sums.filled(bits), _fingerprint(bits) if bits.any() else 0

    def update(self, *, y_true: torch.Tensor, y_prob: torch.Tensor, sample_weight: torch.Tensor | None = None) -> None:
        """Add a batch. Keywords alone: tensors in the wrong order would go unnoticed."""
        # A compiler may round otherwise. Asked for here: to load it takes a second, which most never need.
        add = torch.compiler.disable(self._add) if torch.compiler.is_compiling() else self._add
        add(y_true, y_prob, sample_weight)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _add(self, y_true: torch.Tensor, y_prob: torch.Tensor, sample_weight: torch.Tensor | None) -> None:
        given = {"y_true": y_true, "y_prob": y_prob}
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
            if not self.soft:
                raise InputError("sample_weight: weights need float64 sums. Make CalibrationSummary(soft=True).")
        columns = {name: _column(name, x) for name, x in given.items()}
        sizes = {name: len(x) for name, x in columns.items()}
        if len(set(sizes.values())) > 1:
            raise InputError(f"y_prob: lengths differ ({sizes}). Pass one value of each per row; nothing is broadcast or cut.")
        device = self._sums.table.device
        if device.type == "meta":
            raise InputError(
                "CalibrationSummary is on the meta device, which holds no values. Move it first: .to_empty(device=...)."
            )
        moved = {name: x.to(device) for name, x in columns.items()}
        if self.from_logits:
            logits = moved["y_prob"].to(torch.float64)
            moved["y_prob"] = torch.sigmoid(logits) + (logits - logits)  # NaN for infinite ones, which count as not finite
        self._sums.update(moved["y_true"], moved["y_prob"], moved.get("sample_weight"))

    def forward(self, *_: Any, **__: Any) -> None:
        """Not used: a call cannot tell outcomes from predictions."""
        raise InputError("call update(y_true=..., y_prob=...) and compute().")

    def compute(self) -> Summary:
        """The summary of all batches so far."""
        notes = ("y_prob: logits passed through a sigmoid",) if self.from_logits else ()
        summary = self._sums.summary(nan=self.nan, notes=notes)
        if summary.n == 0:
            given = f"{summary.rows_in} were given, none usable ({dict(summary.rejected)})"
            raise InputError(f"no rows: {given}. Call update first.")
        return summary

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def reset(self) -> None:
        """Forget all batches."""
        for part in self._sums.parts:
            part.zero_()
        self._shared = 0

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def all_reduce(self, group: Any = None) -> None:
        """Add up the sums of all processes of `torch.distributed`; afterwards each holds the whole.

        Sums that several processes hold already, added up before or loaded from one checkpoint, are refused: they would be
        counted several times. Processes must have been given the same options.
        """
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            raise InputError("all_reduce: there are no processes. Call torch.distributed.init_process_group first.")
        processes = self._processes(group)
        if len({settings for settings, _, _ in processes}) > 1:
            raise InputError(
                "all_reduce: the processes' summaries have different options (soft, from_logits, bins). Make them alike."
            )
        shared = [token for _, token, _ in processes if token]
        if len(set(shared)) < len(shared):
            raise InputError(
                "all_reduce: several processes hold the same sums, added up before or loaded from one state_dict, "
                "which would count several times. Call reset() in all of them, or, after loading, in all but one."
            )
        for part in self._sums.parts:
            if part.numel():
                torch.distributed.all_reduce(part, group=group)
        self._shared = hash(tuple(number for _, _, number in processes))

    def _processes(self, group: Any) -> list[list[int]]:
        """Of each process: its options, which sums it shares with others, and a number of its own, new in each call."""
        own = torch.tensor(
            [hash(tuple(self._settings())), self._shared, secrets.randbits(62)],
            dtype=torch.int64,
            device=self._sums.table.device,
        )
        processes = [torch.empty_like(own) for _ in range(torch.distributed.get_world_size(group))]
        torch.distributed.all_gather(processes, own, group=group)
        return [process.tolist() for process in processes]


def _column(name: str, x: Any) -> torch.Tensor:
    if not isinstance(x, torch.Tensor):
        raise InputError(f"{name}: a {type(x).__name__} is not a tensor. Pass a tensor, or use trueness.summarize.")
    if x.layout != torch.strided and not x.is_nested:
        raise InputError(f"{name}: the tensor is sparse ({x.layout}). Pass its dense form, x.to_dense().")
    return one_column_tensor(x, name)


def _device(device: Any) -> Any:
    try:
        return None if device is None else torch.device(device)
    except (RuntimeError, TypeError, ValueError, OverflowError) as fault:
        raise InputError(f"device: {show(device)} is not a device of PyTorch. Pass for example 'cpu' or 'cuda'.") from fault


def _options(settings: list[int]) -> str:
    _, soft, from_logits, _, *bins = settings
    return f"soft={bool(soft)}, from_logits={bool(from_logits)}, bins={show(tuple(bins))}"


def _kind(state: Any) -> str:
    if isinstance(state, torch.Tensor):
        return f"a tensor of {state.dtype} with shape {tuple(state.shape)}" + (" that holds no values" if state.is_meta else "")
    return f"a {type(state).__name__}"


def _fingerprint(bits: torch.Tensor) -> int:
    """A number that other sums do not have."""
    return int.from_bytes(hashlib.sha256(bits.cpu().numpy().tobytes()).digest()[:8], "little", signed=True)

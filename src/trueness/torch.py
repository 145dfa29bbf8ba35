"""Calibration while a model trains or is validated: sums on the model's device, a summary at the end."""

from typing import Any, Literal

from trueness.engines.torch.sums import TensorSums
from trueness.errors import InputError, MissingPackageError
from trueness.summary.ruler import ruler
from trueness.summary.summary import Summary

try:
    import torch
except ImportError as error:
    raise MissingPackageError("trueness.torch needs PyTorch. Install the extra: pip install 'trueness[torch]'.") from error

__all__ = ["CalibrationSummary"]


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
        Where the sums are kept; `.to(device)` moves them.

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

    codes: torch.Tensor
    rows: torch.Tensor
    table: torch.Tensor

    def __init__(
        self,
        *,
        soft: bool = False,
        from_logits: bool = False,
        nan: Literal["raise", "drop"] = "raise",
        bins: tuple[int, ...] | int = (),
        device: Any = None,
    ) -> None:
        super().__init__()
        self.soft, self.from_logits, self.nan = soft, from_logits, nan
        self._on = ruler((bins,) if isinstance(bins, int) else tuple(bins))
        sums = TensorSums.zeros(self._on, device, floats=soft)
        for name in ("codes", "rows", "table"):
            self.register_buffer(name, getattr(sums, name), persistent=False)

    def _sums(self) -> TensorSums:
        """The sums as they are now, wherever the module has been moved."""
        return TensorSums(self._on, self.soft, codes=self.codes, rows=self.rows, table=self.table)

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> "CalibrationSummary":
        """Follow a model to its device, but not to half precision: sums stay what they are."""
        for name in ("codes", "rows", "table"):
            kept = getattr(self, name)
            setattr(self, name, kept.to(fn(kept[:0]).device))
        return self

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def update(self, *, y_true: torch.Tensor, y_prob: torch.Tensor, sample_weight: torch.Tensor | None = None) -> None:
        """Add a batch. Keywords alone: tensors in the wrong order would go unnoticed."""
        given = {"y_true": y_true, "y_prob": y_prob}
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
            if not self.soft:
                raise InputError("sample_weight: weights need float64 sums. Make CalibrationSummary(soft=True).")
        flat = {name: _flat(name, x) for name, x in given.items()}
        sizes = {name: len(x) for name, x in flat.items()}
        if len(set(sizes.values())) > 1:
            raise InputError(f"y_prob: lengths differ ({sizes}). Pass one value of each per row; nothing is broadcast or cut.")
        moved = {name: x.to(self.table.device) for name, x in flat.items()}
        if self.from_logits:
            moved["y_prob"] = torch.sigmoid(moved["y_prob"].to(torch.float64))
        self._sums().update(moved["y_true"], moved["y_prob"], moved.get("sample_weight"))

    def forward(self, y_prob: torch.Tensor, y_true: torch.Tensor) -> None:
        """Not used: a call cannot tell outcomes from predictions."""
        raise InputError("call update(y_true=..., y_prob=...) and compute().")

    def compute(self) -> Summary:
        """The summary of all batches so far."""
        notes = ("y_prob: logits passed through a sigmoid",) if self.from_logits else ()
        summary = self._sums().summary(nan=self.nan, notes=notes)
        if summary.n == 0:
            given = f"{summary.rows_in} were given, none usable ({dict(summary.rejected)})"
            raise InputError(f"no rows: {given}. Call update first.")
        return summary

    def reset(self) -> None:
        """Forget all batches."""
        for buffer in (self.codes, self.rows, self.table):
            buffer.zero_()

    def all_reduce(self, group: Any = None) -> None:
        """Add up the sums of all processes of `torch.distributed`; afterwards each holds the whole."""
        for buffer in (self.codes, self.rows, self.table):
            if buffer.numel():
                torch.distributed.all_reduce(buffer, group=group)


def _flat(name: str, x: Any) -> torch.Tensor:
    if not isinstance(x, torch.Tensor):
        raise InputError(f"{name}: a {type(x).__name__} is not a tensor. Pass a tensor, or use trueness.summarize.")
    if x.layout != torch.strided:
        raise InputError(f"{name}: the tensor is sparse. Pass its dense form, x.to_dense().")
    if x.is_complex():
        raise InputError(f"{name}: complex numbers are neither outcomes nor probabilities. Pass the real part.")
    if x.ndim == 2 and x.shape[1] == 1:
        return x[:, 0]
    if x.ndim != 1:
        raise InputError(f"{name}: has shape {tuple(x.shape)}; one value per row is wanted. For several classes see top_label.")
    return x

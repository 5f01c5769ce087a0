"""A PyTorch model as a step: ``record`` watches one training step of it.

PyTorch is no dependency of memlab: ``pip install "memlab[torch]"`` brings it, and nothing here
loads it before it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memlab.errors import (
    IN_PAGE,
    InputError,
    known,
    library,
    real_number,
    true_or_false,
    whole_number,
)
from memlab.placement.cuda_cards import CudaCard, chosen
from memlab.step.step import Step

if TYPE_CHECKING:
    from memlab.frontends.torch.observed_model import Observed
    from memlab.frontends.torch.recording import Recording
    from memlab.frontends.torch.tensor_modes import RecordingRequest

OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")
"""The optimizers that have a name here."""
AUTOCAST = ("bf16", "fp16")
"""The formats that autocast can compute in."""


def record(
    build: Callable[[], Any],
    make_batch: Callable[[int], Any],
    loss_fn: Callable[[Any, Any], Any],
    optimizer: str | Callable[[Any], Any] = "momentum",
    **options: Any,
) -> Step:
    """Record one training step of a PyTorch model, as a step that holds for any batch.

    It is the second step: the optimizer has its state. Nothing is allocated and nothing computed
    where fake tensors can stand for the real ones; where not (a branch on data, NumPy in forward),
    two small batches are run, and a note of the step says so. Plan it, look at it and rewrite it
    as any other step; ``memlab.run`` has no kernels for it.

    What PyTorch's kernels take inside themselves, their workspace, is measured when its plan is
    asked for a batch: each distinct operation runs once, alone, in another process.
    ``workspace=False`` leaves it out and measures nothing.

    >>> from torch import nn, randn, randint
    >>> step = memlab.record(
    ...     lambda: nn.Linear(784, 10),
    ...     lambda batch: (randn(batch, 784), randint(10, (batch,))),
    ...     nn.functional.cross_entropy,
    ... )
    >>> memlab.plan(step).peak(32, workspace=False) > 4 * 32 * 784
    True

    Args:
        build: gives the model, an ``nn.Module``.
        make_batch: gives an input and a target for so many samples.
        loss_fn: gives the loss, of the model's output and the target.
        optimizer: ``"sgd"``, ``"momentum"``, ``"adam"``, ``"adamw"``, or a function that makes one
            of parameters: ``lambda p: torch.optim.AdamW(p, fused=True)``.
        **options: ``batch`` and ``real`` of ``observed``, and those of ``recording_request``:
            ``autocast``, ``device``, ``card`` and others.

    Raises:
        InputError: PyTorch is not installed; something is given that no step can be recorded of; or
            the step is not the same at every batch. What the model itself raises comes through.
    """
    recording = observe(build, make_batch, loss_fn, optimizer, **options)
    from memlab.frontends.torch.measured_workspace import lazy_step

    return lazy_step(recording)


def observe(
    build: Callable[[], Any],
    make_batch: Callable[[int], Any],
    loss_fn: Callable[[Any, Any], Any],
    optimizer: str | Callable[[Any], Any] = "momentum",
    **options: Any,
) -> Recording:
    """Record one training step of a PyTorch model: the calls of operators and the storages.
    ``record`` makes a step of them. Its options are those of ``observed``.

    Raises:
        InputError: as ``record``.
    """
    return observed(build, make_batch, loss_fn, optimizer, **options).recording


def observed(
    build: Callable[[], Any],
    make_batch: Callable[[int], Any],
    loss_fn: Callable[[Any, Any], Any],
    optimizer: str | Callable[[Any], Any] = "momentum",
    *,
    batch: int | None = None,
    real: bool | None = None,
    **options: Any,
) -> Observed:
    """Record one training step of a PyTorch model, so that it can be recorded again with a change;
    the attribute ``recording`` is the result of ``observe``.

    Args:
        build: gives the model, an ``nn.Module``.
        make_batch: gives an input and a target for so many samples.
        loss_fn: gives the loss, of the model's output and the target.
        optimizer: a name, or a function that makes one of parameters, as in ``record``.
        batch: record this batch alone, where a step is not the same at every one.
        real: run on real tensors (``True``), on fake ones (``False``), or on those that can.
        **options: those of ``recording_request``.

    Raises:
        InputError: as ``record``.
    """
    request = recording_request(build, make_batch, loss_fn, optimizer, **options)
    from memlab.frontends.torch import observed_model

    return observed_model.Observed(request, batch, real)


def recording_request(
    build: Callable[[], Any],
    make_batch: Callable[[int], Any],
    loss_fn: Callable[[Any, Any], Any],
    optimizer: str | Callable[[Any], Any] = "momentum",
    *,
    autocast: str = "",
    accumulate: int = 1,
    set_to_none: bool = True,
    keep_output: bool = False,
    device: str = "cpu",
    card: str | CudaCard | None = None,
    grad_scaler: bool = False,
    clip_grad_norm: float | None = None,
    keyword_inputs: bool = False,
) -> RecordingRequest:
    """Return the checked request for a recording.

    Args:
        build: gives the model, an ``nn.Module``.
        make_batch: gives an input and a target for so many samples.
        loss_fn: gives the loss, of the model's output and the target.
        optimizer: a name, or a function that makes one of parameters, as in ``record``.
        autocast: ``"bf16"`` or ``"fp16"``: forward and loss run in ``torch.autocast``.
        accumulate: of so many batches the gradients are added before the update.
        set_to_none: whether ``zero_grad`` lets the gradients go, or fills them with zeros.
        keep_output: whether a name holds the model's output until the step ends, as ``y`` does in
            ``y = model(x)``.
        device: ``"cpu"``, or ``"cuda"`` for the step as a card runs it, which need not be there:
            its kernels of attention, its lists of autocast, foreach optimizers.
        card: a name (``"T4"``, ``"RTX 4090"``) or a compute capability (``"8.9"``), for
            ``device="cuda"``; left out, it is the one of this machine, or one of capability 8.0.
        grad_scaler: whether ``torch.amp.GradScaler`` scales the loss.
        clip_grad_norm: the norm that ``clip_grad_norm_`` clips the gradients to before the update.
        keyword_inputs: whether the input is a dictionary, whose items are arguments of the model.

    Raises:
        InputError: PyTorch is not installed, or an option that is none.
    """
    require_torch()
    from memlab.frontends.torch.tensor_modes import RecordingRequest

    if autocast:
        known("format for autocast", autocast, AUTOCAST)
    return RecordingRequest(
        build,
        make_batch,
        loss_fn,
        optimizer,
        autocast,
        whole_number("accumulate", accumulate),
        true_or_false("set_to_none", set_to_none),
        true_or_false("keep_output", keep_output),
        chosen(device, card),
        true_or_false("grad_scaler", grad_scaler),
        None if clip_grad_norm is None else real_number("clip_grad_norm", clip_grad_norm, 1.0),
        true_or_false("keyword_inputs", keyword_inputs),
    )


def require_torch() -> None:
    """Refuse to begin without PyTorch.

    Raises:
        InputError: it is not installed; in a web page, where it cannot be, an AbsentInPageError.
    """
    if IN_PAGE:
        library("torch", "a model of PyTorch")
    try:
        import torch  # noqa: F401 - whether it is there
    except ImportError:
        raise InputError(
            "a model of PyTorch needs PyTorch, which is not installed; "
            'try pip install "memlab[torch]".'
        ) from None

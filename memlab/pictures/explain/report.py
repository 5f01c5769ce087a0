"""``memlab.explain``: the memory of a PyTorch model on a card, for people who read no lesson."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError, shorten, whole_number
from memlab.pictures.draw.page import WIDTH
from memlab.pictures.explain.explained import MOST, Explained
from memlab.pictures.explain.explained_changes import memory_bytes
from memlab.pictures.explain.own_loop import OwnLoop
from memlab.pictures.explain.own_model import EXAMPLE, OwnModel, enlarged, samples_in
from memlab.pictures.explain.page import axis_bytes, explained_page
from memlab.pictures.explain.recorded_model import TorchModel
from memlab.placement.cuda_cards import CudaCard, chosen

if TYPE_CHECKING:
    from torch import nn

    from memlab.pictures.explain.view import ExplainedModel

BATCH, MEMORY = 32, "12 GB"
"""Default batch and memory."""
TRY = "try memlab explain train:model, where model() of train.py gives (build, make_batch)"


def explain(
    build: nn.Module | Callable[[], nn.Module] | None = None,
    make_batch: Callable[[int], Any] | Mapping[str, Any] | None = None,
    loss_fn: Callable[[Any, Any], Any] | None = None,
    optimizer: str | Callable[[Any], Any] = "adam",
    *,
    step: Callable[..., Any] | None = None,
    batch: Any = None,
    memory: int | str | None = None,
    device: str = "cuda",
    card: str | None = None,
    progress: bool = True,
    **options: Any,
) -> ExplainedModel:
    """Explain the peak of a PyTorch model's training step: the peak, the largest batch that fits,
    and the cheapest change that makes the batch fit.

    >>> from torch import nn, randn, randint
    >>> view = memlab.explain(
    ...     nn.Linear(784, 10),
    ...     lambda batch: (randn(batch, 784), randint(10, (batch,))),
    ...     progress=False,
    ... )
    >>> view.batch, view.peak < 10**9
    (32, True)

    The step is recorded without memory and without arithmetic (``memlab.frontends.torch.record``),
    as the card runs it, which need not be there. Its bytes are a range where CUDA's own part is not
    known before it runs: the batch fits where the upper end does. With ``device="cpu"`` the bytes
    are those of PyTorch on a processor, with the workspace that kernels take inside themselves:
    measured at ``batch``, each distinct operation alone in another process, and an upper bound from
    a few batches at any other. As the last line of a notebook cell the result is a live view;
    ``print`` shows the same in words, and ``rows`` has the exact figures.

    A training step of your own, with any models, optimizers and closures, is given as a function:
    ``explain(step=train_step, batch=(x, y))``. It runs four times, on fake tensors where it can,
    and models, optimizers and variables have their state from before afterwards. The answer is for
    this batch alone, or for any with ``make_batch``, and says what grows from step to step.

    Args:
        build: the model, or a function that returns one.
        make_batch: function that returns an input and a target for a number of samples; or a batch
            as a dictionary, which the model takes as keyword arguments and returns the loss of, as
            models of Hugging Face do.
        loss_fn: function of output and target that returns the loss. Left out, it is cross entropy,
            and the targets are whole numbers.
        optimizer: ``"sgd"``, ``"momentum"``, ``"adam"``, ``"adamw"``, or a function that returns an
            optimizer of parameters.
        step: function that runs a training step on a batch, in the place of ``build``, ``loss_fn``
            and ``optimizer``.
        batch: samples of a step, 32 where it is left out; with ``step`` the batch that it gets.
        memory: memory of the card, in bytes or as ``"12 GB"``; fewer than 1 MB need a unit. Left
            out, it is that of the card, or 12 GB.
        device: ``"cuda"`` for a card, or ``"cpu"`` for PyTorch on a processor.
        card: the card by its name (``"T4"``, ``"RTX 4090"``) or its compute capability
            (``"8.9"``). Left out, it is the one of this machine, or one of capability 8.0.
        progress: True for a progress bar.
        options: ``autocast="bf16"``, ``accumulate=4`` and the others of
            ``memlab.frontends.torch.observe``. ``keep_output`` is True here, for in the usual loop
            the name of the output holds it until it is assigned again.

    Raises:
        InputError: PyTorch is not installed, or no step can be recorded of the arguments. Errors of
            the model itself are raised unchanged.
    """
    subject, samples = _subject(
        build, make_batch, loss_fn, optimizer, step, batch, options, progress, chosen(device, card)
    )
    return view_of(subject, samples, memory)


def _subject(
    build: Any, make_batch: Any, loss_fn: Any, optimizer: Any, step: Any, batch: Any,
    options: dict[str, Any], progress: bool, card: CudaCard | None,
) -> tuple[OwnModel | OwnLoop, int]:  # fmt: skip
    """Return the subject of ``explain`` and its batch.

    Raises:
        InputError: neither a model nor a step is given, or both.
    """
    if step is not None:
        if build is not None or loss_fn is not None:
            raise InputError(
                "explain takes a step, or a model with its batches and its loss, got both; try "
                "explain(step=train_step, batch=(x, y))."
            )
        if callable(make_batch):
            batch = whole_number("batch", BATCH if batch is None else batch, most=MOST)
        if unknown := options.keys() - {"real"}:
            raise InputError(
                f"explain(step=...) has no option {sorted(unknown)[0]!r}, for the step itself "
                "decides it; its options are memory, device, card, real and progress."
            )
        loop = OwnLoop(step, batch, card, options.get("real"), progress, make_batch)
        return loop, loop.samples
    if build is None or make_batch is None:
        lacking = "build" if build is None else "make_batch"
        raise InputError(f"explain needs a model and its batches, {lacking} is left out; try "
                         f"{EXAMPLE}, or explain(step=train_step, batch=(x, y)).")  # fmt: skip
    if isinstance(make_batch, Mapping):
        options = {"keyword_inputs": True, **options}
        batch = samples_in(make_batch) if batch is None else batch
        make_batch = partial(enlarged, make_batch)
    samples = BATCH if batch is None else batch
    return OwnModel(
        build, make_batch, loss_fn, optimizer, options, progress, card, samples
    ), samples


def _memory(subject: TorchModel, given: int | str | None) -> int | str:
    """Return the memory that was given, or that of the card, or the default."""
    if given is not None:
        return given
    return (subject.card.memory if subject.card else 0) or MEMORY


# -- for the command line ----------------------------------------------------------------------


def told(
    build: Any = None, make_batch: Any = None, loss_fn: Any = None, optimizer: Any = "adam", *,
    step: Any = None, batch: Any = None, memory: int | str | None = None, device: str = "cuda",
    card: str | None = None, progress: bool = True, **options: Any,
) -> tuple[Explained, str]:  # fmt: skip
    """Return the figures of ``memlab.explain`` and its text, without loading a widget; arguments as
    there."""
    if step is None and batch is not None:
        batch = whole_number("batch", batch, most=MOST)
    subject, samples = _subject(
        build, make_batch, loss_fn, optimizer, step, batch, options, progress, chosen(device, card)
    )
    return told_of(subject, samples, memory)


def told_of(
    subject: TorchModel, samples: int, memory: int | str | None = None
) -> tuple[Explained, str]:
    """Return the figures of a model that was recorded, and its text."""
    explained = Explained(subject, samples, memory_bytes(_memory(subject, memory)))
    return explained, explained_page(explained, axis_bytes(explained), WIDTH, numbers=False).text()


def view_of(subject: TorchModel, samples: int, memory: int | str | None = None) -> ExplainedModel:
    """Return the view of a model that was recorded."""
    from memlab.pictures.explain.view import ExplainedModel  # it loads anywidget

    return ExplainedModel(subject, samples, _memory(subject, memory))


def given_by(place: str) -> dict[str, Any]:
    """Call a function and return the arguments of ``memlab.explain`` that it gives.

    It is called without arguments and returns ``(build, make_batch)`` or ``(build, make_batch,
    loss_fn)``, a dict of the arguments of ``memlab.explain``, also with ``step`` in the place of a
    model, or a model that has a method ``make_batch``. Its own errors are raised unchanged.

    Args:
        place: the function, as ``package.module:function``.

    Raises:
        InputError: no such module or function, or it returns something else.
    """
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise InputError(
            f"name a function as package.module:function, got {shorten(place)}; {TRY}."
        )
    make = getattr(_module(module), name, None)
    if not callable(make):
        raise InputError(f"{module} has no function {shorten(name)}; {TRY}.")
    return _arguments(make(), place)


def _module(name: str) -> Any:
    """Import and return the module of that name.

    Raises:
        InputError: there is none. A module that its own imports miss is raised unchanged.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise InputError(
            f"there is no module {shorten(error.name)} here; run memlab in the folder in which "
            f"python -c 'import {error.name}' works."
        ) from None
    except (TypeError, ValueError):
        raise InputError(f"{shorten(name)} is no name of a module; {TRY}.") from None


def _arguments(returned: Any, place: str) -> dict[str, Any]:
    """Return the arguments of ``memlab.explain`` from the value that a function returned."""
    if isinstance(returned, Mapping):
        needed = () if "step" in returned else ("build", "make_batch")
        if lacking := [name for name in needed if name not in returned]:
            raise InputError(f"the dict of {place} has no {lacking[0]!r}; it is an argument of "
                             "memlab.explain.")  # fmt: skip
        return dict(returned)
    if isinstance(returned, tuple) and len(returned) in (2, 3):
        return dict(zip(("build", "make_batch", "loss_fn"), returned, strict=False))
    if callable(getattr(returned, "make_batch", None)):
        return {"build": returned, "make_batch": returned.make_batch}
    raise InputError(
        f"{place} must give (build, make_batch), a dict of arguments of memlab.explain, or a model "
        f"with a method make_batch, got {shorten(returned)}."
    )

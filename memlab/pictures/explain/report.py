"""``memlab.explain``: a model of PyTorch and its card, for a person who reads no lesson."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError, shorten, whole_number
from memlab.pictures.draw.page import WIDTH
from memlab.pictures.explain.explained import MOST, Explained
from memlab.pictures.explain.explained_changes import budget
from memlab.pictures.explain.own_model import OwnModel
from memlab.pictures.explain.page import needs, page

if TYPE_CHECKING:
    from torch import nn

    from memlab.pictures.explain.view import ExplainedModel

BATCH, MEMORY = 32, "12 GB"
"""Batch and memory, where none is given."""
TRY = "try memlab explain train:model, where model() of train.py gives (build, make_batch)"


def explain(
    build: nn.Module | Callable[[], nn.Module],
    make_batch: Callable[[int], Any],
    loss_fn: Callable[[Any, Any], Any] | None = None,
    optimizer: str | Callable[[Any], Any] = "adam",
    *,
    batch: int = BATCH,
    memory: int | str = MEMORY,
    progress: bool = True,
    **options: Any,
) -> ExplainedModel:
    """Where one training step of a PyTorch model has its peak, what fits, and what makes it fit.

    >>> memlab.explain(model, lambda B: (torch.randn(B, 3, 224, 224), torch.randint(1000, (B,))))

    The step is recorded without memory and without arithmetic (``memlab.frontends.torch.record``),
    so the card need not be there. As the last line of a notebook cell the result is a live view;
    ``print`` shows the same in words, and ``rows`` has the exact figures.

    Args:
        build: the model, or a function that gives one.
        make_batch: gives an input and a target for so many samples.
        loss_fn: the loss of the model's output and the target. Left out, it is cross entropy,
            where the targets are whole numbers.
        optimizer: ``"sgd"``, ``"momentum"``, ``"adam"``, ``"adamw"``, or a function that makes one
            of parameters.
        batch: samples of a step.
        memory: of the card, in bytes or as ``"12 GB"``; fewer than 1 MB need a unit.
        progress: whether a bar shows what is being done.
        options: ``autocast="bf16"``, ``accumulate=4`` and the others of
            ``memlab.frontends.torch.observe``.

    Raises:
        InputError: PyTorch is not installed; something is given that no step can be recorded of.
            What the model itself raises comes through as it is.
    """
    from memlab.pictures.explain.view import ExplainedModel  # it loads anywidget

    model = OwnModel(build, make_batch, loss_fn, optimizer, options, progress)
    return ExplainedModel(model, batch, memory)


# -- for the command line ----------------------------------------------------------------------


def told(
    build: Any, make_batch: Any, loss_fn: Any = None, optimizer: Any = "adam", *,
    batch: int = BATCH, memory: int | str = MEMORY, progress: bool = True, **options: Any,
) -> tuple[Explained, str]:  # fmt: skip
    """The figures of ``explain`` and its text, without the view: no widget is loaded for them."""
    model = OwnModel(build, make_batch, loss_fn, optimizer, options, progress)
    found = Explained(model, whole_number("batch", batch, most=MOST), budget(memory))
    return found, page(found, needs(found), WIDTH, numbers=False).text()


def given_by(place: str) -> dict[str, Any]:
    """The arguments of ``explain`` that a function gives, which is named as
    ``package.module:function``.

    It is called without arguments and gives ``(build, make_batch)`` or ``(build, make_batch,
    loss_fn)``, a dict of the arguments of ``memlab.explain``, or a model that has a method
    ``make_batch``. What it raises itself comes through as it is.

    Raises:
        InputError: no such module or function, or it gives something else.
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
    """The module of that name.

    Raises:
        InputError: there is none; what its own imports miss is an error of its own.
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


def _arguments(made: Any, place: str) -> dict[str, Any]:
    """Arguments that a function gave."""
    if isinstance(made, Mapping):
        if lacking := [each for each in ("build", "make_batch") if each not in made]:
            raise InputError(f"the dict of {place} has no {lacking[0]!r}; it is an argument of "
                             "memlab.explain.")  # fmt: skip
        return dict(made)
    if isinstance(made, tuple) and len(made) in (2, 3):
        return dict(zip(("build", "make_batch", "loss_fn"), made, strict=False))
    if callable(getattr(made, "make_batch", None)):
        return {"build": made, "make_batch": made.make_batch}
    raise InputError(
        f"{place} must give (build, make_batch), a dict of arguments of memlab.explain, or a model "
        f"with a method make_batch, got {shorten(made)}."
    )

"""A PyTorch model is made to fit: ``fit_model`` chooses the modules that run again in backward, or
those of which what they save waits in host memory.

PyTorch is no dependency of memlab, and nothing here loads it before it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memlab import units
from memlab.errors import known, whole_number
from memlab.frontends.torch import recording_request
from memlab.placement.cuda_cards import CudaCard

if TYPE_CHECKING:
    from memlab.frontends.torch.fitting.recipe import RecipeFit
    from memlab.frontends.torch.fitting.search import Search

BY = ("recompute", "offload")
"""What ``fit_model`` can make a step fit by."""


def fit_model(
    build: Callable[[], Any],
    make_batch: Callable[[int], Any],
    loss_fn: Callable[[Any, Any], Any],
    optimizer: str | Callable[[Any], Any] = "momentum",
    *,
    batch: int,
    memory: int | str,
    by: str = "recompute",
    autocast: str = "",
    accumulate: int = 1,
    keep_output: bool = False,
    device: str = "cpu",
    card: str | CudaCard | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> RecipeFit:
    """The cheapest modules to run again in backward, so that a training step fits into memory; or
    the modules that move the fewest bytes where what they save waits in host memory.

    The step is recorded as in ``memlab.record``, and what kernels take inside themselves is
    measured at the batch, each distinct operation alone, in another process. Among all sets of
    modules of which none lies in another, the one that takes the fewest seconds is found by a
    mixed-integer program. Then the wrapped model is recorded, and that is what the recipe promises.

    >>> from torch import nn, randn, randint
    >>> build = lambda: nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU())] * 4)
    >>> make_batch = lambda batch: (randn(batch, 64), randint(64, (batch,)))
    >>> recipe = memlab.fit_model(
    ...     build, make_batch, nn.functional.cross_entropy, "sgd", batch=512, memory="1 GB"
    ... )
    >>> recipe.peak <= 10**9, type(recipe.apply(build())).__name__
    (True, 'Sequential')

    Args:
        build: gives the model, an ``nn.Module``.
        make_batch: gives an input and a target for so many samples.
        loss_fn: gives the loss, of the model's output and the target.
        optimizer: a name, or a function that makes one of parameters, as in ``memlab.record``.
        batch: the mini-batch size that is to fit.
        memory: bytes, or an amount as ``"10GB"`` and ``"11.5GiB"``; those of the device.
        by: ``"recompute"``, or ``"offload"``: what autograd saves inside the chosen modules is
            copied to host memory by hooks of saved tensors, and comes back in backward. The recipe
            is then an ``Offload``, which has the bytes that move and that wait.
        autocast: ``"bf16"`` or ``"fp16"``, as in ``memlab.record``.
        accumulate: of so many batches the gradients are added before the update.
        keep_output: whether a name holds the model's output until the step ends.
        device: ``"cpu"``, or ``"cuda"`` for the step of a card, which need not be there. Then
            ``memory`` is that of the card, all that CUDA adds to the plan fits into it at its most,
            and seconds are planned.
        card: a name (``"T4"``) or a compute capability (``"8.9"``), as in ``memlab.record``.
        tell: is told how many operations are measured, and of how many.

    Raises:
        InputError: nothing fits; the message has the least peak and what would help. Or as
            ``memlab.record``; or SciPy is not installed.
    """
    request = recording_request(
        build, make_batch, loss_fn, optimizer, autocast=autocast, accumulate=accumulate,
        keep_output=keep_output, device=device, card=card,
    )  # fmt: skip
    from memlab.frontends.torch.fitting.search import Clocked, Measured, WatchedModel, failure

    known("way to make a model fit", by, BY)
    nbytes, number = units.parse(memory), whole_number("batch", batch)
    account = Clocked(number, progress=False) if request.card else Measured(number, tell)
    searched = _search(by)(WatchedModel(request, number), account)
    fitted = searched.fit(nbytes)
    if fitted.recipe is None:
        raise failure(searched, fitted, nbytes)
    return fitted.recipe


def _search(by: str) -> type[Search]:
    if by == "offload":
        from memlab.frontends.torch.fitting.offload_search import OffloadSearch

        return OffloadSearch
    from memlab.frontends.torch.fitting.search import Search

    return Search

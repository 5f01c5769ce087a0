"""Changes of a model's step that take less memory, each recorded at once.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memlab.frontends.torch.fitting import offloading, sequence_segments, wrapping
from memlab.frontends.torch.fitting.chunked_loss import RecordedLoss, is_cross_entropy
from memlab.frontends.torch.fitting.chunked_loss import code as chunked_code
from memlab.frontends.torch.recording import OperatorCall, Recording, Spec
from memlab.frontends.torch.tensor_modes import Change, RecordingRequest, as_it_is
from memlab.step.op import Phase

BF16 = (8, 0)
"""The first compute capability that multiplies in bfloat16."""


@dataclass(frozen=True)
class ModelRemedy:
    """A change of a step: of the model by ``change``, and of ``options`` of the request.

    ``key`` is the name of its texts, ``code`` are the lines to paste, ``alone`` lines with the same
    effect without memlab, and ``names`` the modules that it is about; ``same`` is True if it
    computes the same numbers, bit for bit.
    """

    key: str
    code: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    change: Change = as_it_is
    names: tuple[str, ...] = ()
    same: bool = True
    alone: tuple[str, ...] = ()


def model_remedies(wish: RecordingRequest, recording: Recording) -> Iterator[ModelRemedy]:
    """Yield the changes to try on a step that was recorded, those with the same numbers first."""
    loss = "model(**batch).loss" if wish.keyword_inputs else "loss_fn(model(x), y)"
    if wish.keep_output:
        line = f"loss = {loss}  # no name holds the output"
        yield ModelRemedy("keep_output", (line,), {"keep_output": False})
    if not wish.set_to_none:
        yield ModelRemedy("set_to_none", ("optimizer.zero_grad()",), {"set_to_none": True})
    if names := sequence_segments.sequences(recording.modules):
        change = partial(sequence_segments.wrap, names=names)
        lines = wrapping.lines("model", names, "sequence_segments")
        yield ModelRemedy("in_segments", lines, change=change,
                          names=tuple(name or recording.model for name in names),
                          alone=tuple(sequence_segments.code(names).splitlines()))  # fmt: skip
    if wish.card:
        yield _offload()
    yield from _chunked(wish, recording)
    if not wish.autocast and (wish.card is None or wish.card.capability >= BF16):
        device = "cuda" if wish.card else "cpu"
        lines = (f"with torch.autocast({device!r}, torch.bfloat16):", f"    loss = {loss}")
        yield ModelRemedy("autocast", lines, {"autocast": "bf16"}, same=False)


def _offload() -> ModelRemedy:
    """Return the change that lets all maps wait in host memory."""
    code = wrapping.lines("model", [""], "offloading")
    change = partial(offloading.wrap_recorded, names=("",))
    alone = tuple(offloading.code([""]).splitlines())
    return ModelRemedy("offload", code, change=change, alone=alone)


def _chunked(wish: RecordingRequest, recording: Recording) -> Iterator[ModelRemedy]:
    """Yield the loss in chunks, where it is cross entropy of what a linear layer gives."""
    last = _last_of_forward(recording)
    if last is None or recording.modules.get(last.path) != "Linear":
        return
    shape = next(output.shape for output in last.outputs if isinstance(output, Spec))
    if not is_cross_entropy(wish.loss_fn, shape[-1].at(1), len(shape) - 1):
        return
    loss = RecordedLoss(last.path)
    code = (
        "from memlab.frontends.torch.fitting.chunked_loss import chunked_loss",
        f"loss_fn = chunked_loss(model.get_submodule({json.dumps(last.path)}))",
    )
    yield ModelRemedy(
        "chunked", code, {"loss_fn": loss}, loss.change, (last.path,), False,
        tuple(chunked_code(last.path).splitlines()),
    )  # fmt: skip


def _last_of_forward(recording: Recording) -> OperatorCall | None:
    """Return the last call of forward that gives a tensor."""
    forward = (
        call for call in reversed(recording.calls)
        if call.phase is Phase.FORWARD and any(isinstance(out, Spec) for out in call.outputs)
    )  # fmt: skip
    return next(forward, None)

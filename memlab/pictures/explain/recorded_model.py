"""A PyTorch model that was explained on another machine, as a file: its step, and the changes that
were recorded for a batch. A reader needs no PyTorch to see it explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from memlab.errors import InputError, shorten
from memlab.frontends import step_files
from memlab.ledger import files
from memlab.ledger.file_fields import Check, What, count, each, fields, text, truth
from memlab.pictures.explain.explained_changes import ExplainedStep, StepChange
from memlab.pictures.explain.frozen import FrozenParameters
from memlab.pictures.explain.modules import with_class
from memlab.placement import cuda_cards
from memlab.placement.cuda_cards import USUAL, CudaCard
from memlab.step.step import Step

SCHEMA = "memlab.model/2"
_CHANGE_FIELDS = ("key", "code", "names", "alone", "parts", "same")
"""Fields of a change in a file, without its step."""


class TorchModel(ExplainedStep):
    """A step recorded from PyTorch. ``modules`` has the class of each module by its path, ``card``
    is the card that the step was recorded for, None for a processor."""

    def __init__(
        self, step: Step, modules: Mapping[str, str], card: CudaCard | None = USUAL
    ) -> None:
        super().__init__(step, "model", card)
        self.modules = modules

    def frozen(self, batch: int) -> str:
        """Return a sentence on frozen parameters; empty where there are none."""
        return self._frozen.sentence(batch)

    @cached_property
    def _frozen(self) -> FrozenParameters:
        """Frozen parameters of the unchanged step."""
        return FrozenParameters(self.step, self.plain.ledger)

    def path(self, layer: str) -> str:
        """Return the module of a layer: its path in ``named_modules``."""
        return layer

    def module_name(self, path: str) -> str:
        """Return the display name of a module; a name that is only a number has its class:
        ``'features.3 (ReLU)'``."""
        return with_class(path, self.modules)


class RecordedModel(TorchModel):
    """A model from a file, with the changes that were recorded for it.

    ``where`` is the date and the version of the recording, ``card`` the card that it is for, None
    for a processor. ``changes`` are those that were recorded for one batch; for another batch the
    same ones are planned again.
    """

    def __init__(
        self, step: Step, modules: Mapping[str, str], changes: Sequence[Mapping[str, Any]],
        where: str, card: CudaCard | None = USUAL,
    ) -> None:  # fmt: skip
        super().__init__(step, modules, card)
        self.where, self._recorded = where, changes
        self.lacks_workspace = card is None and not any(op.workspace for op in step.ops)

    def _change_makers(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        """Return functions that plan the recorded changes at a batch."""
        return [partial(self._recorded_change, batch, change) for change in self._recorded]

    def _recorded_change(self, batch: int, given: Mapping[str, Any]) -> StepChange:
        """Return a recorded change, planned at a batch."""
        values = {name: given[name] for name in _CHANGE_FIELDS}
        return self.change(given["step"], batch, values.pop("key"), *values.pop("code"), **values)

    def __repr__(self) -> str:
        return f"<{self.label}, {self.where}>"


def save(model: TorchModel, changes: Sequence[StepChange], path: str | Path, where: str) -> None:
    """Write a model of ``memlab.explain`` and its changes to a file, all of it or nothing. Their
    workspace is the upper bound that holds for any batch: a reader cannot measure it.

    Args:
        model: the model.
        changes: changes that were recorded for it.
        path: file to write.
        where: date and version of the recording.

    Raises:
        InputError: the file cannot be written.
    """
    data = {
        "schema": SCHEMA,
        "where": where,
        "card": "{}.{}".format(*model.card.capability) if model.card else "",
        "modules": dict(model.modules),
        "changes": [
            {
                **{name: getattr(change, name) for name in _CHANGE_FIELDS},
                "step": step_files.to_dict(change.step.at()),
            }
            for change in changes
        ],
        "step": step_files.to_dict(model.step.at()),
    }
    files.write(path, step_files.written(data))


def load(path: str | Path) -> RecordedModel:
    """Read a file that ``save`` wrote.

    Raises:
        InputError: the file is not there, or holds no model.
    """
    return files.read(path, _model, "record it again")


def _model(data: Any) -> RecordedModel:
    """Return the model of checked data of a file."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(f"this is no model of schema {SCHEMA} (schema: {shorten(schema)}).")
    values = fields((), data, _MODEL)
    names = ("step", "modules", "changes", "where", "card")
    return RecordedModel(*(values[name] for name in names))


def _step(what: What, given: Any) -> Step:
    return step_files.from_dict(given)


def _modules(what: What, given: Any) -> Mapping[str, str]:
    """Return the checked classes of modules by their paths."""
    if not isinstance(given, dict):
        raise InputError(f"{what[0]} is {shorten(given)}.")
    return {text(("a path", *what), path): text((path, *what), of) for path, of in given.items()}


def _card(what: What, given: Any) -> CudaCard | None:
    """Return the card of a checked compute capability; None for an empty one, a processor."""
    capability = text(what, given)
    return cuda_cards.find(capability) if capability else None


_CHANGE: dict[str, Check] = {
    "key": text,
    "code": each("a line", text),
    "names": each("a module", text),
    "alone": each("a line", text),
    "parts": partial(count, least=1),
    "same": truth,
    "step": _step,
}
_MODEL: dict[str, Check] = {
    "schema": text,
    "where": text,
    "card": _card,
    "modules": _modules,
    "changes": each("a change", lambda what, given: fields(what, given, _CHANGE)),
    "step": _step,
}

"""A model of PyTorch that was explained elsewhere, as a file: its step, and the changes that were
recorded for a batch. Where PyTorch is not installed it is looked at as if it were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memlab.errors import InputError, shorten
from memlab.frontends import step_files
from memlab.ledger import files
from memlab.ledger.file_fields import Check, What, count, each, fields, text, truth
from memlab.pictures.explain.explained_changes import ExplainedStep, StepChange
from memlab.pictures.explain.modules import named
from memlab.step.step import Step

SCHEMA = "memlab.model/1"
_SAYS = ("key", "code", "names", "alone", "parts", "same")
"""Fields of a change beside its step."""


class TorchModel(ExplainedStep):
    """A step that was recorded from PyTorch; ``modules`` has the class of each module by its
    path."""

    def __init__(self, step: Step, modules: Mapping[str, str]) -> None:
        super().__init__(step, "model")
        self.modules = modules

    def path(self, layer: str) -> str:
        """The module, as ``named_modules`` says it."""
        return layer

    def module_name(self, path: str) -> str:
        """A module that is a number alone with its class: ``'features.3 (ReLU)'``."""
        return named(path, self.modules)


class RecordedModel(TorchModel):
    """A model as it was recorded, with what was found to make it fit.

    ``where`` says when and with which version; ``changes`` are those that were recorded, whatever
    the batch: of another one they are planned anew.
    """

    def __init__(
        self, step: Step, modules: Mapping[str, str], changes: Sequence[Mapping[str, Any]],
        where: str,
    ) -> None:  # fmt: skip
        super().__init__(step, modules)
        self.where, self._recorded = where, changes

    def _ways(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        return [partial(self._as_recorded, batch, each) for each in self._recorded]

    def _as_recorded(self, batch: int, given: Mapping[str, Any]) -> StepChange:
        said = {name: given[name] for name in _SAYS}
        return self.change(given["step"], batch, said.pop("key"), *said.pop("code"), **said)

    def __repr__(self) -> str:
        return f"<{self.label}, {self.where}>"


def save(model: TorchModel, changes: Sequence[StepChange], path: str | Path, where: str) -> None:
    """Write a model of ``memlab.explain`` with what was found for it, all of it or nothing.

    Raises:
        InputError: a place that cannot be written to.
    """
    told = {
        "schema": SCHEMA,
        "where": where,
        "modules": dict(model.modules),
        "changes": [
            {**{name: getattr(each, name) for name in _SAYS}, "step": step_files.to_dict(each.step)}
            for each in changes
        ],
        "step": step_files.to_dict(model.step),
    }
    files.write(path, step_files.written(told))


def load(path: str | Path) -> RecordedModel:
    """Read what ``save`` wrote.

    Raises:
        InputError: the file is not there, or holds no model.
    """
    return files.read(path, _model, "record it again")


def _model(data: Any) -> RecordedModel:
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(f"this is no model of schema {SCHEMA} (schema: {shorten(schema)}).")
    found = fields((), data, _MODEL)
    return RecordedModel(found["step"], found["modules"], found["changes"], found["where"])


def _step(what: What, given: Any) -> Step:
    return step_files.from_dict(given)


def _modules(what: What, given: Any) -> Mapping[str, str]:
    """Classes by path."""
    if not isinstance(given, dict):
        raise InputError(f"{what[0]} is {shorten(given)}.")
    return {text(("a path", *what), path): text((path, *what), of) for path, of in given.items()}


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
    "modules": _modules,
    "changes": each("a change", lambda what, given: fields(what, given, _CHANGE)),
    "step": _step,
}

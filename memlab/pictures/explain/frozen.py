"""Frozen parameters of a step in words: what they save, and the maps that are kept all the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from memlab import strings
from memlab.ledger.entries import Entry
from memlab.ledger.ledger import Ledger
from memlab.pictures.explain.modules import shortened_path
from memlab.pictures.values.number_text import three_digits
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role

LEAST = 0.1
"""Least share of the parameters that is said to be frozen."""
GRADIENT = ".grad"
"""Ending of the name of a parameter's gradient."""


@dataclass(frozen=True, eq=False)
class FrozenParameters:
    """Parameters of a recorded step that get no gradient."""

    step: Step
    ledger: Ledger

    @cached_property
    def trained(self) -> dict[str, bool]:
        """Whether each parameter gets a gradient, by its name."""
        gradients = {entry.name for entry in self._of(Role.PARAMETER_GRADIENT)}
        return {e.name: e.name + GRADIENT in gradients for e in self._of(Role.PARAMETER)}

    def _of(self, role: Role) -> Iterator[Entry]:
        return (entry for entry in self.ledger.entries if entry.role is role)

    def sentence(self, batch: int) -> str:
        """Return a sentence on them; empty where nothing, little or everything is frozen."""
        sizes = {e.name: e.size.at(batch) for e in self._of(Role.PARAMETER)}
        frozen = sum(size for name, size in sizes.items() if not self.trained[name])
        total = sum(sizes.values())
        if not any(self.trained.values()) or frozen < LEAST * total:
            return ""
        values = {"frozen": three_digits(frozen), "total": three_digits(total)}
        kept = sum(entry.size.at(batch) for entry in self.kept)
        if not kept:
            return strings.get("explain.frozen.plain", **values)
        _, module = self._first_trained
        return strings.get("explain.frozen.kept", maps=three_digits(kept),
                           module=shortened_path(module), **values)  # fmt: skip

    @cached_property
    def kept(self) -> tuple[Entry, ...]:
        """Maps of frozen modules that backward waits for: a module before them is trained, and none
        that is trained reads them in forward."""
        rows = self.ledger.rows
        backward = next((n for n, row in enumerate(rows) if row.phase is Phase.BACKWARD), len(rows))
        begin, _ = self._first_trained
        read = {
            tensor.storage.name
            for op in self.step.ops[:backward]
            if op.layer in self._owners
            for tensor in op.reads.values()
        }
        is_frozen = cache(self._is_frozen)
        return tuple(
            entry for entry in self._of(Role.FEATURE_MAP)
            if begin < entry.birth < backward <= entry.death
            and entry.name not in read and is_frozen(entry.layer)
        )  # fmt: skip

    @cached_property
    def _owners(self) -> set[str]:
        """Modules with a trained parameter of their own."""
        return {name.rpartition(".")[0] for name, trained in self.trained.items() if trained}

    @cached_property
    def _first_trained(self) -> tuple[int, str]:
        """The first operation of a module with a trained parameter, and the module."""
        rows = enumerate(self.ledger.rows)
        return next(((n, row.layer) for n, row in rows if row.layer in self._owners), (-1, ""))

    def _is_frozen(self, path: str) -> bool:
        """Return whether a module, or the first around it that has parameters, has no trained
        one."""
        while path:
            inside = [t for name, t in self.trained.items() if name.startswith(f"{path}.")]
            if inside:
                return not any(inside)
            path = path.rpartition(".")[0]
        return False

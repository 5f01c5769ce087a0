"""Which modules let what they save wait in host memory: the fewest bytes moved within a budget.

The bytes inside every operation are linear in the choice, as in ``model``: where what a module
saves waits elsewhere, its own backward holds none of it on the device, from the last reader of
forward until its backward begins. Import this module only where PyTorch is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from memlab import units
from memlab.frontends.torch.fitting import offloading
from memlab.frontends.torch.fitting.checkpointed_peak import (
    ALWAYS,
    CandidateRecording,
    Model,
    SavedStorage,
)
from memlab.frontends.torch.fitting.module_calls import CallSpan, inside, savers
from memlab.frontends.torch.fitting.module_milp import ModuleChoice, ModuleProgram
from memlab.frontends.torch.fitting.recipe import RecipeFit
from memlab.frontends.torch.fitting.search import Search
from memlab.frontends.torch.recording import BEFORE, OperatorCall, RecordedStorage
from memlab.ledger.plan import plan
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import HOST

_MB = 1e6


@dataclass(frozen=True)
class OffloadFit(RecipeFit):
    """Plan that fits because tensors that autograd saves inside ``modules`` wait in host memory.

    ``peak`` and ``before`` are bytes of the device. In a step ``to_host`` bytes leave it and
    ``to_device`` come back; ``host`` is the most that waits at once. On a GPU it waits in pinned
    memory, of which PyTorch takes the next power of 2 for each storage. On a processor both
    memories are one, and nothing is spared. Copies wait for nobody and nobody passes them: they run
    among the operations. ``proved`` says that no set of modules of which none lies in another moves
    fewer bytes, by the count of the plain recording, and that this one moves what was counted.
    """

    way: ClassVar[Any] = offloading

    to_host: int
    to_device: int
    host: int

    def _takes(self, names: str) -> str:
        moves = f"{units.short(self.to_host)} leave the device in a step"
        back = f"{units.short(self.to_device)} come back"
        bound = (
            "No set of modules, none inside another, is counted to move less."
            if self.proved
            else "Another set of modules may move less."
        )
        return (
            f"where what {names} save for backward waits in host memory: {moves}, {back}, and "
            f"{units.short(self.host)} wait at most. {bound}"
        )


class OffloadSearch(Search):
    """Search for the modules whose saved tensors wait in host memory, of a model at a batch."""

    what: ClassVar[str] = "whose saved tensors wait in host memory"

    @cached_property
    def program(self) -> ModuleProgram:
        """The choices as a mixed-integer program, whose seconds are MB moved to the host."""
        norms = self.watched.norms
        reading = Waits(self.recording, self.measured, self.spans, norms, self.batch)
        return ModuleProgram(reading.model())

    @cached_property
    def spans(self) -> Mapping[str, Sequence[CallSpan]]:
        """The runs of the modules whose saved tensors can wait, by their names."""
        return savers(self.recording, self.watched)

    def change(self, model: Any, names: tuple[str, ...]) -> Any:
        """The model with these modules wrapped, as it is recorded."""
        return offloading.wrap_recorded(model, names)

    def recipe(self, choice: ModuleChoice, nbytes: int, step: Step, peak: int) -> RecipeFit:
        """Recipe of a choice of modules; its bytes are those of the recorded step."""
        copies = [op for op in step.ops if op.phase is Phase.COPY]
        sizes = [
            (tensor.storage.memory == HOST, tensor.storage.size.at(self.batch))
            for op in copies
            for tensor in op.writes.values()
        ]
        to_host = sum(n for host, n in sizes if host)
        return OffloadFit(
            **self.common(choice, nbytes, step, peak),
            proved=choice.proved and to_host == round(choice.seconds * _MB),
            to_host=to_host,
            to_device=sum(n for host, n in sizes if not host),
            host=plan(step).peak(self.batch, HOST),
        )


class Waits(CandidateRecording):
    """Reader of a recording that looks for modules that save tensors."""

    def model(self) -> Model:
        """Model of the recording; modules that save nothing are left out."""
        self.spans = {name: self.spans[name] for name in self._savers()}
        self.owners = self._owners()
        moving = [block for block in self.recording.blocks if self._moves(block)]
        held = [self._waits(storage) for storage in moving]
        held += list(self._states())
        cost, shared = self._cost(moving)
        total = sum(map(self._bytes, moving)) / _MB
        parents = self._parents(tuple(cost))
        return Model(self._base(moving), held, (), cost, total, parents, shared)

    def _savers(self) -> list[str]:
        """Names of the modules that save anything that can wait in host memory."""
        names = {
            name
            for block in filter(self._goes, self.recording.blocks)
            for name in self._names(block)
        }
        return [name for name in self.spans if name in names]

    def _cost(
        self, moving: Sequence[RecordedStorage]
    ) -> tuple[dict[str, float], dict[frozenset[str], float]]:
        """Return the MB that each module moves, and those that several move together, because they
        save one storage. Of modules that lie in each other one at most is chosen, so each has
        the storage alone."""
        cost = dict.fromkeys(self.spans, 0.0)
        shared: dict[frozenset[str], float] = {}
        for block in moving:
            names, nbytes = self._names(block), self._bytes(block) / _MB
            chain = sorted(names, key=len)
            if all(inside(b, a) for a, b in pairwise(chain)):
                for name in names:
                    cost[name] += nbytes
            else:
                shared[names] = shared.get(names, 0.0) + nbytes
        return cost, shared

    def _names(self, block: RecordedStorage) -> frozenset[str]:
        """Return the names of the modules that save a storage."""
        saved = self._backward(block)
        return frozenset(name for call in saved for name in self.owners.get(call.forward or 0, ()))

    def _backward(self, block: RecordedStorage) -> Iterator[OperatorCall]:
        """Yield the calls of backward that read a storage that forward saved."""
        for call in self.readers[block.number]:
            if call.phase is Phase.BACKWARD and call.forward is not None:
                yield call

    def _goes(self, block: RecordedStorage) -> bool:
        """Return whether a storage is moved where it is saved: neither a vector nor there before
        the step."""
        born = block.born != BEFORE and self._forward(block)
        return born and len(block.spec.shape) > 1 and bool(self._bytes(block))

    def _moves(self, block: RecordedStorage) -> bool:
        """Return whether a choice can change when a storage is on the device."""
        return self._goes(block) and bool(self._names(block))

    def _waits(self, block: RecordedStorage) -> SavedStorage:
        """Return a storage with the calls that may hold it on the device, each
        under its condition."""
        held = SavedStorage(self._bytes(block), block.born)
        held.hold(ALWAYS, block.born)
        saved = list(self._backward(block))
        for call in self.readers[block.number]:
            if call not in saved:
                held.hold(ALWAYS, call.number)
        for call in saved:
            owners = self.owners.get(call.forward or 0, ())
            held.hold(("-", *owners), min(self._last_of(call), block.died))
        if not self._in_backward(min(block.died, len(self.recording.calls) - 1)):
            held.hold(ALWAYS, block.died)
        held.second = dict(self._back(block, saved))
        return held

    def _last_of(self, call: OperatorCall) -> int:
        """Return the number of the last operator call of the autograd node that a backward call
        belongs to, or of the call itself if that is later."""
        return max(self.nodes[call.forward or 0][-1], call.number)

    def _back(
        self, block: RecordedStorage, saved: Sequence[OperatorCall]
    ) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the spans in which a storage is on the device again, by the module
        that saved it."""
        for name in {name for call in saved for name in self.owners.get(call.forward or 0, ())}:
            own = [c for c in saved if name in self.owners.get(c.forward or 0, ())]
            first = min(self.nodes[call.forward or 0][0] for call in own)
            yield name, (first, min(max(map(self._last_of, own)), block.died))

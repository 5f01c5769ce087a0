"""In which format each role of a step is stored: half precision, mixed precision, or by role.

What is stored small is computed in fp32, tile by tile; the buffers of the tiles are workspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from memlab.assemble.eight_bit_base import SCALES
from memlab.errors import InputError, known, one_option, true_or_false
from memlab.formats import FORMATS, STORED, Format
from memlab.step import tensor
from memlab.step.fp32_tiles import (
    ADJUST,
    CHECK,
    COMPUTED,
    OVERFLOW,
    SCALE,
    STEPS,
    TAKEN,
    is_staged,
    with_fp32_tiles,
)
from memlab.step.initial_values import InitialValue
from memlab.step.op import PARAMETER, Op, Operands, Phase, UpdateSlot
from memlab.step.rewrite_traits import Traits
from memlab.step.step import Step
from memlab.step.storage import Size, Storage
from memlab.step.tensor import Role, Tensor
from memlab.techniques import application_order
from memlab.techniques.registry import Argument, Order, technique

ROLES = tuple(role for role in Role if role is not Role.WORKSPACE)
"""The roles that can have a format of their own; a workspace has that of what is computed."""

ROUNDINGS = ("nearest", "stochastic")

MASTER = ".master"
"""After the name of a parameter, the name of its copy in fp32."""

_BITS = Traits(as_stored=True)
_MAPS = (Role.INPUT, Role.FEATURE_MAP, Role.GRADIENT_MAP)
_HALF = (*_MAPS, Role.PARAMETER, Role.PARAMETER_GRADIENT)


@dataclass(frozen=True)
class Mode:
    """A row of the table: the roles in half precision, whether parameters have a master copy in
    fp32 (batch norm then stays in fp32), whether the loss is scaled."""

    half: str
    roles: tuple[Role, ...]
    master: bool = False
    scaling: bool = False


MODES: Mapping[str, Mode] = MappingProxyType(
    {
        "fp16": Mode("fp16", ROLES),
        "bf16": Mode("bf16", ROLES),
        "mixed fp16": Mode("fp16", _HALF, master=True, scaling=True),
        "mixed bf16": Mode("bf16", _HALF, master=True),
    }
)
"""Pure and mixed precision (Micikevicius et al. 2018), by name."""


@technique(
    Order.FORMAT, "precision", "stored in other formats, computed in fp32",
    choice=Argument("mode", tuple(MODES)), exact=False,
)  # fmt: skip
def precision(
    step: Step,
    mode: str | None = None,
    *,
    scaling: bool | None = None,
    rounding: str = "nearest",
    **roles: str | Format,
) -> Step:
    """Return the step stored in other formats and computed in fp32 (F1, A13).

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> mixed = memlab.precision(step, "mixed fp16")
    >>> memlab.plan(mixed).peak(32) / memlab.plan(step).peak(32) < 0.7
    True

    Args:
        step: a step in fp32, before recompute, offload and in place.
        mode: ``"fp16"`` or ``"bf16"`` (everything), or ``"mixed fp16"`` or ``"mixed bf16"``:
            parameters, gradients and maps in half precision, beside a master copy of the
            parameters, the optimizer's state and all of batch norm in fp32.
        scaling: True multiplies the loss by a factor that finds its own size, as mixed fp16 does by
            itself: ``run(..., settings={"loss_scale": 1024})`` sets where it starts. Kept parameter
            gradients are those of the scaled loss.
        rounding: how an update rounds parameters and state: ``"nearest"`` or ``"stochastic"``. An
            inference has no update.
        **roles: the format of a role: ``precision(step, feature_map="fp8_e5m2")``.

    Raises:
        InputError: an unknown mode, role, rounding or format; a step that is not in fp32, that
            has its formats already, recomputes or is in place; scaling of a training step that
            updates nothing; nothing to do.
    """
    _check(step, mode, scaling, rounding, roles)
    chosen = Mode("fp32", ()) if mode is None else one_option("mode", mode, MODES)
    by_role = dict.fromkeys(chosen.roles, FORMATS[chosen.half])
    by_role |= {Role(name): _stored(format) for name, format in roles.items()}
    if chosen.master or scaling or rounding == "stochastic":
        application_order.check_updates(
            step, "fp32 master weights, loss scaling or stochastic rounding"
        )
    scaled = _scaled(step, chosen, scaling)
    kept = (_beside_buffers(step) if chosen.master else _statistics(step)) | _scales(step)
    rewrite = _FormatRewrite(by_role, kept, chosen.master and step.training, scaled)
    live_in = tuple(map(rewrite.tensor, step.live_in))
    drawn = rounding == "stochastic" and step.training
    ops = [rewrite.op(op, drawn) for op in step.ops]
    if scaled:
        ops = _with_scale(ops, rewrite)
    residents = (*rewrite.masters, *(rewrite.scale.values() if scaled else ()))
    return replace(
        step,
        ops=tuple(ops),
        live_in=(*residents, *live_in),
        live_out=(*residents, *map(rewrite.tensor, step.live_out)),
        format=chosen.half,
        notes=(*step.notes, *_notes(chosen, roles, rewrite, drawn)),
    )


def _check(
    step: Step,
    mode: str | None,
    scaling: bool | None,
    rounding: str,
    roles: Mapping[str, object],
) -> None:
    application_order.check(step, "precision")
    if any(is_staged(op) for op in step.ops):
        raise InputError("this step has its formats already; start from one in fp32.")
    if step.format != COMPUTED.name:
        raise InputError(
            f"precision starts from a step in fp32, got {step.format}; leave out its format."
        )
    known("rounding", rounding, ROUNDINGS)
    for name in roles:
        known("role", name, [role.value for role in ROLES])
    if scaling is not None:
        true_or_false("scaling", scaling)
    if mode is None and not roles:
        raise InputError(
            f"precision needs a mode ({', '.join(MODES)}) or a format for a role; "
            "try precision(step, 'mixed fp16')."
        )


def _stored(format: str | Format) -> Format:
    name = format.name if isinstance(format, Format) else format
    return FORMATS[known("format of a role", name, STORED)]


def _scaled(step: Step, mode: Mode, wanted: bool | None) -> bool:
    """Return whether the loss is scaled: as wanted, else as the mode does; never
    in an inference."""
    learns = any(op.slots for op in step.ops)
    if wanted and step.training and not learns:
        raise InputError("scaling needs a training step that updates parameters; leave it out.")
    return learns and (mode.scaling if wanted is None else wanted)


def _beside_buffers(step: Step) -> frozenset[str]:
    """The storages that stay in fp32 in mixed precision: buffers, which move by a small part of
    themselves at a time, and beside them in an operation statistics, parameters and, as an update
    says, their gradients. No maps: what normalises reads and writes these in any format."""
    touched = ([*op.touched()] for op in step.ops)
    beside = (
        group
        for tensor in touched
        if any(t.role is Role.BUFFER for t in tensor)
        for group in tensor
    )
    wide = {tensor.storage.name for tensor in beside if not tensor.size.per_sample}
    slots = ((op, slot) for op in step.ops for slot in op.slots)
    learned = ((op.updates[slot.parameter], op.reads[slot.gradient]) for op, slot in slots)
    return frozenset(wide | {dw.storage.name for w, dw in learned if w.storage.name in wide})


def _statistics(step: Step) -> frozenset[str]:
    """The storages of what a batch norm keeps of the batch. They stay as they were computed: a
    batch norm that runs again reads them, and must give the same."""
    again = ((op, op.again) for op in step.ops if op.again)
    return frozenset(op.writes[name].storage.name for op, how in again for name in how.kept)


def _scales(step: Step) -> frozenset[str]:
    """The storages of the scales of weights in 8 bits, whose range is that of fp32."""
    return frozenset(op.reads[SCALES].storage.name for op in step.ops if SCALES in op.reads)


class _FormatRewrite:
    """Rewrite of the tensors of a step to other formats: one format per storage."""

    def __init__(
        self, by_role: Mapping[Role, Format], kept: frozenset[str], master: bool, scaled: bool
    ) -> None:
        self.by_role, self.kept, self.master, self.scaled = by_role, kept, master, scaled
        self.storages: dict[str, tuple[Storage, Format]] = {}
        self.masters: list[Tensor] = []
        state = Role.OPTIMIZER_STATE
        factor = InitialValue(setting="loss_scale")
        self.scale = {
            SCALE: tensor.new(SCALE, (), COMPUTED, state, start=factor),
            **{name: tensor.new(name, (), FORMATS["int32"], state) for name in (STEPS, TAKEN)},
        }
        self.overflow = tensor.new(OVERFLOW, (), FORMATS["bool"], state)

    def tensor(self, old: Tensor) -> Tensor:
        """Return the same values in the format of their role. The loss is a result, and keeps its
        format."""
        name = old.storage.name
        if old.format is not COMPUTED or name in self.kept or not old.axes:
            return old
        if name not in self.storages:
            format = self.by_role.get(old.role, COMPUTED)
            bits = format.bits
            size = Size(*(n * bits // COMPUTED.bits for n in _sizes(old.storage.size)))
            self.storages[name] = replace(old.storage, size=size), format
        storage, format = self.storages[name]
        pitch = old.pitch if old.pitch is None else old.pitch * format.bits // COMPUTED.bits
        offset = old.offset * format.bits // COMPUTED.bits
        return replace(old, storage=storage, format=format, offset=offset, pitch=pitch)

    def operands(self, old: Operands) -> dict[str, Tensor]:
        """Return all operands in their new formats."""
        return {name: self.tensor(operand) for name, operand in old.items()}

    def op(self, op: Op, drawn: bool) -> Op:
        """Return the operation on the new tensors, with the buffers of its tiles."""
        reads, updates = self.operands(op.reads), self.operands(op.updates)
        attributes, slots = dict(op.attributes), op.slots
        if slots:
            if self.master:
                slots = tuple(self._with_master(slot, updates) for slot in slots)
            if self.scaled:
                reads |= {name: self.scale[name] for name in (SCALE, TAKEN)}
                reads[OVERFLOW] = self.overflow
            if drawn:
                states = (state for slot in slots for state in slot.states)
                attributes["stochastic"] = frozenset((PARAMETER, *states))
        elif self.scaled and _begins(op):
            reads[SCALE] = self.scale[SCALE]
        return with_fp32_tiles(
            op, reads=reads, writes=self.operands(op.writes), updates=updates,
            attributes=attributes, slots=slots,
        )  # fmt: skip

    def _with_master(self, slot: UpdateSlot, updates: dict[str, Tensor]) -> UpdateSlot:
        """Return a slot with a copy in fp32 of the parameter, where that is small now; the copy
        begins as the parameter does."""
        small, name = updates[slot.parameter], slot.parameter + MASTER
        if small.format is COMPUTED:
            return slot
        state, start = Role.OPTIMIZER_STATE, replace(small.start, of=small.name)
        master = tensor.new(small.name + MASTER, small.axes, COMPUTED, state, start=start)
        self.masters.append(master)
        updates[name] = master
        return replace(slot, master=name)


def _begins(op: Op) -> bool:
    """Return whether an operation makes the first gradient: that of a loss, from
    no other gradient."""
    gradients = (Role.GRADIENT_MAP, Role.PARAMETER_GRADIENT)
    reads_one = any(written.role in gradients for written in op.reads.values())
    return op.phase is Phase.BACKWARD and not reads_one


def _sizes(size: Size) -> tuple[int, int]:
    return size.fixed, size.per_sample


def _with_scale(ops: list[Op], rewrite: _FormatRewrite) -> list[Op]:
    """Return the operations with a search for overflow before the updates, and an adjustment of the
    loss scale after them."""
    first = next(index for index, op in enumerate(ops) if op.slots)
    read = [op.reads[slot.gradient] for op in ops[first:] for slot in op.slots]
    gradients = {gradient.name: gradient for gradient in read}
    overflow = {OVERFLOW: rewrite.overflow}
    check = Op("check of the gradients", CHECK, Phase.UPDATE, gradients, overflow, traits=_BITS)
    adjust = Op(
        "update of the loss scale", ADJUST, Phase.UPDATE, overflow, updates=rewrite.scale,
        traits=_BITS,
    )  # fmt: skip
    moved = sum((gradient.size for gradient in gradients.values()), Size())
    return [*ops[:first], replace(check, bytes_moved=moved), *ops[first:], adjust]


def _notes(
    mode: Mode, roles: Mapping[str, str | Format], rewrite: _FormatRewrite, drawn: bool
) -> list[str]:
    """Notes on everything that is unlike a step that has one format."""
    notes = ["fp32 master weights"] if rewrite.masters else []
    notes += ["loss scaling"] if rewrite.scaled else []
    notes += ["stochastic rounding"] if drawn else []
    return notes + [f"{name.replace('_', ' ')} in {format}" for name, format in roles.items()]

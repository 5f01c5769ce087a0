"""The state of an optimizer in 8 bits: every block of values shares one scale in fp32 (F3).

As in 8-bit Adam (Dettmers et al. 2022), with 8-bit floats inside a block instead of its table of
values. Squares span twice the powers of two, so they take the format with more exponent.
"""

from __future__ import annotations

from dataclasses import replace

from memlab.errors import InputError, whole_number
from memlab.formats import FORMATS
from memlab.step import tensor
from memlab.step.fp32_tiles import COMPUTED, MOST, with_fp32_tiles
from memlab.step.op import Op, UpdateSlot
from memlab.step.step import Step
from memlab.step.tensor import Tensor
from memlab.techniques import application_order
from memlab.techniques.registry import Argument, ArgumentKind, Order, technique

BLOCK = 2048
"""Values that share a scale, as in the paper."""

SCALES = ".scales"
"""After the name of a state, the name of the scales of its blocks."""

LEAST = 64
"""The smallest block: its scale is a sixteenth of it."""


@technique(
    Order.STATE, "8-bit states", "the optimizer's state in 8 bits, with a scale for each block",
    more=(Argument("block", ArgumentKind.COUNT, "values that share a scale"),), exact=False,
)  # fmt: skip
def eight_bit_states(step: Step, block: int = BLOCK) -> Step:
    """Return the step with the optimizer's state in 8 bits, and one scale for ``block`` values.

    A state takes 1 + 4 / ``block`` bytes per parameter instead of 4, so those of Adam take 2 + 8 /
    ``block`` instead of 8 (F3). They are widened to fp32 for the update and rounded back
    stochastically, or what moves by less than a rounding step would stand still. Master copies of
    parameters stay as they are, and so does an inference step.

    >>> step = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
    >>> memlab.plan(memlab.eight_bit_states(step)).peak(32) / memlab.plan(step).peak(32) < 0.7
    True

    Args:
        step: a step.
        block: values that share a scale, a power of two from 64 to 16,384.

    Raises:
        InputError: no step, or a training step whose optimizer has no state in fp32; a block that
            is no power of two from 64 to 16,384.
    """
    block = _check(step, block)
    if not step.training:
        return step
    application_order.check_updates(step, "states in 8 bits")
    rewrite = _EightBitRewrite(block)
    ops = [rewrite.op(op) for op in step.ops]
    if not rewrite.small:
        raise InputError(
            f"the optimizer of this step ({step.describe()}) has no state in fp32; call "
            "eight_bit_states once, on a step with Adam in fp32 or in mixed precision."
        )
    return replace(
        step,
        ops=tuple(ops),
        live_in=rewrite.residents(step.live_in),
        live_out=rewrite.residents(step.live_out),
        notes=(*step.notes, f"8-bit states in blocks of {block:,}"),
    )


def _check(step: Step, block: int) -> int:
    application_order.check(step, "eight_bit_states")
    number = whole_number("block", block, LEAST)
    if number > MOST or number & (number - 1):
        raise InputError(
            f"block must be a power of two from {LEAST} to {MOST:,}, got {number:,}; try {BLOCK}."
        )
    return number


class _EightBitRewrite:
    """Rewrite of states in fp32 to codes of 8 bits and scales."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.small: dict[str, tuple[Tensor, Tensor]] = {}

    def op(self, op: Op) -> Op:
        """Return an operation; an update gets its states in 8 bits."""
        updates = dict(op.updates)
        slots = tuple(self._slot(slot, updates) for slot in op.slots)
        drawn = frozenset(state for slot in slots for state in slot.scales)
        if slots == op.slots:
            return op
        stochastic = op.attributes.get("stochastic", frozenset()) | drawn
        attributes = {**op.attributes, "block": self.block, "stochastic": stochastic}
        return with_fp32_tiles(op, updates=updates, attributes=attributes, slots=slots)

    def _slot(self, slot: UpdateSlot, updates: dict[str, Tensor]) -> UpdateSlot:
        """Return an update's slot with codes and scales for each state in fp32."""
        scales = dict(slot.scales)
        for state, name in slot.states.items():
            if updates[name].format is COMPUTED:
                scales[state] = name + SCALES
                updates[name], updates[name + SCALES] = self._state(updates[name])
        return replace(slot, scales=scales)

    def _state(self, old: Tensor) -> tuple[Tensor, Tensor]:
        """Return the codes of a state and their scales."""
        format = FORMATS["fp8_e5m2" if old.start.squares else "fp8_e4m3fn"]
        count = old.size.fixed * 8 // old.format.bits
        blocks = (("blocks", -(-count // self.block)),)
        codes = tensor.new(old.name, old.axes, format, old.role, start=old.start)
        self.small[old.name] = codes, tensor.new(old.name + SCALES, blocks, COMPUTED, old.role)
        return self.small[old.name]

    def residents(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Tensors that stay alive, with the small states in the place of the old ones."""
        resident: list[Tensor] = []
        for tensor_in_fp32 in tensors:
            resident += self.small.get(tensor_in_fp32.name, (tensor_in_fp32,))
        return tuple(resident)

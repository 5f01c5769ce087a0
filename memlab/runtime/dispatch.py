"""Which kernel computes each operation of a step on a device."""

from __future__ import annotations

from memlab import devices
from memlab.devices import DEVICES
from memlab.errors import InputError
from memlab.kernels import registry
from memlab.kernels.registry import Call, Kernel
from memlab.step.op import LOAD, Op, Phase
from memlab.step.staging import COMPUTED, is_staged
from memlab.step.step import Step


def kernels_of(step: Step, device: str = "cpu") -> list[Kernel]:
    """The kernel of every operation.

    Raises:
        InputError: there is none for one of them.
    """
    registry.load(device)
    row = devices.DEVICES[device]
    if not row.staged and any(is_staged(op) or "mask" in op.writes for op in step.ops):
        able = " or ".join(each.name for each in DEVICES.values() if each.staged)
        raise InputError(
            f"a step that is stored in other formats than it is computed in runs on {able}, got "
            f"{device}; plan it instead of running it there."
        )
    layered = [op for op in step.ops if "layer" in op.attributes and op.phase is not Phase.UPDATE]
    by_step = (op for op in layered if op.attributes["layer"].row.by_step)
    of_sequences = any("T" in dict(each.axes) for op in by_step for each in op.touched())
    if of_sequences and not row.sequences:
        able = " or ".join(each.name for each in DEVICES.values() if each.sequences)
        raise InputError(
            f"linear layers and losses on sequences run on {able}, got {device}; plan this step "
            "instead of running it there."
        )
    return [_kernel(op, device) for op in step.ops]


def _none(call: Call) -> None:
    """What moves bytes takes no kernel: the session does it."""


def _kernel(op: Op, device: str) -> Kernel:
    """The kernel of an operation in the format that it computes in."""
    if op.phase is Phase.COPY or op.kind == LOAD:
        return _none
    formats = [each.format.name for each in op.touched() if each.format.kind == "float"]
    any_format = op.traits.as_stored or op.traits.moves
    format = COMPUTED.name if is_staged(op) or any_format or not formats else formats[0]
    kernel = registry.find(op.kind, op.algorithm, device, format)
    if not is_staged(op):
        return kernel
    from memlab.kernels.cpu.small.staged import Staged, StagedUpdate

    return StagedUpdate(kernel, op) if op.slots else Staged(kernel, op)

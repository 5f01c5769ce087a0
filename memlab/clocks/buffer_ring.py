"""The operations of a data path: batches that pass through a ring of buffers, as a step.

A place is used again once it is empty: an operation that fills it waits for the one that empties it
(``Op.after``). Each operation lies in the stream in which it runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from memlab.axes import BATCH
from memlab.clocks.streams import COMPUTE, DISK, IN
from memlab.errors import InputError, known, shorten, whole
from memlab.formats import FORMATS
from memlab.step import tensor
from memlab.step.op import LOAD, Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST, Size
from memlab.step.tensor import Role, Tensor

HOST_SIDE, DEVICE_SIDE = SIDES = ("host", "device")
"""Where images are augmented and become fp32."""
READ, COPY, CONVERT, LINK, TRAIN = PARTS = ("read", "copy", "convert", "link", "compute")
"""What happens to a batch. The loader copies only where it does not convert."""
AUGMENT = "augment"
"""The kind of an operation that converts."""
RAW = FORMATS["uint8"]
MOST = 64
"""The most buffers, and ..."""
LONGEST = 10_000
"""... the most batches of a plan."""


def counted(buffers: int) -> str:
    """``'no buffer'``, ``'1 buffer'``, ``'2 buffers'``."""
    return f"{buffers or 'no'} buffer{'s' * (buffers > 1)}"


def images_of(step: Step) -> Tensor:
    """The input of a step whose samples are images: (B, C, H, W).

    Raises:
        InputError: no step, or one with another input.
    """
    if not isinstance(step, Step):
        raise InputError(
            f"a data path feeds a step, got {shorten(step)}; try "
            "memlab.data_path(memlab.training_step(net), 128, link='12 GB/s')."
        )
    inputs = [t for t in step.live_in if t.role is Role.INPUT]
    if not inputs or len(inputs[0].axes) != 4 or inputs[0].format.kind != "float":
        raise InputError(
            f"a data path is of images (C, H, W), and {step.label or 'this step'} takes none; try "
            "memlab.zoo.googlenet()."
        )
    if any(op.kind == LOAD for op in step.ops):
        raise InputError(
            "a data path feeds a whole batch, and this step takes its batch in parts; try it "
            "before memlab.accumulate."
        )
    return inputs[0]


def operations(
    step: Step, batch: int, buffers: int = 2, augment: str = HOST_SIDE, batches: int = 12
) -> Step:
    """The path as a step, without seconds: the operations of all batches, one batch after the
    other, each in the stream in which it runs. Arguments as in ``data_path``.

    Raises:
        InputError: as ``data_path``.
    """
    x, held = images_of(step), step.held(batch)
    count = whole("buffers", buffers, least=0, most=MOST)
    known("side to augment on", augment, SIDES)
    number = whole("batches", batches, most=LONGEST)
    ring = _Ring(x, count, augment == DEVICE_SIDE, _work(step))
    note = f"fed through {counted(count)}, augmented on the {augment}"
    return Step(
        tuple(op for each in range(number) for op in ring.batch(each)),
        ring.places,
        ring.places,
        network=step.network,
        label=step.label,
        format=step.format,
        training=step.training,
        notes=(note,),
        batches=range(held, held + 1),
    )


def _work(step: Step) -> tuple[Size, Size]:
    """Operations of arithmetic and bytes of a whole step."""
    flops = sum((op.flops for op in step.ops), Size())
    return flops, sum((op.bytes_moved for op in step.ops), Size())


class _Ring:
    """The places of a path, and the operations that fill and empty them in turn."""

    def __init__(self, x: Tensor, buffers: int, late: bool, work: tuple[Size, Size]) -> None:
        self.buffers, self.late, self.work = buffers, late, work
        self.values = x.size
        self.ram = [self._place("RAM 0", x, HOST, raw=True)]
        count = max(buffers, 1)
        self.pinned = [self._place(f"pinned {n}", x, HOST, raw=late) for n in range(count)]
        self.arrived = [self._place("device uint8 0", x, DEVICE, raw=True)] if late else []
        here = 2 if buffers > 1 and not late else 1
        self.device = [self._place(f"device {n}", x, DEVICE, raw=False) for n in range(here)]

    @property
    def places(self) -> tuple[Tensor, ...]:
        """All of them: they are there before the first batch and after the last."""
        return (*self.ram, *self.pinned, *self.arrived, *self.device)

    def batch(self, number: int) -> Iterator[Op]:
        """What happens to a batch, in order."""
        ram, pinned = self.ram[0], self._of(self.pinned, number)
        device = self._of(self.device, number)
        yield self._read(number, ram)
        first = COPY if self.late else CONVERT
        yield self._moved(first, number, ram, pinned, DISK)
        yield self._sent(number, pinned)
        if self.late:
            yield self._moved(CONVERT, number, self.arrived[0], device, COMPUTE)
        flops, moved = self.work
        yield Op(
            f"{TRAIN} {number}", TRAIN, Phase.FORWARD, {"x": device}, flops=flops,
            bytes_moved=moved, stream=COMPUTE, after=(f"{LINK} {number}",),
        )  # fmt: skip

    def _read(self, number: int, ram: Tensor) -> Op:
        """It takes an empty place first: the one that the link emptied, or without buffers the
        only one, once everything is done."""
        after = self._after(LINK, number - self.buffers) if self.buffers else ()
        if not self.buffers:
            after = self._after(TRAIN, number - 1)
        return Op(f"{READ} {number}", READ, Phase.FORWARD, writes={"y": ram},
                  bytes_moved=ram.size, stream=DISK, after=after)  # fmt: skip

    def _moved(self, part: str, number: int, x: Tensor, y: Tensor, stream: str) -> Op:
        """From one place to another in the same memory, as it is or as what the step takes."""
        kind = AUGMENT if part == CONVERT else COPY
        return Op(f"{part} {number}", kind, Phase.FORWARD, {"x": x}, {"y": y},
                  bytes_moved=x.size + y.size, stream=stream)  # fmt: skip

    def _sent(self, number: int, pinned: Tensor) -> Op:
        """The input of a step lives until its end: only then its place is empty. Bytes leave theirs
        as soon as they are converted."""
        there = self.arrived or self.device
        frees = CONVERT if self.late else TRAIN
        return Op(f"{LINK} {number}", "copy in", Phase.COPY, {"x": pinned},
                  {"y": self._of(there, number)}, bytes_moved=2 * pinned.size, stream=IN,
                  after=self._after(frees, number - len(there)))  # fmt: skip

    @staticmethod
    def _after(part: str, number: int) -> tuple[str, ...]:
        return (f"{part} {number}",) if number >= 0 else ()

    @staticmethod
    def _of(places: list[Tensor], number: int) -> Tensor:
        return places[number % len(places)]

    @staticmethod
    def _place(name: str, x: Tensor, memory: str, raw: bool) -> Tensor:
        format = RAW if raw else x.format
        return tensor.new(name, (BATCH, *x.axes[1:]), format, Role.INPUT, memory)

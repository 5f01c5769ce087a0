"""A loss in chunks of tokens: scores, probabilities and their gradient exist for one chunk at a
time.

The last linear layer of a language model writes a score for each token and each word of the
vocabulary. Its forward, the loss and both of their backwards run for some tokens after another; the
gradient of the layer's input is written piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import prod

from memlab.errors import InputError, whole_number
from memlab.step import tensor
from memlab.step.fp32_tiles import rewritten
from memlab.step.op import Op, Operands, Phase
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Tensor
from memlab.techniques import application_order
from memlab.techniques.application_order import CHUNKS
from memlab.techniques.recompute.repeated_operations import names_of
from memlab.techniques.registry import Argument, ArgumentKind, Order, technique

TOKENS = "T"
"""Axis of the tokens."""
KINDS = ("linear", "softmax_cross_entropy", "softmax_cross_entropy.backward", "linear.backward")
"""Kinds of the operations that run for each chunk and follow each other: scores, loss, and backward
of both."""
MOST = 1024
"""Chunks of a loss: each has four operations."""


@technique(
    Order.KEPT, "loss in chunks", "scores of a language model exist for some tokens at a time",
    choice=Argument("parts", ArgumentKind.COUNT),
    shown=application_order.chunks_loss, does="computes its loss in chunks",
    idle="has no loss", exact=False,
)  # fmt: skip
def chunked_loss(step: Step, parts: int = 8) -> Step:
    """Return the step in which the loss is computed for 1/``parts`` of the tokens at a time.

    For each chunk, the last linear layer computes its scores, the loss adds its share to the mean
    over all tokens, and backward of both follows at once. So scores, probabilities and gradient of
    the scores exist for one chunk. The gradient of the layer's weights exists from the first chunk
    on, and the gradient of its input is complete after the last one. Loss and gradients are the
    same up to the rounding of sums that are added in another order. The weights are read once for
    each chunk.

    It comes after formats, and before recompute, offload and accumulation.

    >>> step = memlab.training_step(memlab.zoo.gpt_small(), "adam")
    >>> memlab.plan(memlab.chunked_loss(step, 8)).peak(8) < memlab.plan(step).peak(8)
    True

    Source: Hsu et al. 2024, "Liger Kernel" (arXiv 2410.10989): its fused linear cross-entropy.

    Args:
        step: a training step of a network that ends in a linear layer on tokens and a cross-entropy
            loss; an inference stays as it is.
        parts: number of chunks, 1 to 1,024, whose lengths differ by at most 1 token; a text of
            fewer tokens has a chunk for each. 1 leaves the step as it is.

    Raises:
        InputError: no step, one that computes its loss in chunks already, or one without such an
            end; no whole number of parts.
    """
    application_order.check(step, "chunked_loss")
    count = whole_number("parts", parts, most=MOST)
    if application_order.chunks_loss(step):
        raise InputError(
            "this step computes its loss in chunks already; start from the step before that, and "
            "ask for more parts."
        )
    if count == 1 or not step.training:
        return step
    writer = _ChunkWriter(step, count)
    chunks = tuple(writer.all())
    step.check_new(t for op in chunks for t in op.writes.values() if t.storage.name in writer.cut)
    ops = (*step.ops[: writer.place], *chunks, *step.ops[writer.place + len(KINDS) :])
    return replace(step, ops=ops, notes=(*step.notes, f"loss in {writer.count} chunks"))


def _place_of_scores(step: Step) -> int:
    """Return the number of the first of the four operations that run for each chunk.

    Raises:
        InputError: the step has no such operations.
    """
    kinds = [op.kind for op in step.ops]
    for place, op in enumerate(step.ops):
        follow = tuple(kinds[place : place + len(KINDS)]) == KINDS
        if follow and TOKENS in dict(op.writes["y"].axes):
            return place
    raise InputError(
        "chunked_loss needs a network that ends in a linear layer on tokens and a cross-entropy "
        "loss; try memlab.training_step(memlab.zoo.gpt_small())."
    )


class _ChunkWriter:
    """Writer of the four operations of one chunk after the other."""

    def __init__(self, step: Step, count: int) -> None:
        self.place = _place_of_scores(step)
        self.ops = scores, loss, of_loss, _ = step.ops[self.place : self.place + len(KINDS)]
        self.tokens = dict(scores.writes["y"].axes)[TOKENS]
        self.count = min(count, self.tokens)
        self.starts = [number * self.tokens // self.count for number in range(self.count + 1)]
        cut = (scores.writes["y"], loss.writes["probabilities"], of_loss.writes["dx"])
        self.cut = set(names_of(cut))
        """Names of the storages of which one chunk exists at a time."""
        self.check(step)

    def check(self, step: Step) -> None:
        """Refuse a step that keeps the scores of all tokens.

        Raises:
            InputError: one of the blocks that are cut stays.
        """
        kept = [t.name for t in step.live_out if t.storage.name in self.cut]
        if kept:
            raise InputError(
                f"{kept[0]} outlives this step, and of chunks only one exists at a time; try "
                "memlab.no_reuse(memlab.chunked_loss(step, ...))."
            )

    def all(self) -> Iterator[Op]:
        """Yield the operations of all chunks."""
        for number in range(self.count):
            for op in self.ops:
                yield self.of_chunk(op, number)

    def of_chunk(self, op: Op, number: int) -> Op:
        """Return an operation on the tokens of a chunk, counted from 0; from the second chunk on
        it adds to what is a sum over all tokens."""
        writes = self.pieces(op.writes, number)
        sums = {slot: t for slot, t in writes.items() if TOKENS not in dict(t.axes)}
        if number == 0:
            sums = {}
        share = Fraction(self.length(number), self.tokens)
        added = sum((Size(prod(extent for _, extent in t.axes)) for t in sums.values()), Size())
        return rewritten(
            op,
            name=op.name + ending(number),
            phase=Phase.LOSS if op.phase is Phase.FORWARD else op.phase,
            reads=self.pieces(op.reads, number),
            writes={slot: t for slot, t in writes.items() if slot not in sums},
            updates={**self.pieces(op.updates, number), **sums},
            workspace={
                slot: replace(t, name=t.name + ending(number)) for slot, t in op.workspace.items()
            },
            attributes={**op.attributes, CHUNKS: 1 / share},
            flops=Size(op.flops.fixed, int(op.flops.per_sample * share)) + added,
        )

    def length(self, number: int) -> int:
        """Return the number of tokens of a chunk."""
        return self.starts[number + 1] - self.starts[number]

    def pieces(self, operands: Operands, number: int) -> Mapping[str, Tensor]:
        """Return operands of a chunk: its tokens, or the whole of what has no tokens."""
        return {slot: self.piece(operand, number) for slot, operand in operands.items()}

    def piece(self, whole: Tensor, number: int) -> Tensor:
        """Return the tokens of a chunk: a block of their own where only one chunk exists, or their
        place in the block of all tokens."""
        if TOKENS not in dict(whole.axes):
            return whole
        axes = tuple(
            (name, self.length(number) if name == TOKENS else extent) for name, extent in whole.axes
        )
        name = whole.name + ending(number)
        if whole.storage.name in self.cut:
            return tensor.new(name, axes, whole.format, whole.role, whole.storage.memory)
        of_a_token = prod(extent for axis, extent in axes if axis not in ("B", TOKENS))
        return whole.slice(name, axes, whole.format.nbytes(self.starts[number] * of_a_token))


def ending(number: int) -> str:
    """End of the names of operations and blocks of a chunk, counted from 0."""
    return f" in chunk {number + 1}"

"""A loss in chunks of tokens: scores, probabilities and their gradient exist for one chunk at a
time.

The last linear layer of a language model writes a score for each token and each word of the
vocabulary. Its forward, the loss and both of their backwards run for some tokens after another; the
gradient of the layer's input is written piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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
from memlab.techniques.registry import Argument, ArgumentKind, Order, technique

TOKENS = "T"
"""Axis of the tokens."""
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

    Source: Hsu et al. 2024, "Liger Kernel" (arXiv 2410.10989), section on the fused linear
    cross-entropy; its chunks are rows of the batch as well.

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
    end = _end_of(step)
    count = min(count, end.tokens)
    chunks = tuple(_ChunkWriter(end, count).all())
    step.check_new(t for op in chunks for t in op.writes.values() if t.storage.name in end.cut)
    first, *others = end.places
    ops = [op for place, op in enumerate(step.ops) if place not in others]
    ops[first : first + 1] = chunks
    return replace(step, ops=tuple(ops), notes=(*step.notes, f"loss in {count} chunks"))


@dataclass(frozen=True)
class _End:
    """End of forward and beginning of backward of a step: scores, loss and both of their
    backwards, by their places in the step; with the blocks that exist for a chunk alone."""

    ops: tuple[Op, Op, Op, Op]
    places: tuple[int, int, int, int]

    @property
    def tokens(self) -> int:
        return dict(self.ops[0].writes["y"].axes)[TOKENS]

    @property
    def cut(self) -> set[str]:
        """Names of the storages of which one chunk exists at a time."""
        scores, loss, of_loss, _ = self.ops
        made = (scores.writes["y"], loss.writes["probabilities"], of_loss.writes["dx"])
        return {each.storage.name for each in made}


def _end_of(step: Step) -> _End:
    """Return the four operations of a step that run for each chunk.

    Raises:
        InputError: the step ends in something else.
    """
    by_output = {t.storage.name: op for op in step.ops for t in op.writes.values()}
    losses = [op for op in step.ops if op.kind == "softmax_cross_entropy"]
    if len(losses) == 1 and TOKENS in dict(losses[0].reads["x"].axes):
        (loss,) = losses
        scores = by_output.get(loss.reads["x"].storage.name)
        backward = [op for op in step.ops if op.kind == "softmax_cross_entropy.backward"]
        if scores is not None and scores.kind == "linear" and len(backward) == 1:
            gradient = backward[0].writes["dx"].storage.name
            readers = [op for op in step.ops if gradient in _names(op.reads)]
            if len(readers) == 1 and readers[0].kind == "linear.backward":
                ops = (scores, loss, backward[0], readers[0])
                end = _End(ops, tuple(map(step.ops.index, ops)))  # type: ignore[arg-type]
                _check_alone(step, end)
                return end
    raise InputError(
        "chunked_loss needs a network that ends in a linear layer on tokens and a cross-entropy "
        "loss; try memlab.training_step(memlab.zoo.gpt_small())."
    )


def _check_alone(step: Step, end: _End) -> None:
    """Refuse a step in which something else needs all scores, or runs between loss and backward.

    Raises:
        InputError: there is such an operation.
    """
    first, last = min(end.places), max(end.places)
    strangers = [op for op in step.ops[first : last + 1] if op not in end.ops]
    strangers += [op for op in step.ops if op not in end.ops and end.cut & _names(op.reads)]
    if strangers:
        raise InputError(
            f"{strangers[0].name} stands between the loss and its backward, so the loss cannot be "
            "computed in chunks; try chunked_loss before other techniques."
        )
    kept = [t.name for t in step.live_out if t.storage.name in end.cut]
    if kept:
        raise InputError(
            f"{kept[0]} outlives this step, and of chunks only the last would be left; "
            "try memlab.no_reuse(memlab.chunked_loss(step, ...))."
        )


def _names(operands: Operands) -> set[str]:
    return {operand.storage.name for operand in operands.values()}


class _ChunkWriter:
    """Writer of the four operations of one chunk after the other."""

    def __init__(self, end: _End, count: int) -> None:
        self.end = end
        self.starts = [number * end.tokens // count for number in range(count + 1)]

    def all(self) -> Iterator[Op]:
        """Yield the operations of all chunks."""
        for number in range(len(self.starts) - 1):
            for op in self.end.ops:
                yield self.of_chunk(op, number)

    def of_chunk(self, op: Op, number: int) -> Op:
        """Return an operation on the tokens of a chunk, counted from 0; from the second chunk on
        it adds to what is a sum over all tokens."""
        writes = self.pieces(op.writes, number)
        sums = {slot: t for slot, t in writes.items() if TOKENS not in dict(t.axes)}
        if number == 0:
            sums = {}
        share = Fraction(self.length(number), self.end.tokens)
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
        if whole.storage.name in self.end.cut:
            return tensor.new(name, axes, whole.format, whole.role, whole.storage.memory)
        of_a_token = prod(extent for axis, extent in axes if axis not in ("B", TOKENS))
        return whole.slice(name, axes, whole.format.nbytes(self.starts[number] * of_a_token))


def ending(number: int) -> str:
    """End of the names of operations and blocks of a chunk, counted from 0."""
    return f" in chunk {number + 1}"

"""Two parts of a language model's step, operation by operation, as PyTorch runs them.

They keep other tensors than memlab's own layers: an eager cross-entropy, and a block of a
Llama-like model. Both can be planned, not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memlab.axes import BATCH, Dims
from memlab.formats import FORMATS
from memlab.step import tensor
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor

GATED = 4
"""Width of the gated part of a block, in widths of its input."""


def eager_cross_entropy(steps: int, vocabulary: int, again: bool = True) -> Step:
    """Return a step that computes a cross-entropy and its gradient by PyTorch's four operators
    (F7).

    ``log_softmax`` and ``nll_loss`` each have a backward, and every one of them writes an array of
    its own. What is measured is called again without setting the gradient to zero: the gradient of
    the call before is there, and the new one is added to it. ``backward()`` holds the gradient of
    the loss, a 1, to its end.

    Args:
        steps: tokens of a text; the batch is that of texts.
        vocabulary: scores of a token.
        again: whether the gradient of a call before is there.
    """
    axes: Dims = (BATCH, ("T", steps), ("V", vocabulary))
    scores = _map("scores", axes, Role.INPUT)
    targets = tensor.new("targets", axes[:2], FORMATS["int64"], Role.INPUT)
    logs, of_logs = _map("log_softmax", axes), _gradient("log_softmax", axes)
    loss, weight, one = _map("loss", ()), _map("total weight", ()), _gradient("loss", ())
    new, total = _gradient("scores", axes), _gradient("scores, of all calls", axes)
    ops = [
        _op("log_softmax", Phase.LOSS, [scores], [logs]),
        _op("nll_loss", Phase.LOSS, [logs, targets], [loss, weight]),
        _op("ones_like", Phase.BACKWARD, [], [one]),
        _op("nll_loss.backward", Phase.BACKWARD, [one, targets, weight], [of_logs]),
        _op("log_softmax.backward", Phase.BACKWARD, [logs, of_logs], [new]),
    ]
    added = Op("add", "add", Phase.BACKWARD, reads={"x": new}, updates={"y": total})
    ops += [added] if again else []
    ops[-1] = replace(ops[-1], holds={"one": one})
    there = (scores, targets, total) if again else (scores, targets)
    return Step(tuple(ops), there, (*there, loss) if again else (*there, loss, new), "eager_loss")


def gated_block(steps: int, features: int, heads: int, blocks: int = 1) -> Step:
    """Return forward and backward of blocks with rotary positions and a gated part, as compiled
    PyTorch keeps their feature maps (F8).

    A block keeps its input, the outputs of both norms, queries, keys and values, the result of
    attention and of the first sum; the scores of attention with the largest one and the sum of
    each row, from which backward computes the probabilities again; gate, factor and product. There
    are also the roots of the norms, and sines and cosines for queries and for keys. Parameters and
    gradients are left out: the text counts what is kept for backward.

    Args:
        steps: tokens of a text.
        features: width of the model; ``heads`` divides it.
        heads: heads of attention.
        blocks: blocks, one after the other.
    """
    ops: list[Op] = []
    x = start = _map("x", (BATCH, ("T", steps), ("F", features)))
    kept: list[tuple[str, tuple[Tensor, ...]]] = []
    for number in range(1, blocks + 1):
        block = _Block(f"{number}.", steps, features, heads)
        x = block.forward(x)
        ops += block.ops
        kept += block.kept
    for name, tensors in reversed(kept):
        ops.append(_op(f"backward of {name}", Phase.BACKWARD, tensors, []))
    return Step(tuple(ops), (start,), (), "gated_block")


class _Block:
    """Operations of one block, and what the backward of each reads."""

    def __init__(self, prefix: str, steps: int, features: int, heads: int) -> None:
        self.prefix = prefix
        self.token: Dims = (BATCH, ("T", steps))
        self.width: Dims = (*self.token, ("F", features))
        self.wide: Dims = (*self.token, ("F", GATED * features))
        self.rows: Dims = (BATCH, ("h", heads), ("T", steps))
        self.angles: Dims = (("T", steps), ("F", features // heads // 2))
        self.ops: list[Op] = []
        self.kept: list[tuple[str, tuple[Tensor, ...]]] = []

    def forward(self, x: Tensor) -> Tensor:
        """Append the operations of a block, and return its output."""
        attended = self.attention(self.norm("norm1", x))
        added = self.op("add1", [x, self.linear("project", attended)])
        normed = self.norm("norm2", added)
        gate, up = self.linear("gate", normed, self.wide), self.linear("up", normed, self.wide)
        product = self.op("product", [gate, up], self.wide, keeps=(gate, up))
        return self.op("add2", [added, self.linear("down", product)])

    def attention(self, x: Tensor) -> Tensor:
        """Append attention with rotary positions, and return its result."""
        query, key = (self.rotated(name, self.linear(f"{name} before", x)) for name in ("q", "k"))
        value = self.linear("v", x)
        scores = self.op("scores", [query, key], (*self.rows, ("T", self.token[1][1])),
                         keeps=(query, key))  # fmt: skip
        largest = self.op("largest", [scores], self.rows)
        total = self.op("sum", [scores, largest], self.rows)
        every = [scores, largest, total, value]
        return self.op("attended", every, keeps=tuple(every))

    def rotated(self, name: str, x: Tensor) -> Tensor:
        """Append the rotation of queries or keys by their positions."""
        angles = [self.op(f"{part} of {name}", [], self.angles) for part in ("cosine", "sine")]
        return self.op(name, [x, *angles], keeps=tuple(angles))

    def norm(self, name: str, x: Tensor) -> Tensor:
        """Append a norm that divides by the root of the mean square of a token."""
        root = self.op(f"{name} root", [x], self.token)
        return self.op(name, [x, root], keeps=(x, root))

    def linear(self, name: str, x: Tensor, axes: Dims = ()) -> Tensor:
        """Append a linear layer, whose backward reads its input."""
        return self.op(name, [x], axes, keeps=(x,))

    def op(
        self, name: str, reads: Sequence[Tensor], axes: Dims = (), keeps: tuple[Tensor, ...] = ()
    ) -> Tensor:
        """Append an operation, and return the map that it writes."""
        y = _map(self.prefix + name, axes or self.width)
        self.ops.append(_op(self.prefix + name, Phase.FORWARD, reads, [y]))
        self.kept.append((self.prefix + name, keeps))
        return y


def _map(name: str, axes: Dims, role: Role = Role.FEATURE_MAP) -> Tensor:
    return tensor.new(name, axes, FORMATS["fp32"], role)


def _gradient(name: str, axes: Dims) -> Tensor:
    return _map(f"gradient of {name}", axes, Role.GRADIENT_MAP)


def _op(name: str, phase: Phase, reads: Iterable[Tensor], writes: Iterable[Tensor]) -> Op:
    kind = name.rpartition(".")[2] if name[0].isdigit() else name
    return Op(name, kind, phase, {t.name: t for t in reads}, {t.name: t for t in writes})

"""The output of a layer while a network is being written, and the network that leads to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Self

from memlab.axes import Shape
from memlab.errors import InputError, named, shorten
from memlab.layers.layer import Layer, Node, countable, text
from memlab.networks.graph import INPUT, Network

_born = count()


@dataclass(eq=False)
class Start:
    """What all outputs of one network share: its names, and the stage being written."""

    name: str
    title: str
    variant: str
    input_shape: Shape
    stage: str = ""
    vocabulary: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Output:
    """The output of one layer, from which the next is written. ``shape`` is per sample."""

    start: Start
    shape: Shape
    layer: Layer | None = None
    inputs: tuple[Output, ...] = ()
    name: str | None = None
    in_stage: str = ""
    owner: Output | None = None
    """Whose parameters it uses, where they are not its own."""
    born: int = field(default_factory=_born.__next__)

    @property
    def kind(self) -> str:
        """The kind of its layer."""
        return self.layer.kind if self.layer else INPUT

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.start.name!r}: {text(self.shape)}>"

    def then(
        self,
        layer: Layer,
        *others: Output,
        name: str | None = None,
        share: Output | None = None,
    ) -> Self:
        """This output, and others, through any layer; ``share`` is an output of the layer whose
        parameters it uses instead of its own.

        Raises:
            InputError: too few or too many inputs, from two networks, or of shapes that do not fit;
                or parameters that cannot be shared.
        """
        if not isinstance(layer, Layer):
            raise InputError(f"a layer is needed, got {shorten(layer)}; try relu() or conv(16, 3).")
        if not hasattr(layer, "row"):
            raise InputError(
                f"{type(layer).__name__} does not say what a step does with it; give its class "
                "a kind and a row, as memlab.layers.pointwise.ReLU has."
            )
        if name is not None:
            named("a layer", name, "conv1")
        for other in others:
            if not isinstance(other, Output):
                raise InputError(
                    f"{layer.kind} joins outputs of one network, got {shorten(other)}; "
                    "try y.add(x)."
                )
        if any(other.start is not self.start for other in others):
            raise InputError("both inputs must come from one network(...); start from one.")
        if layer.arity is None and not others:
            raise InputError(f"{layer.kind} needs at least two inputs; give it another one.")
        if layer.arity is not None and layer.arity < 1 + len(others):
            most = "one input" if layer.arity == 1 else f"{layer.arity} inputs"
            raise InputError(f"{layer.kind} takes {most}, got {1 + len(others)}; try add() first.")
        inputs: tuple[Output, ...] = (self, *others)
        _check_tokens(layer, inputs)
        try:
            shape = layer.output(*(output.shape for output in inputs))
            arrays = layer.parameters(*(output.shape for output in inputs))
            countable(layer.kind, prod(shape), *(array.count for array in arrays))
        except InputError as error:
            raise InputError(f"{name}: {error}" if name else str(error)) from None
        owner = None if share is None else _owner(share, layer, inputs)
        return type(self)(self.start, shape, layer, inputs, name, self.start.stage, owner)

    def close(self) -> Network:
        """The network that leads to this output.

        Raises:
            InputError: two layers have one name, or the last is no loss.
        """
        outputs = _ancestors(self)
        names = _names(outputs, self.start.name)
        nodes = tuple(_node(output, names) for output in outputs)
        start = self.start
        return Network(
            start.name, start.title, start.input_shape, nodes, start.variant, start.vocabulary
        )

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Layers written inside belong to this stage: one row of the memory view."""
        before, self.start.stage = self.start.stage, named("a stage", name, "stage 1")
        try:
            yield
        finally:
            self.start.stage = before


def _check_tokens(layer: Layer, inputs: tuple[Output, ...]) -> None:
    """Tokens are looked up before anything else is done with them, and nothing else is."""
    for output in inputs:
        are_tokens = output.layer is None and output.start.vocabulary > 0
        if are_tokens and not layer.of_tokens:
            raise InputError(
                f"{layer.kind} cannot read tokens, which are whole numbers; "
                "try embedding(768) before it."
            )
        if layer.of_tokens and not are_tokens:
            raise InputError(
                f"{layer.kind} reads tokens, got {text(output.shape)} values; "
                "try network('name', tokens=1024, vocabulary=50257)."
            )


def _owner(share: Output, layer: Layer, inputs: tuple[Output, ...]) -> Output:
    """The layer whose parameters another one uses."""
    given: object = share
    if not isinstance(given, Output) or given.start is not inputs[0].start:
        raise InputError(
            f"share takes an output of the same network, got {shorten(share)}; "
            "try h = x.linear(4), then y.linear(4, share=h)."
        )
    owner = share.owner or share
    if not layer.can_share:
        raise InputError(f"{layer.kind} cannot share parameters; try linear.")
    if owner.layer is None or not owner.layer.can_share:
        raise InputError(
            f"share takes the output of the linear layer itself, got that of {share.kind}; "
            "try h = x.linear(4), then y.linear(4, share=h)."
        )
    wanted, there = _sizes(layer, inputs), _sizes(owner.layer, owner.inputs)
    if wanted != there:
        raise InputError(
            f"{layer.kind} needs {wanted}, got {there} to share; give both layers the same sizes."
        )
    return owner


def _sizes(layer: Layer, inputs: tuple[Output, ...]) -> str:
    """The parameters of a layer in words: ``weight 4x3, bias 4``."""
    arrays = layer.parameters(*(output.shape for output in inputs))
    return ", ".join(f"{a.name} {text(tuple(n for _, n in a.dims))}" for a in arrays)


def _ancestors(last: Output) -> list[Output]:
    """Every layer that leads to ``last``, in the order in which they were written."""
    found = {last} if last.layer is not None else set()
    waiting = [last]
    while waiting:
        for source in waiting.pop().inputs:
            if source.layer is not None and source not in found:
                found.add(source)
                waiting.append(source)
    return sorted(found, key=lambda output: output.born)


def _names(outputs: Sequence[Output], network: str) -> dict[Output, str]:
    """Names by output; those without one are numbered by kind: conv1, conv2, relu1."""
    taken = {INPUT}
    for output in outputs:
        if output.name in taken:
            raise InputError(
                f"{output.name!r} is taken in {network!r}; give each layer its own name."
            )
        taken |= {output.name} if output.name else set()
    numbers: Counter[str] = Counter()
    names = dict[Output, str]()
    for output in outputs:
        name = output.name
        while name is None:
            assert output.layer is not None
            stem = output.layer.row.stem or output.layer.kind
            numbers[stem] += 1
            free = f"{stem}{numbers[stem]}"
            name = free if free not in taken else None
        names[output] = name
    return names


def _node(output: Output, names: dict[Output, str]) -> Node:
    layer, shapes = output.layer, tuple(source.shape for source in output.inputs)
    assert layer is not None
    owner = output.owner
    return Node(
        names[output],
        layer,
        tuple(names.get(source, INPUT) for source in output.inputs),
        shapes,
        output.shape,
        output.in_stage,
        () if owner else layer.parameters(*shapes),
        layer.buffers(*shapes),
        names.get(owner, owner.name or owner.kind) if owner else "",
    )

"""Write a network in a few lines; every call gives a handle that the next starts from::

    x = memlab.network("tiny", image=(3, 32, 32))
    x = x.conv(16, 3, pad="same").relu()
    y = x.conv(16, 3, pad="same").add(x).relu()
    tiny = y.flatten().linear(10).cross_entropy()

Handles never change, so a notebook cell may run again. Only what leads to the loss is in the
network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Literal

from memlab import layers as L  # noqa: N812 - one letter for the layers' namespace
from memlab.axes import Shape
from memlab.errors import InputError, named, shorten, whole_number
from memlab.layers.layer import Layer, Node, countable, text
from memlab.networks.graph import INPUT, Network

_born = count()


@dataclass(eq=False)
class NetworkDraft:
    """State that all outputs of one network share: its names, and the current stage."""

    name: str
    title: str
    variant: str
    input_shape: Shape
    stage: str = ""
    vocabulary: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Handle:
    """Output of one layer, to which the next layer is added. ``shape`` is per sample."""

    start: NetworkDraft
    shape: Shape
    layer: Layer | None = None
    inputs: tuple[Handle, ...] = ()
    name: str | None = None
    in_stage: str = ""
    owner: Handle | None = None
    """Whose parameters it uses, where they are not its own."""
    born: int = field(default_factory=_born.__next__)

    @property
    def kind(self) -> str:
        """Name of the kind of its layer."""
        return self.layer.kind if self.layer else INPUT

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.start.name!r}: {text(self.shape)}>"

    def then(
        self,
        layer: Layer,
        *others: Handle,
        name: str | None = None,
        share: Handle | None = None,
    ) -> Handle:
        """Return the output of any layer applied to this output, and to others. ``share`` is an
        output whose layer lends its parameters.

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
            if not isinstance(other, Handle):
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
        inputs: tuple[Handle, ...] = (self, *others)
        _check_tokens(layer, inputs)
        try:
            shape = layer.output(*(output.shape for output in inputs))
            arrays = layer.parameters(*(output.shape for output in inputs))
            countable(layer.kind, prod(shape), *(array.count for array in arrays))
        except InputError as error:
            raise InputError(f"{name}: {error}" if name else str(error)) from None
        owner = None if share is None else _owner(share, layer, inputs)
        return Handle(self.start, shape, layer, inputs, name, self.start.stage, owner)

    def close(self) -> Network:
        """Return the network that leads to this output.

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
        """Put the layers that are added inside the ``with`` block into one stage, which is one row
        of the memory view."""
        before, self.start.stage = self.start.stage, named("a stage", name, "stage 1")
        try:
            yield
        finally:
            self.start.stage = before

    def conv(
        self,
        channels: int,
        kernel: int,
        stride: int = 1,
        pad: int | Literal["same"] = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        name: str | None = None,
    ) -> Handle:
        """Return the output of a convolution. ``pad='same'`` keeps height and width at stride 1."""
        layer = L.Conv2d(channels, kernel, stride, pad, dilation, groups, bias)
        return self.then(layer, name=name)

    def linear(
        self,
        features: int,
        bias: bool = True,
        name: str | None = None,
        share: Handle | None = None,
    ) -> Handle:
        """Return the output of a fully connected layer. ``share=h`` uses the parameters of the
        layer that made ``h``."""
        return self.then(L.Linear(features, bias), name=name, share=share)

    def max_pool(
        self,
        kernel: int | Literal["all"],
        stride: int | None = None,
        pad: int = 0,
        ceil: bool = False,
        name: str | None = None,
    ) -> Handle:
        """Return the maximum of each window. The stride defaults to the kernel size."""
        return self.then(L.MaxPool2d(kernel, stride, pad, ceil), name=name)

    def avg_pool(
        self,
        kernel: int | Literal["all"],
        stride: int | None = None,
        pad: int = 0,
        ceil: bool = False,
        name: str | None = None,
    ) -> Handle:
        """Return the mean of each window. ``'all'`` covers the whole map."""
        return self.then(L.AvgPool2d(kernel, stride, pad, ceil), name=name)

    def batch_norm(self, name: str | None = None) -> Handle:
        """Return the output of batch normalization."""
        return self.then(L.BatchNorm(), name=name)

    def local_response_norm(
        self,
        size: int = 5,
        alpha: float = 1e-4,
        beta: float = 0.75,
        k: float = 1.0,
        name: str | None = None,
    ) -> Handle:
        """Return the output of local response normalization across channels."""
        return self.then(L.LocalResponseNorm(size, alpha, beta, k), name=name)

    def relu(self, name: str | None = None) -> Handle:
        """Return the rectified linear unit ``max(x, 0)`` of this output."""
        return self.then(L.ReLU(), name=name)

    def tanh(self, name: str | None = None) -> Handle:
        """Return the hyperbolic tangent of this output."""
        return self.then(L.Tanh(), name=name)

    def dropout(self, p: float = 0.5, name: str | None = None) -> Handle:
        """Return the output of dropout. Backward draws the same random mask again, so nothing is
        kept."""
        return self.then(L.Dropout(p), name=name)

    def add(self, *others: Handle, name: str | None = None) -> Handle:
        """Return the sum of this output and others of the same shape."""
        return self.then(L.Add(), *others, name=name)

    def concat(self, *others: Handle, name: str | None = None) -> Handle:
        """Return the concatenation of this output and others along the channels."""
        return self.then(L.Concat(), *others, name=name)

    def at(self, t: int, name: str | None = None) -> Handle:
        """Return the vector at step ``t`` of an input sequence, counted from 0, without a copy."""
        return self.then(L.At(t), name=name)

    def lstm_state(self, before: Handle | None = None, name: str | None = None) -> Handle:
        """Return the state of an LSTM cell from these gates and the previous state, which is 0 if
        not given."""
        others = () if before is None else (before,)
        return self.then(L.LstmState(), *others, name=name)

    def lstm_output(self, state: Handle, name: str | None = None) -> Handle:
        """Return the output of an LSTM cell from these gates and its state."""
        return self.then(L.LstmOutput(), state, name=name)

    def embedding(self, features: int, name: str | None = None) -> Handle:
        """Return a learned vector for each token of the input."""
        return self.then(L.Embedding(max(1, self.start.vocabulary), features), name=name)

    def positions(self, name: str | None = None) -> Handle:
        """Return the sequence with a learned vector added to each place."""
        return self.then(L.Positions(), name=name)

    def layer_norm(self, epsilon: float = 1e-5, name: str | None = None) -> Handle:
        """Return the layer normalization of each token."""
        return self.then(L.LayerNorm(epsilon), name=name)

    def gelu(self, form: Literal["exact", "tanh"] = "exact", name: str | None = None) -> Handle:
        """Return the Gaussian error linear unit ``x Phi(x)``, or GPT-2's approximation of it with a
        tanh."""
        return self.then(L.GELU(form), name=name)

    def patches(self, name: str | None = None) -> Handle:
        """Return a map as a sequence, with one token for each place."""
        return self.then(L.Patches(), name=name)

    def class_token(self, name: str | None = None) -> Handle:
        """Return the sequence with one learned token before all others."""
        return self.then(L.ClassToken(), name=name)

    def first_token(self, name: str | None = None) -> Handle:
        """Return the first token of a sequence, as a vector."""
        return self.then(L.FirstToken(), name=name)

    def flatten(self, name: str | None = None) -> Handle:
        """Return the map as a vector."""
        return self.then(L.Flatten(), name=name)

    def cross_entropy(self, name: str = "loss") -> Network:
        """Return the network, closed with softmax and cross entropy."""
        return self.then(L.SoftmaxCrossEntropy(), name=name).close()

    def squared_error(self, name: str = "loss") -> Network:
        """Return the network, closed with the squared error."""
        return self.then(L.SquaredError(), name=name).close()


def _check_tokens(layer: Layer, inputs: tuple[Handle, ...]) -> None:
    """Raise an error unless tokens are looked up by an embedding, and only tokens are."""
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


def _owner(share: Handle, layer: Layer, inputs: tuple[Handle, ...]) -> Handle:
    """Return the output of the layer whose parameters another layer uses."""
    given: object = share
    if not isinstance(given, Handle) or given.start is not inputs[0].start:
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


def _sizes(layer: Layer, inputs: tuple[Handle, ...]) -> str:
    """Return the parameters of a layer in words: ``weight 4x3, bias 4``."""
    arrays = layer.parameters(*(output.shape for output in inputs))
    return ", ".join(f"{a.name} {text(tuple(n for _, n in a.dims))}" for a in arrays)


def _ancestors(last: Handle) -> list[Handle]:
    """Return every layer that leads to ``last``, in the order in which they were added."""
    ancestors = {last} if last.layer is not None else set()
    waiting = [last]
    while waiting:
        for source in waiting.pop().inputs:
            if source.layer is not None and source not in ancestors:
                ancestors.add(source)
                waiting.append(source)
    return sorted(ancestors, key=lambda output: output.born)


def _names(outputs: Sequence[Handle], network: str) -> dict[Handle, str]:
    """Return the names of all outputs. Those without a name are numbered by kind: conv1, conv2,
    relu1."""
    taken = {INPUT}
    for output in outputs:
        if output.name in taken:
            raise InputError(
                f"{output.name!r} is taken in {network!r}; give each layer its own name."
            )
        taken |= {output.name} if output.name else set()
    numbers: Counter[str] = Counter()
    names = dict[Handle, str]()
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


def _node(output: Handle, names: dict[Handle, str]) -> Node:
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


def network(
    name: str,
    image: Sequence[int] | None = None,
    features: int | None = None,
    title: str = "",
    variant: str = "",
    sequence: Sequence[int] | None = None,
    tokens: int | None = None,
    vocabulary: int | None = None,
) -> Handle:
    """Begin a network: return the handle of its input, whose methods add layers.

    >>> memlab.network("two layers", features=784).linear(100).relu().linear(10).cross_entropy()
    <two layers: 4 layers, 79,510 parameters, input 784>

    Args:
        name: its name, by which plans call it.
        image: the shape (C, H, W) of an image.
        features: the number F of values of a vector.
        title: its name in pictures; the name where it is empty.
        variant: the form of a network that has several.
        sequence: the shape (T, F) of a sequence.
        tokens: the number T of tokens, whole numbers below ``vocabulary``.
        vocabulary: the number of words, with ``tokens``.

    Raises:
        InputError: no input shape, several, or an extent below 1.
    """
    named("a network", name, "mine")
    named("a network", title, "mine", empty=True)
    named("a variant", variant, "v1", empty=True)
    given = [shape for shape in (image, features, sequence, tokens) if shape is not None]
    if len(given) != 1:
        raise InputError(
            "give image=(channels, height, width), features=count, sequence=(steps, features) or "
            "tokens=count, one of the four."
        )
    if (tokens is None) != (vocabulary is None):
        raise InputError("tokens and vocabulary belong together; try tokens=8, vocabulary=100.")
    if image is not None and (not isinstance(image, tuple | list) or len(image) != 3):
        raise InputError(
            f"image must be (channels, height, width), got {shorten(image)}; try (3, 224, 224)."
        )
    if sequence is not None and (not isinstance(sequence, tuple | list) or len(sequence) != 2):
        raise InputError(
            f"sequence must be (steps, features), got {shorten(sequence)}; try (28, 28)."
        )
    shape = image or sequence or (features if tokens is None else tokens,)
    checked = tuple(whole_number("input size", extent) for extent in shape)
    countable("the input", prod(checked))
    known = 0 if vocabulary is None else whole_number("vocabulary", vocabulary)
    start = NetworkDraft(name, title or name, variant, checked, vocabulary=known)
    return Handle(start, checked)

"""Write a network in a few lines; every call gives a handle that the next starts from::

    x = memlab.network("tiny", image=(3, 32, 32))
    x = x.conv(16, 3, pad="same").relu()
    y = x.conv(16, 3, pad="same").add(x).relu()
    tiny = y.flatten().linear(10).cross_entropy()

Handles never change, so a notebook cell may run again. Only what leads to the loss is in the
network.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

from memlab import layers as L  # noqa: N812 - one letter for the layers' namespace
from memlab.errors import InputError, named, shorten, whole
from memlab.layers.layer import countable
from memlab.networks.graph import Network
from memlab.networks.writing import Output, Start


class Handle(Output):
    """An output with a method for every layer."""

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
        """A convolution; ``pad='same'`` keeps height and width at stride 1."""
        layer = L.Conv2d(channels, kernel, stride, pad, dilation, groups, bias)
        return self.then(layer, name=name)

    def linear(
        self,
        features: int,
        bias: bool = True,
        name: str | None = None,
        share: Output | None = None,
    ) -> Handle:
        """A fully connected layer; ``share=h`` uses the parameters of the layer that made ``h``."""
        return self.then(L.Linear(features, bias), name=name, share=share)

    def max_pool(
        self,
        kernel: int | Literal["all"],
        stride: int | None = None,
        pad: int = 0,
        ceil: bool = False,
        name: str | None = None,
    ) -> Handle:
        """The largest value of each window; stride is the kernel if not given."""
        return self.then(L.MaxPool2d(kernel, stride, pad, ceil), name=name)

    def avg_pool(
        self,
        kernel: int | Literal["all"],
        stride: int | None = None,
        pad: int = 0,
        ceil: bool = False,
        name: str | None = None,
    ) -> Handle:
        """The mean of each window; ``'all'`` takes the whole map."""
        return self.then(L.AvgPool2d(kernel, stride, pad, ceil), name=name)

    def batch_norm(self, name: str | None = None) -> Handle:
        """Batch normalisation."""
        return self.then(L.BatchNorm(), name=name)

    def local_response_norm(
        self,
        size: int = 5,
        alpha: float = 1e-4,
        beta: float = 0.75,
        k: float = 1.0,
        name: str | None = None,
    ) -> Handle:
        """Local response normalisation across channels."""
        return self.then(L.LocalResponseNorm(size, alpha, beta, k), name=name)

    def relu(self, name: str | None = None) -> Handle:
        """``max(x, 0)``."""
        return self.then(L.ReLU(), name=name)

    def tanh(self, name: str | None = None) -> Handle:
        """The hyperbolic tangent."""
        return self.then(L.Tanh(), name=name)

    def dropout(self, p: float = 0.5, name: str | None = None) -> Handle:
        """Dropout; it draws again in backward and keeps nothing."""
        return self.then(L.Dropout(p), name=name)

    def add(self, *others: Handle, name: str | None = None) -> Handle:
        """The sum with other outputs of the same shape."""
        return self.then(L.Add(), *others, name=name)

    def concat(self, *others: Handle, name: str | None = None) -> Handle:
        """Side by side with other outputs along the channels."""
        return self.then(L.Concat(), *others, name=name)

    def at(self, t: int, name: str | None = None) -> Handle:
        """The vector at step ``t`` of an input sequence, counted from 0: no copy."""
        return self.then(L.At(t), name=name)

    def lstm_state(self, before: Handle | None = None, name: str | None = None) -> Handle:
        """The state of an LSTM cell from these gates and the state before; without it, 0."""
        others = () if before is None else (before,)
        return self.then(L.LstmState(), *others, name=name)

    def lstm_output(self, state: Handle, name: str | None = None) -> Handle:
        """The output of an LSTM cell from these gates and its state."""
        return self.then(L.LstmOutput(), state, name=name)

    def embedding(self, features: int, name: str | None = None) -> Handle:
        """A learned vector for each token of the input."""
        return self.then(L.Embedding(max(1, self.start.vocabulary), features), name=name)

    def positions(self, name: str | None = None) -> Handle:
        """A learned vector added to each place of a sequence."""
        return self.then(L.Positions(), name=name)

    def layer_norm(self, epsilon: float = 1e-5, name: str | None = None) -> Handle:
        """Layer normalisation of each token."""
        return self.then(L.LayerNorm(epsilon), name=name)

    def gelu(self, form: Literal["exact", "tanh"] = "exact", name: str | None = None) -> Handle:
        """``x Phi(x)``, or GPT-2's form of it with a tanh."""
        return self.then(L.GELU(form), name=name)

    def patches(self, name: str | None = None) -> Handle:
        """A map as a sequence: a token for each place."""
        return self.then(L.Patches(), name=name)

    def class_token(self, name: str | None = None) -> Handle:
        """One learned token before all others."""
        return self.then(L.ClassToken(), name=name)

    def first_token(self, name: str | None = None) -> Handle:
        """The first token of a sequence, as a vector."""
        return self.then(L.FirstToken(), name=name)

    def flatten(self, name: str | None = None) -> Handle:
        """The map as a vector."""
        return self.then(L.Flatten(), name=name)

    def cross_entropy(self, name: str = "loss") -> Network:
        """Close the network with softmax and cross entropy."""
        return self.then(L.SoftmaxCrossEntropy(), name=name).close()

    def squared_error(self, name: str = "loss") -> Network:
        """Close the network with the squared error."""
        return self.then(L.SquaredError(), name=name).close()


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
    """Start a network: the handle of its input, ``image=(C, H, W)``, ``features=F``,
    ``sequence=(T, F)``, or ``tokens=T`` with ``vocabulary=V``: T whole numbers below V.

    Raises:
        InputError: no input shape, several, or an extent below 1.
    """
    named("a network", name, "mine")
    named("a network", title, "mine", empty=True)
    named("a variant", variant, "v1", empty=True)
    given = [each for each in (image, features, sequence, tokens) if each is not None]
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
    checked = tuple(whole("input size", extent) for extent in shape)
    countable("the input", prod(checked))
    known = 0 if vocabulary is None else whole("vocabulary", vocabulary)
    start = Start(name, title or name, variant, checked, vocabulary=known)
    return Handle(start, checked)

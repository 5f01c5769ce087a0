"""The function that makes a view of the shifted copies."""

from __future__ import annotations

from memlab.errors import InputError, flag, shorten
from memlab.networks.graph import Network
from memlab.studies.memory import network_of
from memlab.views.copies import panel
from memlab.views.copies.state import State
from memlab.views.copies.view import ShiftedCopies


def shifted_copies(
    network: str | Network = "vgg16",
    layer: str = "conv1_2",
    batch: int = 128,
    k: int | None = None,
    stride: int | None = None,
    pad: str | None = None,
    how: str = "im2col-batch",
    *,
    step: int | None = None,
    free: bool = True,
) -> ShiftedCopies:
    """What lowering writes: k² copies of the input, on a small picture and in bytes of a layer.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        layer: the name of a convolution in it.
        batch: the mini-batch size.
        k: the side of the kernel, 1, 3, 5 or 7; the layer's own if not given.
        stride: 1 or 2; the layer's own if not given.
        pad: ``"same"`` or ``"none"``; the layer's own if not given.
        how: how much is lowered at once: ``"im2col-batch"``, ``"im2col-image"``, ``"im2col-tile"``
            or ``"direct"`` for nothing.
        step: how many copies are written; all of them if not given.
        free: also show what is free on this machine; never in stored pictures.

    Raises:
        InputError: a value that is not allowed.
    """
    if isinstance(network, str):
        network = network_of(network)
    if not isinstance(network, Network):
        raise InputError(f"give a network or its name, got {shorten(network)}; try 'vgg16'.")
    given = {"k": k, "stride": stride, "pad": pad, "step": step}
    chosen = {name: value for name, value in given.items() if value is not None}
    state = State(**panel.layer(network, layer, **chosen), batch=batch, how=how)
    return ShiftedCopies(state, flag("free", free))

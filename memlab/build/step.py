"""Network to step: forward, loss, backward, update."""

from __future__ import annotations

from memlab import formats
from memlab.build.backward import backward
from memlab.build.forward import Build
from memlab.build.update import update
from memlab.errors import InputError, pick, shorten, whole
from memlab.formats import WHOLE, Format
from memlab.layers import algorithms
from memlab.networks.graph import INPUT, Network
from memlab.optimizers import OPTIMIZERS
from memlab.step.garbage_collection import paused
from memlab.step.step import Step


@paused()
def training_step(
    network: Network,
    optimizer: str = "momentum",
    format: str | Format = "fp32",
    algorithm: str = algorithms.DEFAULT,
    threads: int = 1,
) -> Step:
    """One training step of a network, every array in one format.

    ``optimizer`` is sgd, momentum, adagrad, rmsprop or adam: ``memlab.optimizers`` tells what each
    keeps of a parameter. ``algorithm`` is how convolutions are computed; each of ``threads``
    holds a workspace.

    Raises:
        InputError: an unknown optimizer, format or algorithm, or no thread.
    """
    pick("optimizer", optimizer, OPTIMIZERS)
    build = _start(network, format, algorithm, threads, training=True)
    build.forward()
    residents = build.residents()
    labels, loss = build.loss()
    backward(build, labels)
    residents += update(build, optimizer)
    return build.step([*residents, build.maps[INPUT], labels], [*residents, loss], optimizer)


@paused()
def inference_step(
    network: Network,
    format: str | Format = "fp32",
    algorithm: str = algorithms.DEFAULT,
    threads: int = 1,
) -> Step:
    """Forward alone: nothing is kept, no labels, no gradients; the last output stays.

    Raises:
        InputError: an unknown format or algorithm, or no thread.
    """
    build = _start(network, format, algorithm, threads, training=False)
    build.forward()
    predicted = build.predict()
    residents = build.residents()
    return build.step([*residents, build.maps[INPUT]], [*residents, predicted])


def _start(
    network: Network, format: str | Format, algorithm: str, threads: int, training: bool
) -> Build:
    if not isinstance(network, Network):
        raise InputError(
            f"a step is built from a network, got {shorten(network)}; try memlab.zoo.resnet50(), "
            "or close your own with .cross_entropy()."
        )
    return Build(network, _storable(format), algorithm, whole("threads", threads), training)


def _storable(format: str | Format) -> Format:
    found = formats.find(format)
    if found.name not in WHOLE:
        raise InputError(
            f"a whole step cannot be stored in {found.name}; try one of {', '.join(WHOLE)}."
        )
    return found

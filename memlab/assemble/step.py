"""Network to step: forward, loss, backward, update."""

from __future__ import annotations

from math import prod

from memlab import formats
from memlab.assemble.backward import backward
from memlab.assemble.forward import Build
from memlab.errors import InputError, one_option, shorten, true_or_false, whole_number
from memlab.formats import WHOLE, Format
from memlab.layers import algorithms
from memlab.layers.layer import Node
from memlab.networks.graph import INPUT, Network
from memlab.optimizers import OPTIMIZERS, Optimizer
from memlab.step.initial_values import InitialValue
from memlab.step.op import Phase, UpdateSlot
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor


@paused()
def training_step(
    network: Network,
    optimizer: str = "momentum",
    format: str | Format = "fp32",
    algorithm: str = algorithms.DEFAULT,
    threads: int = 1,
    autograd: bool = False,
    eight_bit_base: bool = False,
) -> Step:
    """Return one training step of a network: forward, loss, backward and update, every array in one
    format.

    Frozen layers of the network (``memlab.freeze``, ``memlab.lora``) have no parameter gradient, no
    optimizer state and no update; backward ends where nothing in front of it learns.

    >>> step = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
    >>> memlab.plan(step).peak(batch=32)
    125607588

    Args:
        network: a network of ``memlab.zoo``, or one that ``memlab.network`` began.
        optimizer: sgd, momentum, adagrad, rmsprop or adam: ``memlab.optimizers`` has the arrays
            that each keeps of a parameter.
        format: the number format of every array, by name.
        algorithm: the algorithm of the convolutions.
        threads: threads that a kernel uses; each has a workspace of its own.
        autograd: True to keep, beside what backward reads, what PyTorch's autograd saves of a
            frozen layer: the input of a convolution. ``memlab.release`` frees it again.
        eight_bit_base: True to store the weights of frozen linear layers in 8 bits, with a scale in
            fp32 for each row, and to widen one of them at a time. Such a step is planned, not run.

    Raises:
        InputError: an unknown optimizer, format or algorithm, no thread, or no True or False; an
            8-bit base of a network without a frozen linear layer.
    """
    one_option("optimizer", optimizer, OPTIMIZERS)
    true_or_false("autograd", autograd)
    true_or_false("eight_bit_base", eight_bit_base)
    build = _start(
        network, format, algorithm, threads, training=True, autograd=autograd,
        eight_bit_base=eight_bit_base,
    )  # fmt: skip
    if eight_bit_base and not build.eight_bit_layers:
        raise InputError(
            f"an 8-bit base is made of frozen linear layers, and {network.name!r} has none; try "
            "memlab.lora(network)."
        )
    if network.frozen and not network.learning:
        raise InputError(
            f"every layer of {network.name!r} is frozen, so no step trains it; freeze fewer, or "
            "try memlab.inference_step(network)."
        )
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
    """Return forward alone: nothing is kept, no labels, no gradients; the last output stays.

    >>> memlab.plan(memlab.inference_step(memlab.zoo.mnist_cnn())).peak(batch=32)
    39406632

    Args:
        network: a network of ``memlab.zoo``, or one that ``memlab.network`` began.
        format: the number format of every array, by name.
        algorithm: the algorithm of the convolutions.
        threads: threads that a kernel uses; each has a workspace of its own.

    Raises:
        InputError: an unknown format or algorithm, or no thread.
    """
    build = _start(network, format, algorithm, threads, training=False)
    build.forward()
    predicted = build.predict()
    residents = build.residents()
    return build.step([*residents, build.maps[INPUT]], [*residents, predicted])


def _start(
    network: Network,
    format: str | Format,
    algorithm: str,
    threads: int,
    training: bool,
    autograd: bool = False,
    eight_bit_base: bool = False,
) -> Build:
    if not isinstance(network, Network):
        raise InputError(
            f"a step is built from a network, got {shorten(network)}; try memlab.zoo.resnet50(), "
            "or close your own with .cross_entropy()."
        )
    count = whole_number("threads", threads)
    stored = _storable(format)
    return Build(network, stored, algorithm, count, training, autograd, eight_bit_base)


def _storable(format: str | Format) -> Format:
    number_format = formats.find(format)
    if number_format.name not in WHOLE:
        raise InputError(
            f"a whole step cannot be stored in {number_format.name}; try one of {', '.join(WHOLE)}."
        )
    return number_format


# -- the update ----------------------------------------------------------------------------------


def update(build: Build, optimizer: str) -> list[Tensor]:
    """Append one update per layer that learns, and return the state of the optimizer.

    A layer whose row says so is updated together with the one that feeds it.
    """
    chosen, state = OPTIMIZERS[optimizer], list[Tensor]()
    for leader, nodes in _groups(build).items():
        reads, updates, count = dict[str, Tensor](), dict[str, Tensor](), 0
        slots: list[UpdateSlot] = []
        for parameter in (p for node in nodes for p in build.parameters[node.name].values()):
            gradient, own = build.gradients[parameter.name], _states(build, parameter, chosen)
            reads[gradient.name] = gradient
            updates |= {array.name: array for array in (parameter, *own.values())}
            names = {name: array.name for name, array in own.items()}
            slots.append(UpdateSlot(parameter.name, gradient.name, names))
            state += own.values()
            count += prod(extent for _, extent in parameter.axes)
        build.emit(
            build.network.by_name[leader], f"update of {leader}", optimizer, Phase.UPDATE, reads,
            {}, updates, flops=Size(chosen.operations * count), slots=tuple(slots),
        )  # fmt: skip
    return state


def _states(build: Build, parameter: Tensor, chosen: Optimizer) -> dict[str, Tensor]:
    """Return the state tensors that the optimizer keeps for a parameter, by the optimizer's own
    names."""
    return {
        name: build.new(
            f"{parameter.name}.{name}", parameter.axes, Role.OPTIMIZER_STATE,
            start=InitialValue(squares=name in chosen.squares),
        )
        for name in chosen.states
    }  # fmt: skip


def _groups(build: Build) -> dict[str, list[Node]]:
    groups: dict[str, list[Node]] = {}
    for node in build.network.nodes:
        if node.parameters and not build.network.is_frozen(node):
            joins = node.row.joins and node.inputs[0] in groups
            groups.setdefault(node.inputs[0] if joins else node.name, []).append(node)
    return groups

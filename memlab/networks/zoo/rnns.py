"""Recurrent networks, unrolled: every step of the sequence has its layers, which share parameters.

The state before the first step is 0, so the first step has no layer that reads it. The parameters
belong to the first layers that use them: ``input1`` and ``hidden2``. The defaults read an image of
MNIST row by row.
"""

from __future__ import annotations

from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from memlab.networks.zoo.shared_parts import repeats, size_of

STAGES = 10
"""The most stages that the steps are divided into."""


def rnn(*, steps: int = 28, features: int = 28, hidden: int = 128, classes: int = 10) -> Network:
    """Return a recurrent network, ``h = tanh(W x + b + U h_before)`` at every step, with a linear
    layer on the last h.

    Raises:
        InputError: a size that is no whole number of at least 1.
    """
    x = _start("rnn", "RNN", steps, features, hidden, classes)
    steps, h, owners = x.shape[0], None, dict[str, Handle]()
    for t in range(1, steps + 1):
        with x.stage(_stage(t, steps)):
            h = _affine(x, t, h, hidden, owners).tanh(f"h{t}")
    return _classify(x, h, classes)


def lstm(*, steps: int = 28, features: int = 28, hidden: int = 128, classes: int = 10) -> Network:
    """Return an LSTM, with gates ``W x + b + U h_before`` at every step, and a linear layer on the
    last h.

    Raises:
        InputError: a size that is no whole number of at least 1.
    """
    x = _start("lstm", "LSTM", steps, features, hidden, classes)
    steps, h, c, owners = x.shape[0], None, None, dict[str, Handle]()
    for t in range(1, steps + 1):
        with x.stage(_stage(t, steps)):
            gates = _affine(x, t, h, 4 * hidden, owners)
            c = gates.lstm_state(c, f"c{t}")
            h = gates.lstm_output(c, f"h{t}")
    return _classify(x, h, classes)


def _start(name: str, title: str, steps: int, features: int, hidden: int, classes: int) -> Handle:
    size_of("hidden", hidden, usual=128)
    size_of("classes", classes, usual=10)
    steps = repeats("steps", size_of("steps", steps, usual=28))
    sequence = steps, size_of("features", features, usual=28)
    return network(name, sequence=sequence, title=title)


def _stage(t: int, steps: int) -> str:
    """Return the stage of a time step. A stage is several steps in a row."""
    size = -(-steps // STAGES)
    first = (t - 1) // size * size + 1
    last = min(first + size - 1, steps)
    return f"steps {first}-{last}" if last > first else f"step {first}"


def _affine(x: Handle, t: int, h: Handle | None, size: int, owners: dict[str, Handle]) -> Handle:
    """Return ``W x + b`` at step t, plus ``U h`` of the previous step if there is one.

    ``owners`` are the layers that the parameters belong to.
    """
    now = x.at(t - 1, f"x{t}").linear(size, name=f"input{t}", share=owners.get("input"))
    owners.setdefault("input", now)
    if h is None:
        return now
    before = h.linear(size, bias=False, name=f"hidden{t}", share=owners.get("hidden"))
    owners.setdefault("hidden", before)
    return now.add(before, name=f"sum{t}")


def _classify(x: Handle, h: Handle | None, classes: int) -> Network:
    assert h is not None  # there is at least one step
    with x.stage("fc"):
        return h.linear(classes, name="fc").cross_entropy()

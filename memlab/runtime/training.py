"""``memlab.train``: training of a network for some epochs, and its history."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Protocol

import numpy as np

from memlab import strings, units
from memlab.assemble.step import inference_step, training_step
from memlab.errors import InputError, shorten, true_or_false, whole_number
from memlab.kernels.registry import Array
from memlab.networks.graph import Network
from memlab.progress_bar import progress_bar
from memlab.runtime import memory_guard
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques import application_order

Rewrite = Callable[[Step], Step]
"""Technique with its arguments filled in: a function from a step to a step."""


class Data(Protocol):
    """Interface of training data: samples and labels to learn from, and others to test with.

    ``x`` is (samples, ...), as the network's input. ``y`` are the classes, int64, or with a squared
    error the targets. ``x_test`` and ``y_test`` are other samples and their classes.
    """

    @property
    def x(self) -> Array: ...

    @property
    def y(self) -> Array: ...

    @property
    def x_test(self) -> Array: ...

    @property
    def y_test(self) -> Array: ...


@dataclass(frozen=True)
class History:
    """Losses, errors, peak and time of a training.

    Attributes:
        step: description of the training step.
        batch: samples in a batch.
        losses: loss of every step.
        errors: after every epoch, the share of test samples that were classified wrongly, from 0 to
            1.
        peak: planned peak of a training step, in bytes.
        seconds: running time with the tests, without the time that Numba took to compile.
        scales: loss scale at the beginning of every step, if there is one.

    The example of ``train`` makes one.
    """

    step: str
    batch: int
    losses: tuple[float, ...] = field(repr=False)
    errors: tuple[float, ...]
    peak: int
    seconds: float
    scales: tuple[float, ...] = field(default=(), repr=False)

    @property
    def epochs(self) -> int:
        """Number of epochs: how often every sample was seen."""
        return len(self.errors)

    @property
    def broken(self) -> tuple[int, ...]:
        """Numbers of the steps, from 1 on, whose loss was NaN or infinite."""
        return tuple(i for i, loss in enumerate(self.losses, start=1) if not isfinite(loss))

    @property
    def last(self) -> int:
        """Number of epochs that count as the end: a third, since errors vary by chance from one to
        the next."""
        return max(1, self.epochs // 3)

    @property
    def error(self) -> float:
        """Test error at the end: mean over the last epochs, from 0 to 1."""
        return sum(self.errors[-self.last :]) / self.last

    @property
    def each_error(self) -> str:
        """Test errors after each epoch, as text: ``'6.9, 2.8, 2.5 %'``."""
        return ", ".join(f"{100 * error:.1f}" for error in self.errors) + " %"

    def text(self) -> str:
        """Peak, time, losses, test errors, the loss scale, and the number of broken losses, as
        text."""
        losses, scales, broken = self.losses, self.scales, self.broken
        lines = [
            _text("head", step=self.step, batch=f"{self.batch:,}"),
            _text("peak", peak=units.exact(self.peak)),
            _text("steps", steps=f"{len(losses):,}", epochs=self.epochs, seconds=self.seconds),
            _text("loss", first=f"{losses[0]:.3g}", last=f"{losses[-1]:.3g}"),
            _text("errors", errors=self.each_error),
        ]
        if scales:
            lines.append(_text("scale", first=f"{scales[0]:,g}", last=f"{scales[-1]:,g}"))
        if broken:
            lines.append(_text("broken", count=f"{len(broken):,}", first=f"{broken[0]:,}"))
        return "\n".join(lines)

    __str__ = text


def train(
    network: Network,
    data: Data,
    *,
    rewrite: Rewrite | None = None,
    optimizer: str = "momentum",
    batch: int = 32,
    epochs: int = 6,
    seed: int = 0,
    settings: Mapping[str, float] | None = None,
    progress: bool = False,
) -> History:
    """Train a network, and test it after every epoch with the same parameters.

    Each epoch goes through the samples in another order, and leaves out those that do not fill the
    last batch. A loss that is NaN or infinite stops nothing: the history records it.

    Args:
        network: the network.
        data: arrays ``x``, ``y``, ``x_test`` and ``y_test``, samples first; labels are class
            numbers, int64.
        rewrite: technique that is applied to the training step and to the inference step of the
            tests, such as ``partial(memlab.precision, mode="mixed fp16")``. The part of it that
            concerns learning leaves an inference unchanged.
        optimizer: name of the optimizer.
        batch: samples in a batch. A step that accumulates takes ``batch`` samples for each of its
            parts.
        epochs: number of passes over the samples.
        seed: seed of the parameters and of the order of the samples.
        settings: settings of the optimizer, such as ``{"rate": 0.01}``.
        progress: True to show a progress bar.

    Returns:
        Losses, test errors, planned peak and time.

    Raises:
        InputError: samples and labels differ in number, there are fewer samples than a batch, or no
            test samples; ``rewrite`` does not return a step of the same network; or ``Session``
            refuses an argument.
        DoesNotFitError: the plan needs more than is free; nothing was allocated.

    >>> import memlab
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> y = np.arange(64) % 2
    >>> x = (2 * y - 1).astype(np.float32).reshape(64, 1)
    >>> data = SimpleNamespace(x=x, y=y, x_test=x, y_test=y)
    >>> net = memlab.network("signs", features=1).linear(2).cross_entropy()
    >>> history = memlab.train(net, data, batch=16, epochs=9)
    >>> history.error, history.losses[-1] < history.losses[0]
    (0.0, True)
    """
    batch, epochs = whole_number("batch", batch), whole_number("epochs", epochs)
    seed, progress = whole_number("seed", seed, least=0), true_or_false("progress", progress)
    learning = _rewritten_step(training_step(network, optimizer), rewrite)
    samples = batch * application_order.parts(learning)
    _check_data(data, samples)
    testing = _rewritten_step(inference_step(network), rewrite)
    learn, tests = Program(learning, batch), Program(testing, len(data.x_test))
    _check_rooms(learn, tests)
    from memlab.runtime.metering.compile_time import Compilations, install_listener

    orders, record = np.random.default_rng(seed), _Record()
    bar = progress_bar(
        total=epochs * (len(data.x) // samples), delay=1, disable=not progress, unit="step"
    )
    with (
        install_listener(learn.backend.compiling, Compilations()) as compiling,
        Session(learn, seed, settings=settings) as session,
        Session(tests, seed) as test,
        bar,
    ):
        begin = time.perf_counter()
        for _ in range(epochs):
            for chosen in _batches(orders.permutation(len(data.x)), samples):
                record.step(session, data.x[chosen], data.y[chosen])
                bar.update()
            record.errors.append(_test_error(session, test, data))
        seconds = time.perf_counter() - begin - compiling.seconds
    losses, errors, scales = map(tuple, (record.losses, record.errors, record.scales))
    return History(
        learning.describe(), batch, losses, errors, learn.planned.peak(batch), seconds, scales
    )


@dataclass
class _Record:
    """Losses, errors and loss scales, collected while a network trains."""

    losses: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)

    def step(self, session: Session, x: Array, y: Array) -> None:
        """Run one step; record the loss scale that it begins with, and its loss."""
        scales = [tensor for tensor in session.residents if tensor.start.setting == "loss_scale"]
        self.scales += [float(session.value(tensor)[()]) for tensor in scales]
        session.step(x, y)
        self.losses.append(float(session.output[()]))


def _rewritten_step(step: Step, rewrite: object) -> Step:
    """Step after ``rewrite``, which must return a step of the same network and kind."""
    if rewrite is None:
        return step
    if not callable(rewrite):
        raise InputError(
            f"rewrite must be a function of a step, got {shorten(rewrite)}; try memlab.in_place."
        )
    rewritten = rewrite(step)
    if not isinstance(rewritten, Step):
        raise InputError(
            f"rewrite must make a step of a step, got {shorten(rewritten)}; try memlab.in_place."
        )
    if (rewritten.network, rewritten.training) != (step.network, step.training):
        raise InputError(
            f"rewrite must change the step that it gets, {step!r}, got {rewritten!r}; "
            "try memlab.in_place."
        )
    return rewritten


def _check_rooms(*programs: Program) -> None:
    """Refuse programs that do not fit, before the first step.

    Each keeps its parameters while the other one runs, so each must fit beside what the other
    leaves alive.
    """
    for program in programs:
        program.load()  # says first what has no kernel
    for program, other in zip(programs, reversed(programs), strict=True):
        memory_guard.admit(program, other_bytes=other.planned.after(other.batch)[-1])


def _batches(order: Array, batch: int) -> list[Array]:
    """Batches of an order of samples, without those that fill no batch."""
    return [order[first : first + batch] for first in range(0, len(order) - batch + 1, batch)]


def _test_error(session: Session, test: Session, data: Data) -> float:
    """Share of the test samples whose largest output is not that of their class, or whose output
    holds NaN or infinity."""
    learned = {tensor.name: tensor for tensor in session.residents}
    for tensor in test.residents:
        if tensor.role in (Role.PARAMETER, Role.BUFFER):
            write = partial(_copy, session.value(learned[tensor.name]))
            test.backend.fill(test.memory.view(tensor), write)
    test.step(data.x_test)
    output = test.output.astype(np.float64)
    right = (output.argmax(1) == data.y_test) & np.isfinite(output).all(1)
    return float(1 - right.mean())


def _copy(source: Array, values: Array) -> None:
    """Copy values from one array to another."""
    values[...] = source


def _check_data(data: Data, batch: int) -> None:
    """Refuse data without the four arrays, with other numbers of labels than of samples, or with
    fewer samples than a batch."""
    for name in ("x", "y", "x_test", "y_test"):
        if not isinstance(getattr(data, name, None), np.ndarray):
            raise InputError(
                f"data must have the arrays x, y, x_test and y_test, got {shorten(data)} without "
                f"{name}; try memlab.lesson.digits.load()."
            )
    for x, y in ((data.x, data.y), (data.x_test, data.y_test)):
        if len(x) != len(y) or not len(x):
            raise InputError(
                f"every sample needs one label, got {len(x)} samples and {len(y)} labels; "
                "try memlab.lesson.digits.load()."
            )
    if len(data.x) < batch:
        raise InputError(
            f"a batch of {batch} needs as many samples, got {len(data.x)}; try a smaller batch."
        )


def _text(key: str, **values: object) -> str:
    """Text of a history, from the strings of learners."""
    return strings.get(f"training.history.{key}", **values)

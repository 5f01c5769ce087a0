"""Choice of the algorithm of each convolution of a step: one for all, or for each the fastest that
fits.

An algorithm is paid in workspace. The search is that of cuDNN: for every operation, the fastest
algorithm whose workspace stays within a limit. It holds for the batch that it was made for. Only
figures of this machine can say which algorithm is the fastest on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import cast

from memlab import units
from memlab.axes import Shape
from memlab.clocks import roofline
from memlab.clocks.measured_rates import HERE, RECORDED, Rates
from memlab.clocks.roofline import Machine
from memlab.errors import InputError, known, real_number, shorten
from memlab.hardware import DEVICES, Device
from memlab.layers import Conv2d, algorithms
from memlab.layers.algorithms import ALGORITHMS
from memlab.layers.convolution import image_of
from memlab.layers.layer_kind import KernelChoice
from memlab.step.fp32_tiles import COMPUTED, is_staged, tiles
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.tensor import Tensor
from memlab.techniques import application_order
from memlab.techniques.recompute.repeated_operations import renamed, repeated
from memlab.techniques.registry import Argument, Order, technique

NAMED = (RECORDED, HERE, *DEVICES)
"""Machines by name; ``"cpu"`` and ``"cuda"`` say whose kernels, and this machine's rates count."""
Times = Mapping[str, Mapping[str, float]]
"""Seconds by the names of operation and algorithm: ``{"conv1": {"direct": 2.1}}``."""


@technique(
    Order.ALGORITHM, "lowering", "how convolutions are computed",
    choice=Argument("algorithm", tuple(ALGORITHMS)), exact=False,
)  # fmt: skip
def lowering(
    step: Step,
    algorithm: str | None = None,
    *,
    batch: int | None = None,
    limit: int | str | None = None,
    times: Times | None = None,
    device: str | Machine = "cpu",
) -> Step:
    """Return the step with its convolutions computed by ``algorithm``, or each by the fastest.

    Without an algorithm, every operation takes the fastest one at ``batch`` that has a kernel on
    ``device`` and whose workspace is at most ``limit``. The direct one always fits. Seconds follow
    from the rates that ``memlab bench machine`` measured here (``clocks.roofline``), and an
    operation keeps its algorithm unless another one is faster by more than the samples of that
    measurement lay apart. Rates of another machine, or of one thread where the step has several, do
    not tell the fastest one here: by them an operation changes its algorithm only where the limit
    has no room for it. A note of the step says whose rates they are.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> memlab.plan(memlab.lowering(step, "im2col-batch")).peak(32) > memlab.plan(step).peak(32)
    True

    Args:
        step: a step, before recompute, offload and in place.
        algorithm: the algorithm of every convolution that it can compute, as ``"direct"``.
        batch: without an algorithm, the batch that the choice is made at and holds for.
        limit: the most workspace of an operation, in bytes or as ``"64 MiB"``; None: no limit.
        times: seconds by operation and algorithm; these operations take the fastest of the
            algorithms that have a time there.
        device: ``"cpu"`` or ``"cuda"``, whose kernels are chosen from; or a machine (``"titan x"``,
            ``"recorded"``) whose rates decide. On one that is known by its figures all algorithms
            are tried.

    Raises:
        InputError: no algorithm and no batch, or both; an unknown name; no amount of memory; a
            time that is no number; a batch that the step does not hold for; a step that recomputes
            or is in place.
    """
    application_order.check(step, "lowering")
    if algorithm is None:
        timed = {} if times is None else _timed(step, times)
        return _search(step, _checked(step, batch), limit, timed, _figures(step, device))
    if (batch, limit, times) != (None, None, None):
        raise InputError(
            f"with the algorithm {algorithm!r} there is nothing to search for; leave out "
            "batch, limit and times, or the algorithm."
        )
    algorithms.find(algorithm)
    chosen = {op.name: _choose(op, algorithm, step.threads) for op in _convolutions(step)}
    note = [] if algorithm == algorithms.DEFAULT else [f"{algorithm} convolution"]
    return _rewritten(step, chosen, note, step.batches)


@dataclass(frozen=True)
class _Figures:
    """Algorithms that a device can take, and the machine whose figures count. ``doubt`` names the
    owner of figures that do not tell the fastest algorithm here; it is empty where they do."""

    names: list[str]
    machine: Machine
    doubt: str = ""


def _figures(step: Step, device: str | Machine) -> _Figures:
    named = isinstance(device, str) and (device in NAMED or device.endswith(".toml"))
    if named or isinstance(device, Device | Rates):
        machine = roofline.machine(device)
        by_figures = isinstance(machine, Device)
        return _Figures([*ALGORITHMS] if by_figures else algorithms.on("cpu"), machine)
    names, rates = algorithms.on(device), roofline.rates()
    if device != "cpu":
        return _Figures(names, rates, "of a processor")
    if not rates.here:
        return _Figures(names, rates, "of another machine")
    return _Figures(names, rates, "of one thread" if step.threads > 1 else "")


def _search(
    step: Step, batch: int, limit: int | str | None, times: Times, figures: _Figures
) -> Step:
    """Return the step with every operation by the fastest of these algorithms within the limit."""
    most = inf if limit is None else units.exact_or_parsed(limit)
    chosen = {
        op.name: _fastest(
            op,
            [_choose(op, name, step.threads) for name in figures.names],
            batch,
            most,
            times.get(op.name),
            figures,
        )
        for op in _convolutions(step)
    }
    note = _note(limit, bool(times), figures)
    return _rewritten(step, chosen, [note], range(batch, batch + 1))


def _checked(step: Step, batch: int | None) -> int:
    if batch is None:
        raise InputError(
            "lowering needs an algorithm, or a batch to search at; try lowering(step, 'winograd') "
            "or lowering(step, batch=32, limit='64 MiB')."
        )
    return step.held(batch, "start from a step without techniques")


def _timed(step: Step, times: object) -> Times:
    """Return the measured times of the ways to convolve, once every layer has been checked."""
    names = [op.name for op in _convolutions(step)]
    rows = times.items() if isinstance(times, Mapping) else [("", None)]
    for name, row in rows:
        if not isinstance(row, Mapping):
            raise InputError(
                f"times are seconds by convolution and algorithm, got {shorten(times)}; "
                "try {'conv1': {'direct': 0.001}}."
            )
        known("convolution", name, names)
        for algorithm, seconds in row.items():
            known("algorithm", algorithm, ALGORITHMS)
            real_number(f"the time of {algorithm}", seconds, usual=0.001, least=0)
    return cast(Times, times)


def ways(op: Op, names: Iterable[str], threads: int) -> list[Op]:
    """Return a convolution by each of these algorithms that can compute it, also one that runs
    again; any other operation as it is."""
    if not _convolves(op):
        return [op]
    ops: dict[str, Op] = {}
    for name in names:
        lowered_op = _with(op, _choose(op, name, threads))
        ops.setdefault(lowered_op.algorithm, lowered_op)
    return [_apart(candidate) for candidate in ops.values()]


def _apart(op: Op) -> Op:
    """Return an operation that runs again with workspace of its own, maybe by another algorithm."""
    if not op.attributes.get(application_order.AGAIN):
        return op
    suffix = repeated(op.attributes[application_order.AGAIN])
    return replace(op, workspace={key: renamed(t, suffix) for key, t in op.workspace.items()})


def _convolutions(step: Step) -> list[Op]:
    return [op for op in step.ops if _convolves(op)]


def _convolves(op: Op) -> bool:
    kinds = ("conv2d", "conv2d.backward")
    return op.kind in kinds and isinstance(op.attributes.get("layer"), Conv2d)


def _fastest(
    op: Op, choices: list[KernelChoice], batch: int, limit: float, times: Mapping[str,
    float] | None,
    figures: _Figures,
) -> KernelChoice:  # fmt: skip
    """The fastest choice within the limit, of equally fast ones the smallest; where figures are in
    doubt, the algorithm that the operation has, if that is within the limit."""
    ranked: list[tuple[float, int, KernelChoice]] = []
    for choice in choices:
        nbytes = sum(tensor.size.at(batch) for tensor in choice.workspace.values())
        if nbytes > limit:
            continue
        own = choice.algorithm == op.algorithm and times is None
        if own and figures.doubt:
            return choice
        seconds = _seconds(_with(op, choice), batch, times, figures.machine)
        if seconds is not None:
            less = 1 + _spread(figures.machine) if own else 1
            ranked.append((seconds / less, nbytes, choice))
    if not ranked:
        return next(choice for choice in choices if choice.algorithm == "direct")
    return min(ranked, key=lambda entry: entry[:2])[2]


def _spread(machine: Machine) -> float:
    """Least difference of two times that tells them apart, as a part of them."""
    return machine.spread if isinstance(machine, Rates) else 0.0


def _seconds(
    op: Op, batch: int, times: Mapping[str, float] | None, machine: Machine
) -> float | None:
    """Return the measured seconds of an operation, else those by the clock; ``None`` where neither
    knows the algorithm."""
    if times is not None:
        return times.get(op.algorithm)
    return roofline.seconds(op, batch, machine) if roofline.knows(op, machine) else None


def _choose(op: Op, name: str, threads: int) -> KernelChoice:
    backward, x = op.kind.endswith(".backward"), image_of(op)
    y = op.reads["dy"] if backward else op.writes["y"]
    layer = op.attributes["layer"]
    shapes = _shape(x), _shape(y)
    format = COMPUTED if is_staged(op) else x.format
    return algorithms.choose(name, layer, *shapes, backward, op.layer, format, threads)


def _shape(tensor: Tensor) -> Shape:
    """Return the shape of a tensor per sample."""
    return tuple(extent for _, extent in tensor.axes[1:])


def _with(op: Op, choice: KernelChoice) -> Op:
    """Return the operation computed by another algorithm. It fills the workspace once, or in
    backward once for each gradient."""
    gradients = [name for name in (*op.writes, *op.updates) if name in ("dweight", "dx")]
    fills = len(gradients) or 1
    before = _choose(op, op.algorithm, 1)
    moved = op.bytes_moved + fills * choice.moved + -fills * before.moved
    workspace = {**choice.workspace, **tiles(op)}
    return replace(op, algorithm=choice.algorithm, workspace=workspace, bytes_moved=moved)


def _rewritten(
    step: Step, chosen: Mapping[str, KernelChoice], note: list[str], batches: range | None
) -> Step:
    ops = tuple(_with(op, chosen[op.name]) if op.name in chosen else op for op in step.ops)
    others = [other for other in step.notes if "convolution" not in other]
    return replace(step, ops=ops, notes=(*note, *others), batches=batches)


def _note(limit: int | str | None, timed: bool, figures: _Figures) -> str:
    """Return a note on the choice, and on whose figures it was made by."""
    by = roofline.by(figures.machine)
    if timed:
        by = "given times" if figures.doubt and limit is None else f"given times and {by}"
    elif figures.doubt and limit is None:
        return f"convolutions as they were: {by} are {figures.doubt}"
    fastest = "" if figures.doubt else "fastest "
    within = "" if limit is None else f" within {_amount(limit)} of workspace"
    return f"{fastest}convolutions{within} by {by}"


def _amount(limit: int | str) -> str:
    return limit.strip() if isinstance(limit, str) else units.short(limit)

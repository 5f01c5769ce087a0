"""Feature maps that wait in host memory between forward and backward, as vDNN moves them (C5, C6).

The bytes leave the device, and take a place in the host's memory meanwhile: they are moved, not
saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memlab import units
from memlab.clocks.roofline import Machine
from memlab.errors import InputError, known, one_option, true_or_false
from memlab.hardware import Link
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.techniques import application_order
from memlab.techniques.offload.cost import optimal, terms
from memlab.techniques.offload.rules import (
    NEEDED,
    POLICIES,
    PREFETCH,
    VDNN,
    WayBack,
    back,
    candidates,
    moved,
    needed,
)
from memlab.techniques.offload.search import SEARCHES, OffloadChoice
from memlab.techniques.registry import Argument, ArgumentKind, Order, Takes, technique
from memlab.techniques.release import rewritable


def _takes(policy: str) -> Takes:
    if policy in SEARCHES:
        return Takes(("batch", "budget"), ("prefetch", "in_place", "device", "link"))
    return Takes(takes=("prefetch",))


@technique(
    Order.OFFLOAD, "offload", "maps wait in host memory",
    choice=Argument("policy", (*POLICIES, *SEARCHES)),
    more=(
        Argument("batch", ArgumentKind.BATCH), Argument("in_place", ArgumentKind.IN_PLACE),
        Argument("device", ArgumentKind.MACHINE),
        Argument("prefetch", PREFETCH, "maps are back", "--prefetch"),
        Argument("budget", ArgumentKind.BYTES, "of the peak, such as 2GB", "--budget"),
        Argument("link", ArgumentKind.SPEED, "to the host's memory: '12 GB/s'", "--link"),
    ),
    of=_takes, shown=application_order.offloads, does="offloads",
)  # fmt: skip
def offload(
    step: Step,
    policy: str = "all",
    maps: Iterable[str] | None = None,
    *,
    prefetch: str = VDNN,
    algorithms: str | None = None,
    batch: int | None = None,
    budget: int | str | None = None,
    device: str | Machine | None = None,
    link: str | float | Link | None = None,
    in_place: bool = False,
) -> Step:
    """Return the step in which feature maps wait in host memory until backward needs them.

    A map goes to the host beside the last operation of forward that reads it, and comes back during
    backward. Both copies run beside the operations: so the device holds fewer bytes and the host
    more, and a step takes longer only where an operation has to wait for a copy. Gradients are the
    same, bit for bit, as long as convolutions keep their algorithms.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> ledger = memlab.plan(memlab.offload(step, "conv"))
    >>> ledger.peak(32), ledger.peak(32, "host")
    (572099812, 234422272)

    Which maps go is said in one of three ways: by a policy of vDNN, by name, or by what the device
    has room for, which is a search::

        memlab.offload(step, "conv")
        memlab.offload(step, maps=["conv1_1.relu"])
        memlab.offload(step, "best", batch=256, budget="12 GB", device="titan x", link="12 GB/s")

    Of what comes back, ``memlab.plan(step).peak(256)`` are the bytes of the device,
    ``memlab.plan(step).peak(256, "host")`` those of the host, and
    ``memlab.clock(step, 256, "titan x", "12 GB/s")`` the seconds, with who waits for a copy.

    Args:
        step: a training step, before ``in_place``; one without backward stays as it is.
        policy: without a search, ``"conv"``: the inputs of convolutions go; ``"all"``: those of all
            layers but activations and the last one; ``"none"``. With a search, ``"dynamic"``: the
            first of vDNN's configurations that fits (C6); ``"best"``: the maps with the least
            planned seconds. ``choose`` says what a search came to.
        maps: the names of the feature maps that go, instead of a policy.
        prefetch: when a map comes back. ``"vdnn"``: with the backward of a later layer, no further
            than the next convolution (C5). ``"needed"``: with its reader, which waits for it: the
            fewest bytes.
        algorithms: ``"m"``: convolutions take no workspace; ``"p"``: each takes the fastest
            algorithm at a batch, without a device as ``memlab.lowering`` finds it, under a budget
            the fastest that there is room for. None: without a search they stay as they are, with
            one it is ``"p"``.
        batch: for a search, or ``"p"``: the batch that it is made at; the result holds for it
            alone.
        budget: for a search, the most bytes on the device, or ``'12 GB'``.
        device: for a search, or ``"p"``: the machine that seconds are planned for, as in
            ``memlab.clock``. For one by its figures, such as ``"titan x"``, all algorithms are
            chosen from, also those that have no kernel here: such a step is one to plan.
        link: for a search, bytes per second between the memories; the device's where it is None.
        in_place: for a search, whether you will apply ``memlab.in_place`` to the result: then its
            bytes are those that the budget is for.

    Raises:
        InputError: no step, or one that is in place or moves maps already; an unknown policy, or a
            map that cannot go; an argument that is missing or has no meaning there; a budget below
            the least peak, which the message names.
    """
    known("prefetch", prefetch, PREFETCH)
    if maps is None and known("policy", policy, (*POLICIES, *SEARCHES)) in SEARCHES:
        return choose(
            step, policy, batch=batch, budget=budget, device=device, link=link, in_place=in_place,
            algorithms="p" if algorithms is None else algorithms, prefetch=prefetch,
        ).step  # fmt: skip
    step = _check(step)
    shares = true_or_false("in_place", in_place) or None
    asked: dict[str, object] = {"budget": budget, "link": link, "in_place": shares}
    asked |= {"batch": batch, "device": device} if algorithms is None else {}
    _no_search(asked, policy if maps is None else "maps")
    if algorithms is not None:
        step = optimal(step, algorithms, batch, device)
    if maps is None:
        chosen, note = POLICIES[policy](step), f"offload ({policy}{back(prefetch)})"
    else:
        chosen = _named(step, application_order.names(maps, "maps"))
        note = f"offload of {len(chosen)} map{'s' * (len(chosen) != 1)}{back(prefetch)}"
    late = prefetch == NEEDED
    copies = needed(candidates(step), chosen) if late else WayBack(step).moves(chosen)
    return moved(step, copies, note) if copies else step


@paused()
def choose(
    step: Step,
    policy: str = "dynamic",
    *,
    batch: int | None = None,
    budget: int | str | None = None,
    device: str | Machine | None = None,
    link: str | float | Link | None = None,
    in_place: bool = False,
    algorithms: str = "p",
    prefetch: str = VDNN,
) -> OffloadChoice:
    """Return the result of a search of ``offload``: the step, its maps, bytes and seconds, and how
    far it is from a bound. Arguments are those of ``offload``.

    Raises:
        InputError: as ``offload``.
    """
    step = _check(step)
    search = one_option("way to search", policy, SEARCHES)
    for name, value in {"batch": batch, "budget": budget}.items():
        if value is None:
            raise InputError(
                f"offload {policy!r} needs a {name}; try memlab.offload(step, {policy!r}, "
                "batch=256, budget='12 GB', device='titan x', link='12 GB/s')."
            )
    at = terms(step, batch, device, link, in_place, algorithms, prefetch)
    return search(step, at, units.exact_or_parsed(budget))  # type: ignore[arg-type]  # None was refused


def _check(step: Step) -> Step:
    application_order.check(step, "offload")
    if application_order.offloads(step):
        raise InputError("this step offloads already; start from the step before that.")
    return rewritable(step)


def _no_search(asked: Mapping[str, object], what: str) -> None:
    """Refuse what only a search has a use for."""
    for name, value in asked.items():
        if value is not None:
            raise InputError(
                f"offload takes {name} for a search, not for {what!r}; try 'dynamic', or "
                "memlab.clock(step, batch, device=..., link=...) for seconds."
            )


def _named(step: Step, names: Sequence[str]) -> set[str]:
    there = candidates(step)
    if names and not there:
        raise InputError(
            "no feature map of this step waits for backward, so none can go; try "
            "memlab.training_step(network)."
        )
    by_name = {name: name for name in there} | {c.map.name: n for n, c in there.items()}
    return {one_option("feature map that can go", name, by_name) for name in names}

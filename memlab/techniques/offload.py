"""Feature maps that wait in host memory between forward and backward, as vDNN moves them (C5, C6).

The bytes leave the device, and take a place in the host's memory meanwhile: they are moved, not
saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memlab import units
from memlab.errors import InputError, flag, known, pick
from memlab.hardware import Link
from memlab.planner.clock import Machine
from memlab.step.collector import paused
from memlab.step.step import Step
from memlab.techniques import order
from memlab.techniques.offload_cost import optimal, terms
from memlab.techniques.offload_joint import SEARCHES
from memlab.techniques.offload_rules import POLICIES, candidates, moved, prefetched
from memlab.techniques.offload_search import Choice


def offload(
    step: Step,
    policy: str = "all",
    maps: Iterable[str] | None = None,
    *,
    algorithms: str | None = None,
    batch: int | None = None,
    budget: int | str | None = None,
    device: str | Machine | None = None,
    link: str | float | Link | None = None,
    in_place: bool = False,
) -> Step:
    """The same step, in which feature maps wait in host memory until backward needs them.

    Gradients are the same, bit for bit, where the algorithms of convolutions are. Copies run in
    streams of their own, ``memlab.clock`` says how long the step takes with them, and the plan has
    two memories: ``plan.peak(32, "host")``.

    Args:
        step: a training step, before ``in_place``; one without backward stays as it is.
        policy: ``"conv"`` moves the inputs of convolutions, ``"all"`` those of all layers but
            activations and the last one, ``"none"`` moves nothing; ``"dynamic"`` is the first of
            these that fits into a budget, in vDNN's order (C6). ``"best"`` is the set of maps with
            the least planned seconds; with ``"joint"``, maps may also be dropped and computed
            again. ``choose`` says what these three came to.
        maps: the names of the feature maps to move, instead of a policy; each comes back as vDNN's
            would.
        algorithms: ``"m"``: convolutions take no workspace, ``"p"``: each takes the fastest
            algorithm at a batch, under a budget the fastest that there is room for. Without it,
            static policies leave them as they are, and the searches take ``"p"``.
        batch: the batch that a search or ``"p"`` is made at; the result holds for it alone.
        budget: for a search, the most bytes on the device, or ``'12 GB'``.
        device: the machine that seconds are planned for, as in ``memlab.clock``; for one by its
            figures all algorithms are chosen from, so such a step may be one to plan, not to run.
        link: for a search, bytes per second between the memories; the device's where it is None.
        in_place: for a search, whether the bytes are those after ``memlab.in_place``, which you
            then apply to the result.

    Raises:
        InputError: no step, or one that is in place or moves maps already; an unknown policy, or a
            map that cannot go; an argument that is missing or has no meaning there; a budget below
            the least peak, which the message names.
    """
    if maps is None and known("policy", policy, (*POLICIES, *SEARCHES)) in SEARCHES:
        return choose(
            step, policy, batch=batch, budget=budget, device=device, link=link, in_place=in_place,
            algorithms="p" if algorithms is None else algorithms,
        ).step  # fmt: skip
    _check(step)
    shares = flag("in_place", in_place) or None
    asked: dict[str, object] = {"budget": budget, "link": link, "in_place": shares}
    asked |= {"batch": batch, "device": device} if algorithms is None else {}
    for name, value in asked.items():
        if value is not None:
            raise InputError(
                f"offload takes {name} for a search, not for {policy if maps is None else 'maps'!r}"
                "; try 'dynamic', or memlab.clock(step, batch, device=..., link=...) for seconds."
            )
    if algorithms is not None:
        step = optimal(step, algorithms, batch, device)
    if maps is None:
        chosen, note = POLICIES[policy](step), f"offload ({policy})"
    else:
        chosen = _named(step, order.names(maps, "maps"))
        note = f"offload of {len(chosen)} map{'s' * (len(chosen) != 1)}"
    found = prefetched(step, chosen)
    return moved(step, found, note) if found else step


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
) -> Choice:
    """What a search of ``offload`` comes to: the step, its maps, bytes and seconds, and how far it
    is from a bound. Arguments are those of ``offload``.

    Raises:
        InputError: as ``offload``.
    """
    _check(step)
    search = pick("way to search", policy, SEARCHES)
    for name, value in {"batch": batch, "budget": budget}.items():
        if value is None:
            raise InputError(
                f"offload {policy!r} needs a {name}; try memlab.offload(step, {policy!r}, "
                "batch=256, budget='12 GB', device='titan x', link='12 GB/s')."
            )
    at = terms(step, batch, device, link, in_place, algorithms)
    return search(step, at, units.parse(budget))  # type: ignore[arg-type]  # None was refused


def _check(step: Step) -> None:
    order.check(step, "offload", ("in_place", "accumulate"))
    if order.offloads(step):
        raise InputError("this step offloads already; start from the step before that.")


def _named(step: Step, names: Sequence[str]) -> set[str]:
    there = candidates(step)
    if names and not there:
        raise InputError(
            "no feature map of this step waits for backward, so none can go; try "
            "memlab.training_step(network)."
        )
    by_name = {name: name for name in there} | {c.map.name: n for n, c in there.items()}
    return {pick("feature map that can go", name, by_name) for name in names}

"""From the options of the command line to a network, a step with its techniques, and its plan."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from memlab import units
from memlab.errors import LARGEST, InputError, known, pick, whole

if TYPE_CHECKING:
    from memlab.ledger.ledger import Ledger
    from memlab.networks.graph import Network
    from memlab.step.step import Step
    from memlab.studies.techniques.ways import Ways
    from memlab.techniques.recompute.ways import Way

Options = argparse.Namespace

FLAGS = {"k": "--recompute-k", "layers": "--recompute-layers", "budget": "--budget"}
"""The options of ``--recompute``, by the argument of ``memlab.recompute``."""

_SEARCHES = "dynamic, best or joint"

READ: dict[str, Callable[[str], Any]] = {
    "k": lambda text: count("k", text),
    "layers": lambda text: [name.strip() for name in text.split(",")],
    "budget": units.parse,
}
"""What turns their text into that argument."""


def built(options: Options) -> tuple[Network, Step]:
    """The network and its step, in the precision that was asked for."""
    import memlab

    sizes = {
        name: None if given is None else count(name, given)
        for name, given in (("image", options.image), ("classes", options.classes))
    }
    network = memlab.zoo.build(options.network, **sizes, variant=options.variant)
    return network, _stored(_step(network, options), options)


def planned(options: Options, batch: int | None = None) -> tuple[Network, Step, Ledger]:
    """The same after the techniques, in their order, and its plan; ``batch`` where it is known."""
    import memlab

    network, step = built(options)
    step = _recomputed(step, options, batch)
    step = _offloaded(step, options, batch)
    step = _accumulated(step, options)
    step = memlab.in_place(step) if options.in_place else step
    step = memlab.no_reuse(step) if options.no_reuse else step
    ledger = memlab.plan(step)
    _within(options, ledger, batch)
    return network, step, ledger


def asked(options: Options) -> dict[str, Any]:
    """The precision and the techniques that were asked for, for JSON."""
    how, given = options.recompute, _arguments(options)
    recompute = {
        "how": how,
        "k": given.get("k"),
        "layers": given.get("layers"),
        "budget_bytes": given.get("budget"),
    }
    return {
        "precision": options.precision,
        "recompute": recompute if how else None,
        "offload": options.offload,
        "prefetch": options.prefetch if options.offload else None,
        "offload_budget_bytes": units.parse(options.budget) if _searched(options) else None,
        "parts": 1 if options.accumulate is None else count("accumulate", options.accumulate),
        "in_place": options.in_place,
        "no_reuse": options.no_reuse,
    }


def timed(options: Options, step: Step, batch: int) -> tuple[dict[str, Any], str]:
    """Planned seconds for JSON and as text, where a machine or a link was asked for."""
    if options.machine is None and options.link is None:
        return {}, ""
    import memlab

    found = memlab.clock(step, batch, options.machine, options.link)
    facts = {
        "machine": found.machine,
        "link_bytes_per_second": found.link,
        "planned_seconds": found.seconds,
        "waiting_seconds": found.stalled(),
    }
    seconds = str(found).partition("\n")[2]
    return facts, f"\n\nplanned for {found.machine}\n{seconds}"


def ways_out(options: Options, network: Network, batch: int) -> Ways | None:
    """The ways out of a training step in fp32, where a card was asked for by its figures.

    Raises:
        InputError: a card or a link without such a device, or for another step.
    """
    from memlab.clocks import roofline
    from memlab.hardware import Device

    machine = None if options.machine is None else roofline.machine(options.machine)
    plain = not options.inference and options.precision is None and options.format == "fp32"
    if not isinstance(machine, Device) or not plain:
        if options.card is not None or options.link is not None:
            raise InputError(
                "ways out are planned for a training step in fp32 on a card by its figures; leave "
                "out --card and --link, or try memlab compare vgg16 --device 'titan x'."
            )
        return None
    import memlab

    optimizer = "momentum" if options.optimizer is None else options.optimizer
    given = {"device": machine, "link": options.link, "budget": options.card}
    return memlab.ways(network, batch, **given, optimizer=optimizer)


def fed(options: Options) -> tuple[Network, Step]:
    """The network and the step that a data path feeds: as it was asked for; on a card by its
    figures, in fp32 and not told otherwise, with implicit products and in place, as its view."""
    import memlab
    from memlab.clocks import roofline
    from memlab.hardware import Device

    network, step = built(options)
    machine = None if options.machine is None else roofline.machine(options.machine)
    if isinstance(machine, Device) and step.format == "fp32" and not step.notes:
        optimizer = step.optimizer or "sgd"
        if step.training:
            step = memlab.training_step(network, optimizer, algorithm="implicit-gemm")
        step = memlab.in_place(step)
    return network, step


def rate(given: str) -> str:
    """Bytes per second as text: a number alone is in GB/s."""
    return f"{given} GB/s" if given.strip().replace(".", "", 1).isdigit() else given


def count(what: str, given: str, least: int = 1) -> int:
    """A whole number of at least ``least`` with all its digits: 1e30 is 10^30.

    Raises:
        InputError: that is none, or too large.
    """
    try:
        number = Decimal(given)
        if number.copy_abs() > LARGEST:  # of 1e999999999 nobody writes the digits down
            number = Decimal(LARGEST + 1).copy_sign(number)
        exact = int(number) if number == number.to_integral_value() else given
    except ArithmeticError:  # no number, or NaN
        exact = given
    return whole(what, exact, least)


def _step(network: Network, options: Options) -> Step:
    import memlab

    if options.inference and options.optimizer is not None:
        raise InputError("inference has no optimizer; leave out --optimizer or --inference.")
    if options.inference:
        return memlab.inference_step(network, format=options.format)
    optimizer = "momentum" if options.optimizer is None else options.optimizer
    return memlab.training_step(network, optimizer=optimizer, format=options.format)


def _stored(step: Step, options: Options) -> Step:
    """The step in the precision that was asked for."""
    from memlab.techniques.precision import MODES, precision

    if options.precision is None:
        return step
    pick("precision", options.precision, MODES)
    if options.format != "fp32":
        raise InputError(
            f"precision starts from fp32, got {options.format}; leave out --format or --precision."
        )
    return precision(step, options.precision)


def _recomputed(step: Step, options: Options, batch: int | None) -> Step:
    """The step after the way to recompute that was asked for."""
    import memlab
    from memlab.techniques.recompute.ways import WAYS

    how, arguments = options.recompute, _arguments(options)
    if how is None:
        for name in arguments:
            also = f", or of --offload {_SEARCHES}" if name == "budget" else ""
            raise InputError(f"{FLAGS[name]} is of --recompute{also}; add that, or leave it out.")
        return step
    way = pick("way to recompute", how, WAYS)
    if options.inference:
        raise InputError(
            "inference keeps nothing that could be computed again; leave out --recompute or "
            "--inference."
        )
    _check(how, way, arguments)
    if "batch" in way.needs:
        if batch is None:
            raise InputError(
                f"--recompute {how} decides for one batch, and fit looks for that; try "
                "--recompute every, or memlab plan with a --batch."
            )
        arguments |= {"batch": batch, "in_place": options.in_place}
        if (machine := vars(options).get("machine")) is not None:
            arguments["device"] = machine
    return memlab.recompute(step, how, **arguments)


def _searched(options: Options) -> bool:
    """Whether the maps that go are those that a search finds."""
    if options.offload is None:
        return False
    from memlab.techniques.offload.joint import SEARCHES
    from memlab.techniques.offload.rules import POLICIES

    return known("policy", options.offload, (*POLICIES, *SEARCHES)) in SEARCHES


def _offloaded(step: Step, options: Options, batch: int | None) -> Step:
    """The step whose maps wait on the host, by the policy that was asked for."""
    import memlab

    policy, prefetch, link = options.offload, options.prefetch, vars(options).get("link")
    _check_offload(options, batch)
    given: dict[str, Any] = {} if prefetch is None else {"prefetch": prefetch}
    if policy is None:
        return step
    if not _searched(options):
        return memlab.offload(step, policy, **given)
    given |= {"batch": batch, "budget": units.parse(options.budget), "in_place": options.in_place}
    return memlab.offload(step, policy, device=vars(options).get("machine"), link=link, **given)


def _check_offload(options: Options, batch: int | None) -> None:
    """What has no meaning without a search, and what a search needs."""
    policy, given = options.offload, vars(options)
    said = ""
    if not _searched(options):
        if given.get("link") is not None and "machine" not in given:
            said = f"--link is of --offload {_SEARCHES}; add that, or leave it out."
        elif policy is None and options.prefetch is not None:
            said = "--prefetch is of --offload; add that, or leave it out."
        elif options.prefetch == "budget":
            said = f"--prefetch budget is of --offload {_SEARCHES}; try --prefetch needed."
    elif batch is None:
        said = (
            f"--offload {policy} decides for one batch, and fit looks for that; try --offload all, "
            "or memlab plan with a --batch."
        )
    elif options.budget is None:
        said = f"--offload {policy} needs a --budget, such as --budget '12 GB'."
    elif given.get("machine") is None and given.get("link") is None:
        said = f"--offload {policy} needs a --link, such as --link '12 GB/s'."
    if said:
        raise InputError(said)


def _accumulated(step: Step, options: Options) -> Step:
    """The step in as many parts as were asked for."""
    import memlab

    if options.accumulate is None:
        return step
    if options.inference:
        raise InputError(
            "inference has no gradients that could be added up; leave out --accumulate or "
            "--inference."
        )
    return memlab.accumulate(step, count("accumulate", options.accumulate))


def _within(options: Options, ledger: Ledger, batch: int | None) -> None:
    """A budget is of one part; the gradients of the parts before may not break it."""
    given = vars(options).get("budget")
    if options.accumulate is None or given is None or batch is None:
        return
    budget = units.parse(given)
    if (over := ledger.peak(batch) - budget) > 0:
        raise InputError(
            f"--budget is kept by one part, and with the gradients of the parts before it the peak "
            f"is {units.exact(over)} over {units.exact(budget)}; try a --budget of so much less, "
            "or a smaller batch."
        )


def _check(how: str, way: Way, arguments: dict[str, Any]) -> None:
    """Every way has its own options."""
    for name, flag in FLAGS.items():
        if name in way.needs and name not in arguments:
            raise InputError(f"--recompute {how} needs {flag}.")
        if name in arguments and name not in (*way.needs, *way.takes):
            raise InputError(f"--recompute {how} takes no {flag}; leave it out.")


def _arguments(options: Options) -> dict[str, Any]:
    """Those of ``memlab.recompute`` that were given; a search for maps to move has the budget."""
    given = {name: vars(options).get(name) for name in FLAGS}
    given |= {"budget": None} if _searched(options) else {}
    return {name: READ[name](text) for name, text in given.items() if text is not None}

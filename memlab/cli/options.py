"""From the options of the command line to a network, a step with its techniques, and its plan."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from memlab import units
from memlab.errors import LARGEST, InputError, whole_number
from memlab.techniques.registry import (
    Applied,
    Argument,
    ArgumentKind,
    Order,
    Technique,
    applied,
    techniques,
)

if TYPE_CHECKING:
    from memlab.ledger.ledger import Ledger
    from memlab.networks.graph import Network
    from memlab.pictures.remedies.remedies import Remedies
    from memlab.step.step import Step

Options = argparse.Namespace

WRITTEN = {
    ArgumentKind.COUNT: "4",
    ArgumentKind.NAMES: "relu1",
    ArgumentKind.BYTES: "'12 GB'",
    ArgumentKind.SPEED: "'12 GB/s'",
}
"""An argument of a kind as it is written, for instance; those of other kinds are known."""
KNOWN: dict[object, str] = {ArgumentKind.MACHINE: "machine", ArgumentKind.IN_PLACE: "in_place"}
"""The options of a command by the kind of the argument that they are of a technique, too."""
AT_A_BATCH = (ArgumentKind.BYTES, ArgumentKind.SPEED)
"""Kinds of arguments of what decides at a batch."""


def built(options: Options, batch: int | None = None) -> tuple[Network, Step]:
    """Return the network and its step after the requested techniques, in their order. ``batch`` is
    given where it is known."""
    import memlab

    sizes = {
        name: None if given is None else count(name, given)
        for name, given in (("image", options.image), ("classes", options.classes))
    }
    network = memlab.zoo.build(options.network, **sizes, variant=options.variant)
    network = _partly_frozen(network, options)
    step = _step(network, options)
    for rewrite in uses(options, batch):
        step = rewrite(step)
    return network, step


def planned(options: Options, batch: int | None = None) -> tuple[Network, Step, Ledger]:
    """Return the network, its step after the requested techniques, and the plan of that step."""
    import memlab

    network, step = built(options, batch)
    ledger = memlab.plan(step)
    _within(options, ledger, batch)
    return network, step, ledger


def asked(options: Options, batch: int | None = None) -> dict[str, Any]:
    """Return the requested techniques and their arguments, for JSON."""
    return {"techniques": {use.name: use.arguments for use in uses(options, batch)}}


def timed(options: Options, step: Step, batch: int) -> tuple[dict[str, Any], str]:
    """Return the planned seconds, for JSON and as text, where a machine or a link was requested."""
    if options.machine is None and options.link is None:
        return {}, ""
    import memlab

    schedule = memlab.clock(step, batch, options.machine, options.link)
    facts = {
        "machine": schedule.machine,
        "link_bytes_per_second": schedule.link,
        "planned_seconds": schedule.seconds,
        "waiting_seconds": schedule.stalled(),
    }
    seconds = str(schedule).partition("\n")[2]
    return facts, f"\n\nplanned for {schedule.machine}\n{seconds}"


def ways_out(options: Options, network: Network, batch: int) -> Remedies | None:
    """Return the remedies for a training step in fp32 on a small card, where a card was requested.

    Raises:
        InputError: a card or a link without such a device, or for another step.
    """
    from memlab.clocks import roofline
    from memlab.hardware import Device

    machine = None if options.machine is None else roofline.machine(options.machine)
    plain = not options.inference and options.format == "fp32" and not uses(options)
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
    return memlab.remedies(network, batch, **given, optimizer=optimizer)


def fed(options: Options) -> tuple[Network, Step]:
    """Return the network and the step that a data path feeds. On a card from the list, and unless
    the user chose otherwise, the step is in fp32, in place, with implicit convolutions, as in
    the view."""
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
    """Return bytes per second as text. A plain number is in GB/s."""
    return f"{given} GB/s" if given.strip().replace(".", "", 1).isdigit() else given


def count(what: str, given: str, least: int = 1) -> int:
    """Return a whole number of at least ``least``, exact to all digits: 1e30 is 10^30.

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
    return whole_number(what, exact, least)


def _partly_frozen(network: Network, options: Options) -> Network:
    """Return the network with the requested layers frozen, or with adapters."""
    import memlab

    if options.freeze is not None and options.lora is not None:
        raise InputError("--lora freezes all layers; leave out --freeze or --lora.")
    if options.lora is not None:
        return memlab.lora(network, count("rank", options.lora))
    return network if options.freeze is None else memlab.freeze(network, *_names(options.freeze))


def _step(network: Network, options: Options) -> Step:
    import memlab

    if options.inference and options.optimizer is not None:
        raise InputError("inference has no optimizer; leave out --optimizer or --inference.")
    if options.inference:
        return memlab.inference_step(network, format=options.format)
    optimizer = "momentum" if options.optimizer is None else options.optimizer
    return memlab.training_step(network, optimizer=optimizer, format=options.format)


def _within(options: Options, ledger: Ledger, batch: int | None) -> None:
    """Raise an error if the part does not fit into the budget. Gradients of earlier parts must also
    fit."""
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


# -- techniques ---------------------------------------------------------------------------------


def add_techniques(parser: Any, command: str) -> None:
    """Add the options of techniques to a parser: all of them where a step is planned, only those
    before recompute where it is compared or fed. ``lent`` are options that the command uses
    itself."""
    lent = []
    for row in techniques().values():
        later = row.place >= Order.RECOMPUTE and command not in ("plan", "run", "fit")
        if later or not row.built:
            continue
        given = {"action": "store_true"} if row.choice is None else _form(row.choice)
        parser.add_argument(_flag(row), help=_about(row.note, row.values), **given)
        for argument in row.more:
            unasked = isinstance(argument.values, ArgumentKind) and argument.values not in WRITTEN
            if unasked or (command == "fit" and argument.values in AT_A_BATCH):
                continue
            if not parser.knows(word := _flag(row, argument)):
                parser.add_argument(
                    word, help=_about(argument.about, argument.values), **_form(argument)
                )
                lent.append(word)
    parser.set_defaults(lent=lent)


def _flag(row: Technique, argument: Argument | None = None) -> str:
    """Return the option name of a technique, or of one of its arguments."""
    if argument and argument.option:
        return argument.option
    return "--" + f"{row.name}{f'-{argument.name}' if argument else ''}".replace("_", "-")


def _form(argument: Argument) -> dict[str, Any]:
    return {"metavar": argument.name.upper()}


def _about(note: str, values: tuple[str, ...] | ArgumentKind) -> str:
    """Text of ``--help`` for an option."""
    listed = f": {_one_of(values)}" if isinstance(values, tuple) and values else ""
    return (note + listed).replace("%", "%%")


def _one_of(values: Iterable[str]) -> str:
    *first, last = (f"'{value}'" if " " in value else value for value in values)
    return f"{', '.join(first)} or {last}"


def uses(options: Options, batch: int | None = None) -> list[Applied]:
    """Return the requested techniques with their arguments. An argument that several of them accept
    goes to the last of them.

    Raises:
        InputError: an argument that is missing, or belongs to nothing that was asked for.
    """
    given, applied_techniques = vars(options), list[Applied]()
    free = {word: given[_key(word)] for word in options.lent if given[_key(word)] is not None}
    chosen = [
        (row, given[row.name])
        for row in techniques().values()
        if given.get(row.name) not in (None, False)
    ]
    for row, value in reversed(chosen):
        applied_techniques.append(_use(row, value, options, batch, free))
    for word in free:
        raise _homeless(word, chosen)
    return applied_techniques[::-1]


def _use(
    row: Technique, value: Any, options: Options, batch: int | None, free: dict[str, str]
) -> Applied:
    """Return a technique with its arguments, and remove these from ``free``."""
    if options.inference and row.idle:
        raise InputError(f"inference {row.idle}; leave out {_flag(row)} or --inference.")
    needs, takes = row.takes(value)
    belongs = [argument for argument in row.more if argument.name in (*needs, *takes)]
    arguments = {argument.name: _value(row, argument, options, batch, free) for argument in belongs}
    for argument in belongs:
        if argument.name in needs and arguments[argument.name] is None:
            raise _missing(row, value, argument)
    choice = () if row.choice is None else (_read(row.choice, value),)
    return applied(row.name, *choice, **arguments)


def _value(
    row: Technique, argument: Argument, options: Options, batch: int | None, free: dict[str, str]
) -> Any:
    """Return the value of an argument: the requested one, or the one that the step implies."""
    given, word = vars(options), _flag(row, argument)
    if argument.values is ArgumentKind.BATCH:
        return batch
    if argument.values in KNOWN:
        return given.get(KNOWN[argument.values])
    text = free.pop(word, None) if word in options.lent else given.get(_key(word))
    return None if text is None else _read(argument, text)


def _key(word: str) -> str:
    return word.removeprefix("--").replace("-", "_")


def _read(argument: Argument, text: str) -> Any:
    """Return the value of an option's text, converted to the type of the argument."""
    if argument.values is ArgumentKind.COUNT:
        return count(argument.name, text)
    if argument.values is ArgumentKind.NAMES:
        return _names(text)
    return units.parse(text) if argument.values is ArgumentKind.BYTES else text


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _missing(row: Technique, value: str, argument: Argument) -> InputError:
    """Error for a choice that lacks an argument that it needs."""
    asked = f"{_flag(row)} {value}"
    if argument.values is ArgumentKind.BATCH:
        return InputError(
            f"{asked} decides for one batch, and fit looks for that; try {_flag(row)} {row.usual}, "
            "or memlab plan with a --batch."
        )
    word = _flag(row, argument)
    usual = (
        WRITTEN[argument.values]
        if isinstance(argument.values, ArgumentKind)
        else argument.values[0]
    )
    return InputError(f"{asked} needs {word}, such as {word} {usual}.")


def _homeless(word: str, chosen: Iterable[tuple[Technique, Any]]) -> InputError:
    """Return the error for an option that belongs to no requested technique."""
    owners = [(row, argument.name) for row in techniques().values() for argument in row.more
              if _flag(row, argument) == word]  # fmt: skip
    for row, value in chosen:
        if row in (owner for owner, _ in owners):
            return InputError(f"{_flag(row)} {value} takes no {word}; leave it out.")
    asked = ", or of ".join(_asked(row, name) for row, name in owners)
    return InputError(f"{word} is of {asked}; add that, or leave it out.")


def _asked(row: Technique, argument: str) -> str:
    """Return a technique as text, with the choices to which an argument belongs."""
    values = [
        v
        for v in row.values
        if argument in (argument for part in row.takes(v) for argument in part)
    ]
    every = len(values) == len(row.values)
    return _flag(row) if every else f"{_flag(row)} {_one_of(values)}"

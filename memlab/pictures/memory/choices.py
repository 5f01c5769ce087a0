"""Choices of the memory view about its step, and the step that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from memlab.errors import InputError, known, shorten
from memlab.formats import STORED
from memlab.ledger.ledger import Ledger
from memlab.networks import counting
from memlab.networks.graph import Network
from memlab.pictures.live import setting
from memlab.pictures.live.setting import Checkbox, Range, Select, Setting, State, once
from memlab.pictures.live.widget import Control, Labels
from memlab.pictures.memory.snapshot import text_of
from memlab.pictures.memory.step_memory import StepMemory
from memlab.pictures.values import step_recipe
from memlab.pictures.values.step_recipe import Called, StepRecipe, network_of, sizes_of
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.strings import gettext as _
from memlab.techniques.recompute import segments
from memlab.techniques.recompute.step_as_chain import cuts
from memlab.techniques.registry import Applied, applied, techniques

SIDES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
IMAGES = (32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512)
KS = (*range(1, 11), 12, 16, 20, 24, 32, 48, 64)
DEEPEST, WIDEST = 96, 4096
"""The largest depth, and size of a layer or an image, that is drawn."""
OWN = ("precision", "eight_bit_states", "lowering", "recompute")
"""Techniques whose settings are the view's own."""
BY_ROW = tuple(name for name, row in techniques().items()
                if row.built and name not in OWN and (row.values or not row.choice))  # fmt: skip
"""All others that have a list of values, or are done or not: each has a setting."""
CHOSEN = ("batch", "image", "depth", "inputs", "outputs", "optimizer", "training", "format",
          "algorithm", "recompute", "k", "budget", *BY_ROW)  # fmt: skip
"""What a function that makes a step may take."""
ROLES = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE, Role.FEATURE_MAP,
         Role.GRADIENT_MAP)  # fmt: skip
EIGHT_BITS = "8 bits"
"""Of the optimizer's state, in blocks with a scale each (``memlab.eight_bit_states``)."""


# -- what is shown ---------------------------------------------------------------------------------


def what_of(given: object) -> Network | Step | Ledger | Callable[..., object]:
    """Return what a view shows: a network of the zoo for its name, or the given network, step,
    ledger, or function that makes a step from settings.

    Raises:
        InputError: it is none of them, or a function that takes something else.
    """
    if isinstance(given, str):
        return network_of(given)
    if isinstance(given, Network | Step | Ledger):
        return given
    if callable(given) and not isinstance(given, type):
        step_recipe.arguments(given, CHOSEN)
        return given
    raise InputError(
        _("give a network, a step, a ledger or a function that makes a step, got {given}; try "
          "'vgg16'.", given=shorten(given))
    )  # fmt: skip


def up_to_largest(stops: Sequence[int]) -> Callable[[State], tuple[int, ...]]:
    """Return a function that returns the stops of a slider up to the view's largest."""
    return lambda now: tuple(stop for stop in stops if now.largest is None or stop <= now.largest)


def of_network(now: State) -> bool:
    """True if a network is shown, and not a finished step."""
    return isinstance(now.what, Network)


@once
def taken(now: State) -> Mapping[str, Any]:
    """Return the settings that the step depends on, with the defaults of the function that makes
    it."""
    if of_network(now):
        return dict.fromkeys(CHOSEN)
    given_step = isinstance(now.what, Step | Ledger)
    return {} if given_step else step_recipe.arguments(now.what, CHOSEN)


@once
def network_in(now: State) -> Network:
    """Return the network with the chosen sizes, or as it was given if these are its own."""
    network: Network = now.what
    own = sizes_of(network)
    chosen = {name: getattr(now, name) for name in own}
    return network if chosen == own else network_of(network.name, **chosen)


@once
def memory_of(now: State) -> StepMemory:
    """Return the memory of the step that the settings make, or of the given step."""
    if isinstance(now.what, Step | Ledger):
        return step_recipe.memory_of(now.what)
    if not of_network(now):
        return step_recipe.memory_of(
            Called(now.what, {name: getattr(now, name) for name in taken(now)})
        )
    formats = {role: getattr(now, role) for role in map(str, ROLES)}
    roles = tuple(
        (role, number_format)
        for role, number_format in formats.items()
        if number_format not in ("", EIGHT_BITS)
    )
    choices = network_in(now), now.optimizer, now.training, now.format, roles, now.algorithm
    return step_recipe.memory_of(StepRecipe(*choices, tuple(uses_in(now))))


def uses_in(now: State) -> Iterator[Applied]:
    """Yield the chosen techniques, except formats and the algorithm of convolutions."""
    if now.optimizer_state == EIGHT_BITS:
        yield applied("eight_bit_states")
    if now.recompute:
        needs = {"every": ("k",), "chain": ("batch", "budget")}.get(now.recompute, ())
        yield applied("recompute", now.recompute, **{name: getattr(now, name) for name in needs})
    for name in BY_ROW:
        if value := getattr(now, name):
            yield applied(name, *((value,) if techniques()[name].choice else ()))


def root(now: State) -> int:
    """Return the k of the square-root rule: the root of the number of stages."""
    return _root(memory_of(now.replace(recompute="", in_place=False))) if of_network(now) else 1


@lru_cache(maxsize=8)
def _root(memory: StepMemory) -> int:
    return 1 if memory.step is None else segments.root(len(cuts(memory.step).parts))


@once
def networks_of(now: State) -> tuple[str, ...]:
    """Return the names of the networks to choose from, with the one that the view was made for."""
    if not isinstance(now.own, Network):
        return ()
    names: tuple[str, ...] = now.networks
    return names if now.own.name in names else (now.own.name, *names)


def find(now: State, name: str) -> Network:
    """Return a network by its name. The view's own network is returned as it was given."""
    own: Network = now.own
    return own if name == own.name else network_of(name)


@cache
def _title(name: str) -> str:
    return network_of(name).title


def rules_of(now: State) -> dict[str, str]:
    """Return the counting rules with their titles, and the choice of none."""
    return {"": text_of("no_rule")} | {
        rule.name: rule.title for rule in counting.CONVENTIONS.values()
    }


def label(now: State) -> str:
    """Return the name of what is shown."""
    return now.what.label if of_network(now) else memory_of(now).label


# -- kinds of settings -----------------------------------------------------------------------------


class NetworkChoice(Select[Any]):
    """Setting for the network, by its name or as an object."""

    def allowed(self, given: Any, now: State) -> Any:
        if isinstance(given, Network):
            return given
        return find(now, known("network", given, networks_of(now)))

    def controls(self, now: State, labels: Labels) -> list[Control]:
        names = networks_of(now)
        if len(names) < 2:
            return []
        options = tuple((n, now.own.title if n == now.own.name else _title(n)) for n in names)
        place = setting.resolve(self.place, now)
        return [Control("select", self.name, labels(self.name), now.what.name, place, options)]


class VariantChoice(Select[str]):
    """Setting for the published variant, where a network has several."""

    def allowed(self, given: Any, now: State) -> str:
        if "variant" not in size_names(now):
            raise InputError(
                _("{name} has no variants; leave variant as it is.", name=label(now))
            )  # fmt: skip
        return super().allowed(given, now)


class Detail(Select[str]):
    """Level of detail, as a checkbox."""

    def read(self, event: str, value: Any, now: State) -> str:
        return "all" if value is True else "first"

    def controls(self, now: State, labels: Labels) -> list[Control]:
        return [Control("checkbox", self.name, labels(self.name), now.detail == "all")]


@once
def size_names(now: State) -> Mapping[str, Any]:
    """Return the sizes that can be chosen, with their values in the network as it was given."""
    if of_network(now):
        return sizes_of(now.what)
    return {name: value for name, value in taken(now).items() if name in step_recipe.SIZES}


def placed(name: str) -> Callable[[State], str]:
    """Return where a control is shown: in front if the view asks for it, else behind the
    disclosure."""
    return lambda now: "main" if name in now.control else "more"


class NetworkSize(Range):
    """Setting for a size of a network, where the network has that size."""

    def allowed(self, given: Any, now: State) -> int:
        if self.name not in size_names(now):
            raise InputError(
                _("{name} has no {what}; leave it as it is.", name=label(now), what=self.name)
            )  # fmt: skip
        return super().allowed(given, now)


def size(
    name: str,
    stops: Sequence[int] | Callable[[State], Sequence[int]],
    usual: int,
    most: int,
    doc: str,
) -> Range:
    """Return the setting for a size of the networks of the zoo."""

    def first(now: State) -> Any:
        return size_names(now).get(name) or usual

    def moved(now: State) -> bool:
        return bool(getattr(now, name) != first(now))

    def brief(now: State) -> str:
        return text_of(f"chosen.size.{name}", value=getattr(now, name)) if moved(now) else ""

    return NetworkSize(
        1, most, doc=doc, stops=stops, box=True, follows=["what"], place=placed(name), code=moved,
        default=first,
        when=lambda now: name in size_names(now), brief=brief,
    )  # fmt: skip


def stored(role: Role) -> Select[str]:
    """Return the setting for the format of one role."""
    more = (EIGHT_BITS,) if role is Role.OPTIMIZER_STATE else ()
    name = role.value.replace("_", " ")
    name = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    return Select(
        lambda now: {"": text_of("as_format")} | {stage: stage for stage in (*STORED, *more)},
        doc=f"of {name}, where that is another one: ``{STORED[-1]!r}``",
        default="", what=f"format of {name}", when=of_network, place=placed(role.value),
        brief=lambda now: "",
    )  # fmt: skip


def technique(name: str) -> dict[str, Any]:
    """Arguments that the settings of a technique have in common."""
    return {"place": placed(name), "when": lambda now: name in taken(now)}


def offered(name: str) -> Setting[Any]:
    """Return the setting for a technique, made from its entry in the registry."""
    row = techniques()[name]
    free = [value for value in row.values if not row.takes(value).needs]
    common = technique(name) | {
        "doc": f"{row.note} (``memlab.{name}``)",
        "label": row.label[0].upper() + row.label[1:],
        "brief": lambda now: " ".join(
            step_recipe.chosen(u) for u in uses_in(now) if u.name == name
        ),
    }
    if not row.values:
        return Checkbox(**common)
    return Select({"": text_of("off")} | {value: value for value in free}, default="", **common)

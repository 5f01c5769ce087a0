"""The published table: every claim that memlab teaches, and what comes out when it is computed.

The rows stand in ``claims.toml``. A row's ``call`` is evaluated as it is printed, so a reader can
paste it after ``import memlab``; the verdict compares the result with the figure as it was claimed,
to the digits that were printed. Docstrings and lessons cite the ids.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import cache
from importlib.resources import files
from math import prod
from typing import Any

import memlab
from memlab import units
from memlab.errors import InputError, shorten
from memlab.networks import transformers as transformers
from memlab.networks.graph import Network
from memlab.networks.layers import Conv2d
from memlab.planner import slots as slots
from memlab.step.published import chen2016 as chen2016
from memlab.step.step import Step
from memlab.step.tensor import Role

SCALES: dict[str, int | Decimal] = {
    **units.UNITS,
    "KB": 1000,
    "M": 10**6,
    "%": Decimal("0.01"),
    "": 1,
}
"""The units of claimed figures, in units of the computed ones."""
TWINS = {"kB": "KiB", "KB": "KiB", "MB": "MiB", "GB": "GiB"}
"""What a text may have meant by a decimal unit."""


@dataclass(frozen=True)
class Claim:
    """One figure: who says it, how it is computed, what comes out.

    ``folk`` says where the popular text is wrong, ``sure`` how the row was checked. ``computed``
    is in ``unit``; ``claimed`` is the printed figure with its own unit.
    """

    id: str
    claim: str
    source: str
    sure: str
    call: str
    unit: str
    folk: str = ""
    claimed: str = ""
    computed: int | float = field(init=False)
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        value = eval(self.call, {"memlab": memlab})
        object.__setattr__(self, "computed", value)
        object.__setattr__(self, "verdict", verdict(self.claimed, value))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @property
    def result(self) -> str:
        """The computed value with its unit, bytes both ways."""
        if self.unit == "B":
            return f"{units.exact(int(self.computed))} = {units.both(int(self.computed))}"
        if self.unit == "share":
            return f"{100 * self.computed:.1f} %"
        number = f"{self.computed:,}" if isinstance(self.computed, int) else f"{self.computed:.4g}"
        return f"{number} {self.unit}"


def table() -> list[Claim]:
    """All claims, in the order of their ids."""
    return [_claim(id) for id in _rows()]


def find(id: str) -> list[Claim]:
    """The claims of that id, or of the row that it names: ``'A4'`` gives all of A4.

    Raises:
        InputError: there is none.
    """
    found = [name for name in _rows() if name == id or name.startswith(f"{id}.")]
    if not found:
        heads = dict.fromkeys(name.partition(".")[0] for name in _rows())
        raise InputError(f"no claim {shorten(id)}; the rows are {', '.join(heads)}.")
    return [_claim(name) for name in found]


def verdict(claimed: str, computed: int | float) -> str:
    """Whether a computed value is what was claimed, to the printed digits.

    >>> verdict("25 MB", 26_561_576)
    'right if MB means MiB'
    """
    relation, number, unit = _parse(claimed)
    if _holds(relation, number, unit, computed):
        return "right"
    twin = TWINS.get(unit, "")
    if twin and _holds(relation, number, twin, computed):
        return f"right if {unit} means {twin}"
    return "differs"


def copies(optimizer: str) -> int:
    """How many arrays as large as the parameters a step holds: they, gradients, state (B1)."""
    step = memlab.training_step(memlab.zoo.mnist_cnn(), optimizer).keep("gradients")
    held = sum(t.size.fixed for t in step.live_out if t.role in _OF_PARAMETERS)
    return held // (4 * memlab.zoo.mnist_cnn().parameters)


def gradient_copies(network: str, batch: int) -> int:
    """How many copies of the parameters their gradients take in a planned step (B5)."""
    net = memlab.zoo.build(network)
    ledger = memlab.plan(memlab.training_step(net))
    sizes = (e.size for e in ledger.entries if e.role is Role.PARAMETER_GRADIENT)
    return sum(size.at(batch) for size in sizes) // (4 * net.parameters)


def maps_over_bound(network: str, batch: int) -> float:
    """Feature and gradient maps at the planned peak, over the bound 2 A B (B1)."""
    net = memlab.zoo.build(network)
    bound = 2 * 4 * batch * memlab.counting.find("everything").values(net)
    return maps(memlab.training_step(net), batch) / bound


def maps(step: Step, batch: int) -> int:
    """Bytes of the feature and gradient maps at the planned peak of a step (A9)."""
    roles = memlab.plan(step).roles(batch)
    return roles[Role.FEATURE_MAP] + roles[Role.GRADIENT_MAP]


def times_less(step: Step, other: Step, batch: int) -> float:
    """How many times the planned peak of one step takes that of another, both in place (A10)."""
    one, two = (memlab.plan(memlab.in_place(each)).peak(batch) for each in (step, other))
    return one / two


def extra_work(step: Step, other: Step, batch: int) -> float:
    """The share by which another step computes more: sums, products and the like (A11, E1)."""
    one, two = (sum(op.flops.at(batch) for op in each.ops) for each in (step, other))
    return two / one - 1


def walked(network: Network) -> int:
    """What a walk with counters does for a training step: one thing for each tensor that an
    operation touches, and for each block that is taken or given back (D1)."""
    step = memlab.training_step(network)
    touched = sum(1 for op in step.ops for _ in op.touched())
    return touched + sum(1 for _ in memlab.plan(step).events(1))


def overwriting(step: Step, kind: str) -> int:
    """How many operations of a kind write over what they read (D1)."""
    pairs = ((op.reads["x"], op.writes["y"]) for op in step.ops if op.kind == kind)
    return sum(x.storage == y.storage for x, y in pairs)


def share(network: str, batch: int, *parts: str) -> float:
    """The share of some parts in a network's memory, under the counting of vDNN (C2, C9)."""
    total = memlab.counting.find("vdnn").total_bytes(memlab.zoo.build(network), batch)
    return sum(total[part] for part in parts) / sum(total.values())


def lowered_bytes(network: str, batch: int) -> int:
    """Bytes of every convolution's lowered input together: k² Ho Wo values for each channel and
    image, those of 1x1 windows counted too (A7, A8)."""
    return 4 * batch * sum(c * k * k * h * w for c, k, h, w in _lowered(network))


def lowered_factor(network: str, layer: str = "") -> float:
    """How many times its input a convolution's lowered copy takes, or all those of a network
    together take their inputs (A8)."""
    made = memlab.zoo.build(network)
    nodes = [made.by_name[layer]] if layer else [n for n in made.nodes if n.kind == "conv2d"]
    inputs = sum(c * h * w for c, h, w in (node.input_shapes[0] for node in nodes))
    return sum(c * k * k * h * w for c, k, h, w in _lowered(network, layer)) / inputs


def least_columns(network: str, batch: int) -> int:
    """Columns of the smallest matrix that a convolution of a network is lowered to: an output place
    of a sample each (A6)."""
    return batch * min(height * width for _, _, height, width in _lowered(network))


def per_parameter(step: Step, *roles: Role | str) -> float:
    """Bytes that a step holds for each value that it learns: of some roles, or of parameters,
    their gradients and the optimizer's state (F1, F3)."""
    held = step.keep("gradients").live_out
    learned = sum(prod(t.shape(1)) for t in held if t.role is Role.PARAMETER)
    return sum(t.size.fixed for t in held if t.role in (roles or _OF_PARAMETERS)) / learned


def mask_share(network: str, layer: str) -> float:
    """Bytes of the mask that a ReLU's backward reads, over those of the map that it read (F6)."""
    step = memlab.relu_masks(memlab.training_step(memlab.zoo.build(network)))
    written = next(op.writes for op in step.ops if op.layer == layer and "mask" in op.writes)
    return written["mask"].size.at(1) / written["y"].size.at(1)


def stored_winograd(network: str, layer: str, batch: int) -> int:
    """Bytes of Winograd's F(4x4, 3x3) with every transform in memory: 36 values for each kernel,
    and for each tile of 4x4 outputs and each channel on either side (G6)."""
    node = memlab.zoo.build(network).by_name[layer]
    (c, *_), (k, height, width) = node.input_shapes[0], node.shape
    tiles = -(-height // 4) * -(-width // 4)
    return 4 * 36 * (k * c + batch * tiles * (c + k))


def indirection(network: str, layer: str) -> int:
    """Bytes of an indirection buffer: a pointer for each tap of each output place (G9)."""
    node = memlab.zoo.build(network).by_name[layer]
    assert isinstance(node.layer, Conv2d)
    _, height, width = node.shape
    return 8 * node.layer.kernel**2 * height * width


def _lowered(network: str, layer: str = "") -> Iterator[tuple[int, int, int, int]]:
    """Channels, kernel, and rows and columns of the output, of each convolution."""
    for node in memlab.zoo.build(network).nodes:
        if isinstance(node.layer, Conv2d) and layer in ("", node.name):
            _, height, width = node.shape
            yield node.input_shapes[0][0], node.layer.kernel, height, width


_OF_PARAMETERS = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)


@cache
def _rows() -> dict[str, dict[str, str]]:
    text = files("memlab").joinpath("claims.toml").read_text(encoding="utf-8")
    return {row["id"]: row for row in tomllib.loads(text)["claim"]}


@cache
def _claim(id: str) -> Claim:
    return Claim(**_rows()[id])


def _parse(claimed: str) -> tuple[str, Decimal, str]:
    """``'over 2 GB'`` is ``('over', 2, 'GB')``; without a word the figure is meant as it stands."""
    words = claimed.split()
    relation = words.pop(0) if words[0] in ("over", "under") else ""
    return relation, Decimal(words[0]), words[1] if len(words) > 1 else ""


def _holds(relation: str, number: Decimal, unit: str, computed: int | float) -> bool:
    value = Decimal(str(computed)) / SCALES[unit]
    if relation == "over":
        return value > number
    if relation == "under":
        return value < number
    return value.quantize(number) == number

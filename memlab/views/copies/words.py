"""The sentences of the shifted copies, for the picture and for its text."""

from __future__ import annotations

from fractions import Fraction

from memlab import strings, units
from memlab.devices import DEVICES
from memlab.kernels.indices import source
from memlab.studies.memory import Verdict
from memlab.views import amounts
from memlab.views.copies import layer as layers
from memlab.views.copies.layer import amount
from memlab.views.copies.rows import RULER, Pin, Rows
from memlab.views.copies.state import State
from memlab.views.copies.windows import SIZE


def say(key: str, /, **values: object) -> str:
    """A text of this view."""
    return strings.get(f"copies.{key}", **values)


def times(ratio: Fraction) -> str:
    """A factor with two decimals if it has less than four digits, or as a part: ``'9.00'``,
    ``'7,225'``, ``'1/14,867'``."""
    if 0 < ratio < Fraction(1, 100):
        return f"1/{round(1 / ratio):,}"
    return f"{float(ratio):,.{2 if ratio < 1000 else 0}f}"


# -- what is shown --------------------------------------------------------------------------------


def kernel(k: int) -> str:
    """``'3 × 3'``."""
    return say("kernel", k=k)


def pad(name: str) -> str:
    """``'same padding'``."""
    return say("same" if name == "same" else "none")


def layer(state: State) -> str:
    """The real layer: ``'VGG-16 conv1_2'``, and that it is made up where it is."""
    name = f"{state.network.title} {state.layer}"
    return say("made_up", layer=name) if state.made_up else name


def title(state: State) -> str:
    """Layer, kernel, stride, padding, batch, and how much is lowered at once."""
    settings = (
        kernel(state.k),
        say("stride", stride=state.stride),
        pad(state.pad),
        say("batch", batch=f"{state.batch:,}"),
        say(f"kept.{state.how if state.count else 'direct'}"),
    )
    return say("title", layer=layer(state), settings=", ".join(settings))


def formula(rows: Rows) -> str:
    """The bytes in symbols and in numbers; empty where there are none."""
    if not rows.count:
        return ""
    values = {"symbols": rows.workspace.formula(), "total": units.exact(rows.total)}
    return say("twin.formula", numbers=rows.workspace.formula(rows.state.batch), **values)


def factor(rows: Rows, key: str = "head.factor") -> str:
    """k² Ho Wo / (H W) in symbols, in numbers, and its value."""
    exact = (100 * rows.factor).denominator == 1
    value = f"{'=' if exact else '≈'} {times(rows.factor)}"
    return say(key, symbols="k²·Ho·Wo / (H·W)", numbers=ratio(rows), value=value)


def ratio(rows: Rows) -> str:
    """``'3²·222·222 / (224·224)'``."""
    _, height, width = rows.node.input_shapes[0]
    _, down, across = rows.node.shape
    return f"{rows.state.k}²·{down}·{across} / ({height}·{width})"


def simple(rows: Rows) -> str:
    """``'3²/1²'`` where the factor is that; else the product in numbers."""
    k, stride = rows.state.k, rows.state.stride
    return f"{k}²/{stride}²" if rows.factor == Fraction(k * k, stride * stride) else ratio(rows)


def shift(rows: Rows, index: int) -> str:
    """How copy ``index`` differs from the picture."""
    state = rows.state
    down, right = (-source(0, at, state.stride, rows.rim, 1) for at in divmod(index, state.k))
    ways = [
        say("shift." + (forth if n > 0 else back), n=abs(n))
        for n, forth, back in ((down, "down", "up"), (right, "right", "left"))
        if n
    ]
    moved = say("shift.and").join(ways)
    if state.stride > 1:
        key = "shift.every_moved" if ways else "shift.every"
        return say(key, stride=state.stride, ways=moved)
    return say("shift.moved", ways=moved) if ways else say("shift.unshifted")


def found(rows: Rows) -> str:
    """What the small picture shows: a finding, not a topic."""
    if not rows.count:
        return say("found.pointwise" if rows.pointwise else "found.direct")
    if not rows.step:
        return say("found.nothing")
    if rows.step == rows.count:
        return _all(rows)
    ky, kx = divmod(rows.step - 1, rows.state.k)
    return say("found.copy", number=rows.step, count=rows.count, ky=ky, kx=kx,
               shift=shift(rows, rows.step - 1))  # fmt: skip


def _all(rows: Rows) -> str:
    """All copies are there."""
    state, places = rows.state, rows.lowered.places
    if rows.tiled:
        return say("found.tile", kernel=kernel(state.k), places=places, all=places**2)
    values = {"kernel": kernel(state.k), "count": rows.count, "places": places, "size": SIZE}
    if state.k == 1 and state.stride == 1:
        return say("found.one", shift=shift(rows, 0), **values)
    if places == SIZE:
        return say("found.all", **values)
    if state.pad == "none" and state.k > 1:
        return say("found.none", **values)
    part = layers.part(Fraction(places**2, SIZE**2))
    return say("found.stride", stride=state.stride, part=part, **values)


def beyond(rows: Rows) -> str:
    """How far the bar goes beyond the ruler; empty where it ends on it."""
    if rows.total <= RULER.end:
        return ""
    ratio = times(Fraction(rows.total, RULER.end))
    return say("ruler.beyond", total=amount(rows.total), times=ratio, ruler=RULER.title)


# -- budgets --------------------------------------------------------------------------------------


def hundredths(nbytes: int) -> str:
    """With two decimals: what is free changes too fast for more."""
    return units.in_unit(nbytes, amounts.unit_of(nbytes), 2)


def verdict(found: Verdict, rows: Rows) -> tuple[str, bool]:
    """Whether a budget holds the copy and what it would hold; True where it is refused."""
    live, largest = found.budget.live, found.largest
    if found.fits:
        key = "always" if largest is None else "fits"
    else:
        key = "refused" if largest else "none"
    return say(
        f"verdict.{'live_' if live else ''}{key}",
        name=card(found.budget.name),
        free=hundredths(found.budget.nbytes),
        need=amount(rows.total),
        largest=f"{largest:,}" if largest is not None else "",
    ), not found.fits


def verdicts(rows: Rows) -> list[tuple[str, bool]]:
    """All of them; nothing is refused that needs nothing."""
    return [verdict(found, rows) for found in rows.verdicts] if rows.total else []


def card(name: str) -> str:
    """A budget with the year of its machine, where it is one."""
    year = DEVICES[name].model.rpartition(", ")[2] if name in DEVICES else ""
    return say("ruler.card", name=name, year=year) if year else name


# -- pins -----------------------------------------------------------------------------------------


def pinned(rows: Rows, pin: Pin) -> list[str]:
    """What is pinned, in sentences."""
    where = {"row": pin.row + 1, "column": pin.column + 1}
    if pin.is_place:
        number = pin.row * rows.lowered.places + pin.column + 1
        values = len(pin.stands) - pin.zeros
        name = kernel(rows.state.k)
        return [
            say("pin.place", number=number, kernel=name, **where),
            say("pin.holds", values=values, zeros=pin.zeros),
        ]
    count, so_far = len(pin.stands), len(pin.until(rows.step))
    key = {0: "pin.pixel_never", 1: "pin.pixel_once"}.get(count, "pin.pixel")
    lines = [say(key, count=count, **where)]
    if so_far < count and rows.count:
        lines.append(say("pin.so_far", written=so_far))
    return lines


def pins(rows: Rows) -> str:
    """The same in one line."""
    return " ".join(pinned(rows, rows.pin)) if rows.pin else ""


def done(state: State) -> str:
    """What was written for real; the time only where it was a moment ago."""
    if state.done is None:
        return ""
    if not state.done.planned:
        return f"{state.done!r}."
    key = "write.ms" if state.done.seconds else "write.image"
    return say(key, ms=state.done.ms, done=repr(state.done))


def spoken(rows: Rows) -> str:
    """What a screen reader hears after a change."""
    if not rows.count:
        return f"{found(rows)}. {units.exact(rows.total)}."
    counter = say("head.counter", step=rows.step, count=rows.count)
    refused = [text for text, bad in verdicts(rows) if bad]
    whole = say("head.of", total=amount(rows.total))
    factor = say("head.times", now=times(rows.now)) + say("head.input")
    news = f"{found(rows)}. {counter}: {amount(rows.written)} {whole}, {factor}."
    return " ".join([news, *refused])


# -- beside the copies ----------------------------------------------------------------------------


def tally(rows: Rows) -> list[tuple[str, str]]:
    """Values and zeros that are written, each with the kinds of its cells."""
    values = [("#.", say("panel.values", values=f"{rows.values:,}"))]
    zeros = say("panel.zeros", zeros=f"{rows.zeros:,}") if rows.rim else say("panel.no_zeros")
    return [*values, ("0", zeros)]


def why(rows: Rows) -> str:
    """Why the small picture has another factor than the layer; empty where it has the same."""
    if times(rows.covered) == times(rows.now):
        return ""
    if rows.tiled:
        return say("panel.part")
    if rows.workspace.name == "im2col-image" and rows.state.batch > 1:
        return say("panel.image", batch=f"{rows.state.batch:,}")
    inside = Fraction(rows.step, rows.state.stride**2)
    more = abs(rows.covered - inside) > abs(rows.now - inside)
    return say("panel.more" if more else "panel.less")


def published(rows: Rows) -> str:
    """The network; where the layer is made up, that the network is not."""
    name = rows.state.network.label
    return say("strip.itself", network=name) if rows.state.made_up else name


def notes(rows: Rows) -> list[tuple[str, bool]]:
    """What is pinned, else what is special here; True for bold."""
    if rows.pin and rows.count:
        first, *others = pinned(rows, rows.pin)
        return [(first, True), *((line, False) for line in others)]
    if rows.tiled:
        tile = dict(rows.workspace.parts[0].axes)["tile"]
        real = rows.node.shape[1] * rows.node.shape[2]
        places = rows.lowered.places
        return [(say("panel.tile", drawn=places, places=places**2, tile=tile, real=f"{real:,}"),
                 False)]  # fmt: skip
    return []

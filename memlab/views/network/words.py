"""The sentences of the network-memory view, for the picture and for its text."""

from __future__ import annotations

from fractions import Fraction

from memlab import strings, units
from memlab.step.rules import UPDATES
from memlab.views import amounts
from memlab.views.network.rows import BlockRow, Rows, Verdict
from memlab.views.network.state import Budget, State
from memlab.views.network.tally import tally


def get(key: str, **values: object) -> str:
    """A text of this view."""
    return strings.get(f"network.{key}", **values)


def sample(state: State) -> str:
    """What a batch is made of, in one word."""
    return get("image" if state.source.of_images else "sample")


def title(state: State) -> str:
    """What is shown: ``'ResNet-50 v1, batch 32, fp32, SGD with momentum, training'``; of a ledger
    alone also what techniques have noted."""
    ledger = state.source.ledger
    parts = [state.source.label, get("batch", batch=f"{state.batch:,}"), state.source.format]
    notes = () if state.network else ledger.notes
    return ", ".join(filter(None, [*parts, optimizer(ledger.optimizer), step(state), *notes]))


def optimizer(name: str, short: bool = False) -> str:
    """Its name as people write it."""
    return strings.get(f"optimizer.{'short.' if short else ''}{name}") if name in UPDATES else name


def step(state: State) -> str:
    """Training or inference."""
    return strings.get("step.training" if state.source.ledger.training else "step.inference")


def equation(rows: Rows) -> tuple[str, str, str]:
    """The peak, the same in binary units, and its two parts: they add up as written."""
    total, parts = amounts.sum_of(rows.peak.nbytes, [rows.peak_floor, rows.peak_mountain])
    right = get("equation", floor=parts[0], mountain=parts[1], unit=total.split()[-1])
    return get("headline", peak=total), amounts.binary(rows.peak.nbytes), right


def peak(rows: Rows) -> str:
    """The peak with its unit, as the equation writes it."""
    return amounts.sum_of(rows.peak.nbytes, [rows.peak_floor, rows.peak_mountain])[0]


def flag(rows: Rows) -> tuple[str, str]:
    """The two halves of the text at the flag."""
    return get("peak", peak=peak(rows)), get(
        "flag",
        index=f"{rows.peak.index + 1:,}",
        count=f"{rows.source.operations:,}",
        name=rows.peak.row.name,
    )


def cursor(rows: Rows) -> str:
    """The operation of the cursor."""
    row = rows.source.ledger.rows[rows.at]
    return get(
        "cursor",
        index=f"{rows.at + 1:,}",
        count=f"{rows.source.operations:,}",
        phase=strings.get(f"phase.{row.phase}"),
        name=row.name,
    )


def news(rows: Rows) -> str:
    """What the last change did to the peak; without one, what a sample adds."""
    before, state = rows.before, rows.state
    if state.rule and before is None:
        found = tally(rows)
        values = {"counted": units.short(found.chosen.nbytes), "all": units.short(found.nbytes)}
        return get("counted.news", **values)
    if before is None:
        return get("per_sample", sample=sample(state), mountain=units.short(rows.peak_each))
    parts = "" if before.source is rows.source else f" {_parts(before, rows)}"
    return f"{_cause(before.state, state)} {_effect(before, rows)}{parts}"


def before(rows: Rows) -> str:
    """What the dashed outline is."""
    assert rows.before is not None
    old, new = _differences(rows.before.state, rows.state)
    return get("change.before", what=old or new, peak=peak(rows.before))


def axis_note(rows: Rows) -> str:
    """That the axis stays during a drag, or that it has changed."""
    now, was = rows.scales.plot, rows.state.was
    if rows.state.dragging:
        return get("stays")
    return get("snapped", end=now.title, old=was.title) if was and was != now else ""


def verdict(found: Verdict, rows: Rows) -> tuple[str, bool]:
    """Whether a budget holds the peak and what it would hold; True where it is refused."""
    live, largest = found.budget.live, found.largest
    values = {
        "name": found.budget.name,
        "free": _hundredths(found.budget.nbytes),
        "peak": peak(rows),
        "largest": "" if largest is None else f"{largest:,}",
    }
    if found.fits:
        key = "always" if largest is None else "fits"
    else:
        key = "refused" if largest else "none"
    return get(f"budget.{'live_' if live else ''}{key}", **values), not found.fits


def budget_line(budget: Budget) -> str:
    """The name of a budget at its line; what is free here comes with its amount."""
    return get("budget.live", amount=_hundredths(budget.nbytes)) if budget.live else budget.name


def _hundredths(nbytes: int) -> str:
    """With two decimals: what is free changes too fast for three."""
    return units.in_unit(nbytes, amounts.unit_of(nbytes), 2)


def span(block: BlockRow) -> str:
    """When a block is alive, in few words."""
    if not block.first and not block.last:
        return get("largest.always")
    if not block.first:
        return get("largest.from_before", last=f"{block.last:,}")
    if not block.last:
        return get("largest.until_after", first=f"{block.first:,}")
    return get("largest.span", first=f"{block.first:,}", last=f"{block.last:,}")


def life(block: BlockRow) -> str:
    """Who made a block and who waits for it."""
    key = ("made" if block.first else "before") + ("_needed" if block.last else "_stays")
    key = {"made_needed": "made"}.get(key, key)
    return get(f"largest.{key}", name=block.name, made=block.made, needed=block.needed)


def _cause(old: State, new: State) -> str:
    """Which setting changed; a change of the batch alone is a statement about every operation."""
    if old.source is new.source:
        ratio = Fraction(new.batch, old.batch)
        key = {Fraction(2): "double", Fraction(1, 2): "half"}.get(ratio, "times")
        if ratio < 1 and key == "times":
            key = "part"
        value = str(ratio) if ratio.numerator == 1 else f"{float(ratio):,.4g}"
        return get(f"change.{key}", old=f"{old.batch:,}", new=f"{new.batch:,}", ratio=value)
    before, after = _differences(old, new)
    return get("change.other", old=before, new=after)


def _effect(old: Rows, new: Rows) -> str:
    """What became of the peak."""
    change = new.peak.nbytes - old.peak.nbytes
    moves = ""
    if new.outline is not None and new.peak.index != old.peak.index:
        numbers = {"old": f"{old.peak.index + 1:,}", "new": f"{new.peak.index + 1:,}"}
        moves = get("change.moves", **numbers)
    return get(
        f"change.{'grows' if change > 0 else 'falls' if change else 'same'}",
        amount=units.short(abs(change)),
        percent=amounts.change(old.peak.nbytes, new.peak.nbytes),
        moves=moves,
    )


def _parts(old: Rows, new: Rows) -> str:
    """What became of the two parts of the peak."""
    floor, mountain = new.peak_floor - old.peak_floor, new.peak_mountain - old.peak_mountain
    return get("change.parts", floor=amounts.signed(floor), mountain=amounts.signed(mountain))


def _differences(old: State, new: State) -> tuple[str, str]:
    """The settings that differ, each as it was and as it is."""
    both = zip(_settings(old), _settings(new), strict=True)
    pairs = [pair for pair in both if pair[0] != pair[1]]
    before, after = ([pair[side] for pair in pairs if pair[side]] for side in (0, 1))
    return ", ".join(before), ", ".join(after)


def _settings(state: State) -> list[str]:
    source, batch = state.source, get("batch", batch=f"{state.batch:,}")
    return [source.label, batch, optimizer(source.ledger.optimizer), step(state), source.format]

"""What the command line says of a plan: figures for JSON, and the same as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memlab import units
from memlab.step.storage import HOST

if TYPE_CHECKING:
    from memlab.ledger.ledger import Ledger
    from memlab.networks.graph import Network
    from memlab.step.step import Step

LARGEST = 5
"""How many of the blocks alive at the peak ``memlab plan`` lists, and of the maps on the host."""


def identity(network: Network, step: Step) -> dict[str, Any]:
    """What was planned, for JSON."""
    return {
        "network": network.name,
        "variant": network.variant or None,
        "input": list(network.input_shape),
        "format": step.format,
        "optimizer": step.optimizer or None,
    }


def facts_of(network: Network, step: Step, ledger: Ledger, batch: int) -> dict[str, Any]:
    """The figures of a plan: JSON prints them, and the table is made from them."""
    why = ledger.why(batch)
    peak, roles = why.peak, ledger.roles(batch, why.peak.index)
    per_sample = dict.fromkeys(roles, 0)
    for block in why.blocks:
        per_sample[block.entry.role] += block.entry.size.per_sample
    label, _, settings = step.describe().partition(", ")
    return {
        "schema": "memlab.plan/2",
        "title": f"{label}, batch {batch}, {settings}",
        **identity(network, step),
        "batch": batch,
        "parameters": network.parameters,
        "peak_bytes": peak.nbytes,
        "peak_at": {"index": peak.index, "op": peak.row.name, "phase": str(peak.row.phase)},
        "host_bytes": ledger.peak(batch, HOST),
        "host_maps": list(_waiting(step)),
        "operations": len(ledger.rows),
        "roles": {str(role): nbytes for role, nbytes in roles.items()},
        "roles_per_sample": {str(role): nbytes for role, nbytes in per_sample.items()},
        "alive": len(why.blocks),
        "largest": [
            {
                "name": block.entry.name,
                "role": str(block.entry.role),
                "bytes": block.nbytes,
                "formula": block.entry.formula(batch),
                "made_by": block.made_by,
                "needed_by": block.needed_by,
            }
            for block in why.blocks[:LARGEST]
        ],
    }


def placed(step: Step, ledger: Ledger, batch: int, how: str | None) -> dict[str, Any]:
    """The figures of a placement, and the peak with all that is there before the step."""
    from memlab.placement.placement import booked, place

    if how is None:
        return {"placement": None, "placed_peak_bytes": None}
    found = place(step, batch, how)
    return {
        "placement": found.as_dict(),
        "placed_peak_bytes": booked(ledger, found, batch).peak(batch),
    }


def table(facts: Mapping[str, Any]) -> str:
    """The figures of a plan as a table."""
    peak, at, largest = facts["peak_bytes"], facts["peak_at"], facts["largest"]
    slopes = facts["roles_per_sample"]
    rows = [(_words(role), size, slopes[role]) for role, size in facts["roles"].items()]
    rows.append(("total", peak, sum(slopes.values())))
    width = max(len(block["name"]) for block in largest)
    others = facts["alive"] - len(largest)
    rest = peak - sum(block["bytes"] for block in largest)
    lines = [
        facts["title"],
        f"Peak {units.both(peak)} = {units.exact(peak)}",
        f"at operation {at['index'] + 1} of {facts['operations']}, {at['op']} ({at['phase']})",
        *_on_host(facts),
        *_arena(facts),
        f"\n{'at the peak':20}{'bytes':>18}{'share':>9}{'bytes per sample':>19}",
        *(f"{name:20}{size:18,}{100 * size / peak:7.1f} %{each:19,}" for name, size, each in rows),
        f"\n{len(largest)} largest of {facts['alive']} blocks alive there",
        *(f"{b['name']:{width}}  {_words(b['role']):18}  {b['formula']}" for b in largest),
        *([f"{others} others: {units.exact(rest)}"] if others else []),
        f"\n{facts['parameters']:,} parameters",
        f"{facts['feature_map_values']:,} feature-map values per sample, "
        f"by the counting rule {facts['convention']!r}:",
    ]
    return "\n".join(lines)


def _waiting(step: Step) -> Iterator[str]:
    """The maps that wait in the host's memory, in the order in which they go."""
    for op in step.ops:
        if any(each.storage.memory == HOST for each in op.writes.values()):
            yield from (each.name for each in op.reads.values())


def _on_host(facts: Mapping[str, Any]) -> list[str]:
    """What waits in the host's memory: the bytes, and the first of the maps."""
    names = facts["host_maps"]
    if not facts["host_bytes"]:
        return []
    others = f" and {len(names) - LARGEST} others" if len(names) > LARGEST else ""
    bytes_ = units.exact(facts["host_bytes"])
    return [f"and {bytes_} wait on the host: {', '.join(names[:LARGEST])}{others}"]


def _arena(facts: Mapping[str, Any]) -> list[str]:
    """What the arena takes, beside the peak."""
    placement, peak = facts["placement"], facts["placed_peak_bytes"]
    if placement is None:
        return []
    arena, bound, waste = (placement[f"{what}_bytes"] for what in ("arena", "lower_bound", "waste"))
    at = f"at operation {placement['busiest_index'] + 1} of {facts['operations']}"
    return [
        f"\nArena {units.both(arena)} = {units.exact(arena)}, placed: {placement['how']}",
        f"lower bound {units.exact(bound)} {at}; waste {units.exact(waste)}",
        f"with all that is there before the step: {units.exact(peak)}",
    ]


def _words(name: str) -> str:
    return name.replace("_", " ")

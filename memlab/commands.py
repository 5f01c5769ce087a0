"""What each command of the command line does, and how it says it.

Each imports what it needs, so that ``memlab --help`` answers at once. The figures of a table and
of its JSON are the same values.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError, whole

if TYPE_CHECKING:
    from memlab.claims import Claim
    from memlab.networks.graph import Network
    from memlab.planner.ledger import Ledger
    from memlab.step.step import Step

Options = argparse.Namespace
LARGEST = 5
"""How many of the blocks alive at the peak ``memlab plan`` lists."""


def plan(options: Options) -> int:
    """Plan one step: its peak, and what is alive there."""
    from memlab.networks import counting
    from memlab.planner import files

    batch, rule = whole("batch", _number(options.batch)), counting.find(options.convention)
    save, trace = _target(options.save), _target(options.trace)
    network, step, ledger = _planned(options)
    facts = _facts(network, step, ledger, batch)
    facts |= {"convention": rule.name, "feature_map_values": rule.values(network)}
    if save:
        files.save(ledger, save)
    if trace:
        _write(trace, json.dumps(files.trace(ledger, batch)))
    _show(options, facts, f"{_table(facts)}\n{rule.description}")
    return 0


def run(options: Options) -> int:
    """Run one step on real arrays here, and measure it against its plan."""
    import sys

    import memlab

    batch = whole("batch", _number(options.batch))
    network, step, ledger = _planned(options)
    facts = _facts(network, step, ledger, batch) | {"schema": "memlab.run/1"}
    done = memlab.run(step, batch, progress=sys.stderr.isatty())
    _show(options, facts | done.as_dict(), done.text())
    return 0 if done.residual == 0 else 1


def fit(options: Options) -> int:
    """Find the largest batch that fits into a memory, and the tensor that binds."""
    from memlab import units

    nbytes = units.parse(options.memory)
    network, step, ledger = _planned(options)
    found = ledger.fit(nbytes)
    facts = {"schema": "memlab.fit/1", **_identity(network, step), **found.as_dict()}
    _show(options, facts, f"{step.describe()}\n{found}")
    return 0


def diff(options: Options) -> int:
    """Compare two saved plans: what changed the peak."""
    from memlab.planner import files
    from memlab.planner.diff import diff as compare

    batch = whole("batch", _number(options.batch))
    difference = compare(files.load(options.before), files.load(options.after), batch)
    _show(options, difference.as_dict(), str(difference))
    return 0


def claims(options: Options) -> int:
    """List published figures, each computed again, with a verdict."""
    from memlab import claims as published

    found = published.find(options.id) if options.id else published.table()
    records = [claim.as_dict() for claim in found]
    _show(options, records, "\n\n".join(map(_paragraph, found)))
    return 0


def bench(options: Options) -> int:
    """Run a benchmark on this machine; without a name, list them."""
    from memlab import bench as benchmarks

    if options.name is None:
        _show(options, list(benchmarks.BENCHMARKS), benchmarks.listing())
        return 0
    result = benchmarks.find(options.name)()
    _show(options, result.as_dict(), str(result))
    return 0


def doctor(options: Options) -> int:
    """Check this machine and say what mends each problem."""
    from memlab import doctor as clinic

    checks = clinic.examine()
    _show(options, [asdict(check) for check in checks], clinic.report(checks))
    return clinic.exit_code(checks)


def lab(options: Options) -> int:
    """Open the lessons in JupyterLab; what follows goes on to JupyterLab."""
    from memlab.lab import lab as open_lessons

    return open_lessons(options.rest)


# -- what they say ------------------------------------------------------------------------------


def _planned(options: Options) -> tuple[Network, Step, Ledger]:
    import memlab

    sizes = {
        name: None if given is None else whole(name, _number(given))
        for name, given in (("image", options.image), ("classes", options.classes))
    }
    network = memlab.zoo.build(options.network, **sizes, variant=options.variant)
    if options.inference and options.optimizer:
        raise InputError("inference has no optimizer; leave out --optimizer or --inference.")
    if options.inference:
        step = memlab.inference_step(network, format=options.format)
    else:
        optimizer = options.optimizer or "momentum"
        step = memlab.training_step(network, optimizer=optimizer, format=options.format)
    return network, step, memlab.plan(step)


def _identity(network: Network, step: Step) -> dict[str, Any]:
    return {
        "network": network.name,
        "variant": network.variant or None,
        "input": list(network.input_shape),
        "format": step.format,
        "optimizer": step.optimizer or None,
    }


def _facts(network: Network, step: Step, ledger: Ledger, batch: int) -> dict[str, Any]:
    """The figures of a plan: JSON prints them, and the table is made from them."""
    why = ledger.why(batch)
    peak, roles = why.peak, ledger.roles(batch, why.peak.index)
    per_sample = dict.fromkeys(roles, 0)
    for block in why.blocks:
        per_sample[block.entry.role] += block.entry.size.per_sample
    label, _, settings = step.describe().partition(", ")
    return {
        "schema": "memlab.plan/1",
        "title": f"{label}, batch {batch}, {settings}",
        **_identity(network, step),
        "batch": batch,
        "parameters": network.parameters,
        "peak_bytes": peak.nbytes,
        "peak_at": {"index": peak.index, "op": peak.row.name, "phase": str(peak.row.phase)},
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


def _table(facts: Mapping[str, Any]) -> str:
    from memlab import units

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


def _words(name: str) -> str:
    return name.replace("_", " ")


def _paragraph(claim: Claim) -> str:
    from textwrap import TextWrapper

    said = {
        "claim": claim.claim,
        "claimed": claim.claimed,
        "computed": claim.result,
        "verdict": claim.verdict,
        "note": claim.folk,
        "call": claim.call,
        "source": f"{claim.source} ({claim.sure})",
    }
    wrapper = TextWrapper(96, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent, wrapper.subsequent_indent = "  ", " " * 12
    lines = [wrapper.fill(f"{key:10}{text}") for key, text in said.items() if text]
    return "\n".join([claim.id, *lines])


# -- reading and writing ------------------------------------------------------------------------


def _number(given: str) -> int | float | str:
    """A number where it is one; anything else goes on to the check that names it."""
    for kind in (int, float):
        try:
            return kind(given)
        except ValueError:
            continue
    return given


def _show(options: Options, facts: object, text: str) -> None:
    print(json.dumps(facts, indent=2, default=str) if options.json else text)


def _target(path: str | None) -> Path | None:
    """Where a file is to be written; refused before the work begins."""
    if path is None:
        return None
    target = Path(path)
    if not path or target.is_dir() or not target.parent.is_dir():
        raise InputError(f"cannot write {path!r}; give a file in a folder that is there.")
    return target


def _write(target: Path, text: str) -> None:
    """All of it or nothing."""
    part = target.with_name(f"{target.name}.part")
    try:
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

"""Remedies of ``memlab.explain`` on training loops of common libraries: promised and measured.

    python -m tests.frontends.loops.remedies [--only dcgan,hf_trainer] [--save]

A line has the remedy with the least peak that ``explain`` tried on a loop, the peak that it
promises, and the bytes of PyTorch's allocator on a processor in the fourth step of the real loop
with that remedy. ``--save`` writes ``remedies.json`` beside this file. It needs the packages of
``tests.frontends.loops``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tests.frontends.loops.__main__ import import_libraries, in_copy, load_cases, percent, versions
from tests.frontends.loops.cases import CASES, Loop
from tests.frontends.loops.truths import allocated_bytes

SAVED = Path(__file__).with_name("remedies.json")


def promised(name: str) -> dict[str, Any]:
    """Return the peak of a loop, and the remedy that lowers it most with the peak it promises."""
    from memlab.pictures.explain.own_loop import OwnLoop

    torch.manual_seed(0)
    step, batch = CASES[name].make()
    loop = OwnLoop(step, batch, None, progress=False)
    if loop.watched.growth:
        return {"remedy": "", "grows": loop.watched.growth}
    changes = loop.changes(loop.samples, 1)
    best = min(changes, key=lambda change: change.peak(loop.samples), default=None)
    row = {"plain": loop.plain.peak(loop.samples), "remedy": best.key if best else ""}
    if best is not None:
        row |= {"names": list(best.names), "promised": best.peak(loop.samples)}
    return row


def measured(name: str, key: str, names: list[str]) -> dict[str, Any]:
    """Return the bytes that the allocator hands out in a loop with a remedy."""
    from memlab.frontends.torch.any_step import StepRequest, watched
    from memlab.frontends.torch.fitting.loop_remedies import loop_remedies

    torch.manual_seed(0)
    with contextlib.ExitStack() as stack:

        def changed() -> Loop:
            step, batch = CASES[name].make()
            remedies = loop_remedies(watched(StepRequest(step, batch)))
            wanted = (key, tuple(names))
            remedy = next(each for each in remedies if (each.key, each.names) == wanted)
            stack.enter_context(remedy.change())
            return step, batch

        return {"measured": allocated_bytes(changed)}


def row_of(name: str) -> dict[str, Any]:
    """Return the figures of a case, each from a process of its own."""
    row = {"name": name} | in_copy(partial(promised, name), "promised")
    if row.get("remedy"):
        row |= in_copy(partial(measured, name, row["remedy"], row["names"]), "measured")
    return row


def line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    numbers = [row.get(name) for name in ("plain", "promised", "measured")]
    digits = "".join(f"{'-' if n is None else format(n, ','):>15}" for n in numbers)
    said = "".join(f"\n    {key}: {value}" for key, value in row.items() if key.endswith(" said"))
    error = percent(row.get("promised"), row.get("measured"))
    return f"{row['name']:26}{row.get('remedy') or '-':12}{digits}{error}{said}"


def save(rows: list[dict[str, Any]]) -> None:
    """Write the rows among those that are saved already."""
    old = json.loads(SAVED.read_text("utf-8"))["rows"] if SAVED.exists() else []
    new = {row["name"]: row for row in [*old, *rows]}
    about = {"command": "python -m tests.frontends.loops.remedies --save",
             "versions": versions()}  # fmt: skip
    ordered = [new[name] for name in CASES if name in new]
    SAVED.write_text(json.dumps(about | {"rows": ordered}, indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="names of cases, with commas")
    parser.add_argument("--save", action="store_true", help="write remedies.json")
    given = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    load_cases()
    names = given.only.split(",") if given.only else [*CASES]
    import_libraries({CASES[name].library for name in names})
    for name in names:
        row = row_of(name)
        print(line(row), flush=True)
        if given.save:
            save([row])


if __name__ == "__main__":
    main()

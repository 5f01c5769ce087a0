"""Peaks of training loops of common libraries: PyTorch's own, and those of ``memlab.explain``.

    python -m tests.frontends.loops [--only dcgan,hf_trainer] [--save]

It needs timm, torchvision, diffusers, transformers, accelerate, peft, torch_geometric,
segmentation_models_pytorch, lightning and torchmetrics, which memlab does not bring; a case whose
library is not there says so. Nothing is downloaded: weights are random. Each figure is taken in a
process of its own (a fork, so not on Windows), so that a crash ends one case. A line has T, the
bytes of all live storages, and A, those of PyTorch's allocator on a processor, both in the fourth
step; memlab's peak without workspace is to be T, and with workspace A. ``--save`` writes
``loops.json`` beside this file.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import signal
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from tests.frontends.loops.cases import CASES, Loop

MODULES = ("plain", "vision", "language", "frameworks")
PACKAGES = (
    "torch", "timm", "torchvision", "diffusers", "transformers", "accelerate", "peft",
    "torch_geometric", "segmentation_models_pytorch", "lightning", "torchmetrics",
)  # fmt: skip
SAVED = Path(__file__).with_name("loops.json")
LIMIT = 400
"""Seconds that a figure may take."""


def import_libraries(libraries: set[str]) -> None:
    """Import libraries once, before the processes of the cases: one that is not there makes its
    cases say so."""
    if libraries == {"torch"}:
        return
    replace_compiled_operators()
    modules = {"smp": "segmentation_models_pytorch", "torch_geometric": "torch_geometric.nn",
               "transformers": "transformers.trainer"}  # fmt: skip
    for library in sorted(libraries):
        with contextlib.suppress(ImportError):
            import_module(modules.get(library, library))


def load_cases() -> None:
    """Register all cases. Their libraries are imported when a case is made."""
    for name in MODULES:
        import_module(f"tests.frontends.loops.{name}")


# -- in a child process ------------------------------------------------------------------------


def figures(name: str, part: str) -> dict[str, Any]:
    """Return the figures of a part of a case: ``T``, ``A`` or ``memlab``."""
    torch.manual_seed(0)
    make = CASES[name].make
    if part == "memlab":
        return explained(make)
    from tests.frontends.loops import truths

    return {part: (truths.live_bytes if part == "T" else truths.allocated_bytes)(make)}


def explained(make: Callable[[], Loop]) -> dict[str, Any]:
    """Return the figures of ``memlab explain``, its notes and its sentences."""
    from memlab.pictures.explain.report import told

    step, batch = make()
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows, _ = told(step=step, batch=batch, device="cpu", progress=False)
        peak = rows.peak.nbytes
    seconds = round(time.perf_counter() - begin, 1)
    real = [str(each.message) for each in caught if each.category.__name__ == "RealTensorsWarning"]
    return {
        "memlab": peak,
        "without": rows.now.ledger.peak(rows.batch, workspace=False),
        "seconds": seconds,
        "notes": [*rows.now.ledger.notes, *real],
        "sentences": rows.sentences,
    }


def replace_compiled_operators() -> None:
    """Let torchvision run where its compiled operators do not load: NMS in Python."""
    register = torch.library.register_fake

    def register_there(op: Any, *args: Any, **options: Any) -> Any:
        if str(op).startswith("torchvision::") and not hasattr(torch.ops.torchvision, op[13:]):
            return lambda function: function
        return register(op, *args, **options)

    torch.library.register_fake = register_there
    try:
        from torchvision.extension import _has_ops
        from torchvision.ops import boxes
    except ImportError:
        return
    finally:
        torch.library.register_fake = register
    if not _has_ops():
        schema = "(Tensor boxes, Tensor scores, float limit) -> Tensor"
        torch.library.define("torchvision::nms", schema)
        torch.library.impl("torchvision::nms", "CPU", suppressed)
        boxes._assert_has_ops = lambda: None


def suppressed(boxes: Any, scores: Any, limit: float) -> Any:
    """Return the boxes that remain after non-maximum suppression."""
    kept: list[int] = []
    left = scores.argsort(descending=True)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    while len(left):
        first, left = int(left[0]), left[1:]
        kept.append(first)
        corner = torch.maximum(boxes[first, :2], boxes[left, :2])
        inside = (torch.minimum(boxes[first, 2:], boxes[left, 2:]) - corner).clamp(min=0).prod(1)
        left = left[inside / (areas[first] + areas[left] - inside) <= limit]
    return torch.tensor(kept, dtype=torch.long)


# -- the table ---------------------------------------------------------------------------------


def measured(name: str) -> dict[str, Any]:
    """Return all figures of a case, each part from a process of its own."""
    row: dict[str, Any] = {"name": name, "library": CASES[name].library, "title": CASES[name].title}
    for part in ("T", "A", "memlab"):
        row |= in_copy(partial(figures, name, part), part)
    return row


def in_copy(take: Callable[[], dict[str, Any]], part: str) -> dict[str, Any]:
    """Return the figures that a function takes in a copy of this process, or what it raised."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        try:
            result = take()
        except BaseException as error:
            result = {f"{part} said": f"{type(error).__name__}: {error}"}
            traceback.print_exc()
        with os.fdopen(write, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)  # a second rank, or a thread of a library, is not waited for
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {f"{part} said": f"ended by signal {status & 127}"}


def percent(planned: int | None, truth: int | None) -> str:
    """Return how far a planned figure is from the truth."""
    if planned is None or not truth:
        return f"{'-':>9}"
    return f"{100 * (planned / truth - 1):>+8.2f}%"


def line(row: dict[str, Any]) -> str:
    """Return a row of the table, with notes below it."""
    numbers = [row.get(name) for name in ("T", "A", "without", "memlab")]
    digits = "".join(f"{'-' if n is None else format(n, ','):>15}" for n in numbers)
    errors = percent(row.get("without"), row.get("T")) + percent(row.get("memlab"), row.get("A"))
    text = f"{row['name']:26}{row['library']:15}{digits}{errors}{row.get('seconds', '-'):>7}"
    said = [f"{key}: {value}" for key, value in row.items() if key.endswith(" said")]
    notes = [textwrap.shorten(note, 150) for note in [*said, *row.get("notes", [])]]
    return "\n".join([text, *(f"    {note}" for note in notes)])


def versions() -> dict[str, str]:
    """Return the versions of Python and the packages."""
    there = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            there[package] = version(package)
        except PackageNotFoundError:
            continue
    return there


def save(rows: list[dict[str, Any]]) -> None:
    """Write the rows among those that are saved already."""
    old = json.loads(SAVED.read_text("utf-8"))["rows"] if SAVED.exists() else []
    new = {row["name"]: {k: v for k, v in row.items() if k != "sentences"} for row in [*old, *rows]}
    about = {"command": "python -m tests.frontends.loops --save",
             "date": datetime.date.today().isoformat(), "versions": versions()}  # fmt: skip
    ordered = [new[name] for name in CASES if name in new]
    text = json.dumps(about | {"rows": ordered}, indent=1, ensure_ascii=False)
    SAVED.write_text(text + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="names of cases, with commas")
    parser.add_argument("--save", action="store_true", help="write loops.json")
    given = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    torch.set_num_threads(1)
    load_cases()
    names = given.only.split(",") if given.only else [*CASES]
    import_libraries({CASES[name].library for name in names})
    rows = []
    for name in names:
        rows.append(measured(name))
        print(line(rows[-1]), flush=True)
        if given.save:
            save(rows[-1:])


if __name__ == "__main__":
    main()

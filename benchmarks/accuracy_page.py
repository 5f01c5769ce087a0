"""``python -m benchmarks.accuracy_page``: write docs/accuracy.md from the recorded figures.

Figures come from ``python -m benchmarks.accuracy``, on a processor and with ``--published``, and
from ``python -m benchmarks cards`` on a machine with a GPU.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from benchmarks.cards import RECORDS, Measured, measured
from memlab import atomic_files, units
from memlab.bench.accuracy import FILE, PUBLISHED, published_tables, recorded
from memlab.bench.accuracy.published_tables import (
    CARD,
    LEAST,
    MOST,
    PROCESSOR,
    RESERVED,
    WITHOUT,
    PublishedRow,
    PublishedTable,
)
from memlab.bench.accuracy.table import Accuracy, Compared
from memlab.measure import recorded_figures

PAGE = Path(__file__).resolve().parents[1] / "docs" / "accuracy.md"
OWN = (CARD, PROCESSOR, LEAST, MOST)
NO_BREAK = "\N{NO-BREAK SPACE}"
LEAST_SHOWN = 0.005
"""The smallest error in percent that two digits show."""

BEGIN = """# How exact plans are

`python -m benchmarks.accuracy_page` writes this page from recorded figures; a test checks that it
is up to date. `memlab bench accuracy` makes the same comparisons on your machine. An error is that
of the estimate against the measured bytes: below 0 the estimate is too low.
"""
PROCESSOR_TEXT = """
The second step of each network is run, and the peak of PyTorch's allocator is the measurement.
Workspace is what an operation takes for itself while it runs, measured one operation at a time.
"""
CARD_TEXT = """
`memlab bench accuracy` recorded these peaks on the card; the plans for it are made without it. Each
step is fp32 without autocast. cuBLAS's workspace is in the first figure alone, for the process kept
it.
"""
T4_TEXT = """
Each step is recorded on a processor, with the operators that a T4 would take; no card is there.
The bytes are those of `torch.cuda.max_memory_allocated`: blocks of the caching allocator, which is
simulated, and cuBLAS's workspace. No constant is fitted to these figures. A T4 has no fused
attention in bf16, so the rows say nothing about such kernels. The plan for a processor is without
the workspace of a processor's kernels.
"""
RESERVED_TEXT = """
The segments of the caching allocator and the context, together: what the card shows. The context is
the published one, the segments are simulated. The last column is
{estimator};
these rows are among those that it is calibrated with.
"""
DIFFERENCES_TEXT = """
Bytes by which the plan falls (below 0: rises) when one of the differences between a card and a
processor is left out, in MB. They do not add up, because the peak moves.
"""
OTHER_TEXT = """
For what `nvidia-smi` shows, the plan is a range: its lower end is the segments of the caching
allocator, cuBLAS and the context; its upper end adds the most workspace that cuDNN may take, as far
as its algorithms are published.
"""
MORE_TEXT = """
On a machine with a GPU, `python -m benchmarks cards` measures these models there and writes a file
`benchmarks/cards_*.json`; this page shows every such file when it is written again.
"""


def page() -> str:
    """Return the page."""
    parts = [BEGIN, *_processor(), *_cards(), *_checked(), *_others(), *_measured()]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


# -- sections ------------------------------------------------------------------------------------


def _processor() -> Iterator[str]:
    result = recorded(recorded_figures.load(FILE))
    yield "## On a processor"
    yield PROCESSOR_TEXT
    yield _of(result)
    yield _errors(result.compared, "PyTorch's allocator")


def _cards() -> Iterator[str]:
    steps = [step for step in _published().compared if "(NVIDIA" in step.source]
    for source in dict.fromkeys(step.source for step in steps):
        _, _, card = source.partition(" ")
        yield f"## On a card {card}"
        yield CARD_TEXT
        yield _errors([step for step in steps if step.source == source], "measured")


def _checked() -> Iterator[str]:
    table = published_tables.load(published_tables.CHECKED)
    steps = _rows(table)
    yield "## Eight published steps on a T4"
    yield T4_TEXT
    yield _source(table)
    peers = [one.predictor for one in steps[0][1].estimates if one.predictor not in OWN]
    shown = [CARD, PROCESSOR, *(name for name in peers if not name.startswith(WITHOUT))]
    heads = ["step", "published", "planned", *shown]
    cells = [
        [row.title, units.exact(row.nbytes), units.exact(_bytes(step, CARD)),
         *(_percent(_bytes(step, name), row.nbytes) for name in shown)]
        for row, step in steps
    ]  # fmt: skip
    yield _table(heads, cells)
    off = [abs(_off(_bytes(step, CARD), row.nbytes)) for row, step in steps]
    yield (
        f"The plans for the card are {mean(off):.2f} % off on average, {max(off):.2f} % at most."
    )
    yield _assumed(table)
    yield "### What each difference contributes"
    yield DIFFERENCES_TEXT
    yield _differences(steps)
    yield "### What the card shows"
    yield RESERVED_TEXT.format(estimator=table.estimator)
    yield _reserved(table)


def _reserved(table: PublishedTable) -> str:
    cells = [
        [row.title, units.exact(step.truth), *_range(step),
         _percent(row.estimated, step.truth)]
        for row, step in _rows(table, RESERVED)
    ]  # fmt: skip
    return _table(["step", "published", "planned", "error", "torch-preflight"], cells)


def _differences(steps: Sequence[tuple[PublishedRow, Compared]]) -> str:
    names = [one.predictor for one in steps[0][1].estimates if one.predictor.startswith(WITHOUT)]
    cells = [
        [row.title, *(_megabytes(_bytes(step, CARD) - _bytes(step, name)) for name in names)]
        for row, step in steps
    ]
    return _table(["step", *(name.removeprefix(WITHOUT) for name in names)], cells)


def _others() -> Iterator[str]:
    yield "## Other published tables"
    yield OTHER_TEXT
    for name in published_tables.TABLES:
        table = published_tables.load(name)
        if name == published_tables.CHECKED:
            continue
        yield f"### {table.title}"
        yield _source(table)
        yield from _other(table)


def _other(table: PublishedTable) -> Iterator[str]:
    planned = [(row, step) for row, step in _rows(table) if step.truth]
    if planned:
        heads = ["step", "published", "planned", "error"]
        cells = [[row.title, _as_published(row), *_range(step)] for row, step in planned]
        yield _table(heads, cells)
        yield f"Likely reason for the errors: {table.reason}."
    left_out = [row for row in table.rows if row.why]
    if left_out:
        heads = ["not planned", "published", "why"]
        cells = [[row.title, _as_published(row), row.why] for row in left_out]
        yield _table(heads, cells)
    if table.assumed:
        yield _assumed(table)


def _range(step: Compared) -> tuple[str, str]:
    """Return the planned bytes of a step and their error, each from the least to the most."""
    ends = sorted({one.nbytes for one in step.estimates if one.nbytes is not None})
    sizes = " to ".join(units.short(nbytes) for nbytes in ends)
    return sizes, " to ".join(_percent(nbytes, step.truth) for nbytes in ends)


def _measured() -> Iterator[str]:
    yield "## Measured on other cards"
    yield MORE_TEXT
    for path in sorted(RECORDS.glob("cards_*.json")):
        result = measured(path)
        yield f"### {result.device}"
        yield f"{result.date}, {_versions(result.versions)}, by `{result.command}`."
        yield _table(["step", "measured", "planned", "error", "reserved", "nvidia-smi"],
                     [_measured_cells(row) for row in result.rows])  # fmt: skip


def _measured_cells(row: Measured) -> list[str]:
    return [
        row.title, units.exact(row.allocated), units.exact(row.planned),
        _percent(row.planned, row.allocated), units.short(row.reserved), units.short(row.shown),
    ]  # fmt: skip


# -- parts ---------------------------------------------------------------------------------------


def _published() -> Accuracy:
    return recorded(recorded_figures.load(PUBLISHED))


def _rows(table: PublishedTable, more: str = "") -> list[tuple[PublishedRow, Compared]]:
    """Return the rows of a table, each with its recorded comparison, whose name has ``more`` at its
    end; one without any is not planned."""
    compared = {step.case: step for step in _published().compared}
    missing = Compared("", "", 0)
    return [(row, compared.get(f"{table.name(row)}{more}", missing)) for row in table.rows]


def _as_published(row: PublishedRow) -> str:
    return row.published or units.exact(row.nbytes)


def _errors(steps: Sequence[Compared], source: str) -> str:
    """Return the table of errors of all predictors for some steps."""
    names = list(dict.fromkeys(one.predictor for step in steps for one in step.estimates))
    cells = [
        [step.case.partition(", on ")[0], units.exact(step.truth),
         *(_percent(_bytes(step, name), step.truth) for name in names)]
        for step in steps
    ]  # fmt: skip
    return _table(["step", source, *names], cells)


def _bytes(step: Compared, predictor: str) -> int:
    """Return the bytes of an estimate; 0 without one."""
    return next((one.nbytes or 0 for one in step.estimates if one.predictor == predictor), 0)


def _off(nbytes: int, truth: int) -> float:
    return 100 * (nbytes / truth - 1)


def _percent(nbytes: int, truth: int) -> str:
    if not nbytes:
        return ""
    off = _off(nbytes, truth)
    if abs(off) < LEAST_SHOWN:
        return "equal" if nbytes == truth else "±0.00 %"
    return f"{off:+.2f} %".replace("-", "−")


def _megabytes(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f}".replace("-", "−") if nbytes else "0"


def _source(table: PublishedTable) -> str:
    """Return the sentence on the source of a table."""
    file = f", {table.file}" if table.file else ""
    at = f", commit {table.commit[:8]}" if table.commit else ""
    versions = f", {_versions(table.versions)}" if table.versions else ""
    on = f" Measured on {table.machine}{versions}." if table.machine else ""
    return _plain(
        f"Source: {table.source}{file}{at}; {table.date.isoformat()} ({table.dated}).{on} "
        f"Counted by: {table.counted}."
    )


def _assumed(table: PublishedTable) -> str:
    return "\n".join(["Assumed:", "", *(f"- {_plain(sentence)}" for sentence in table.assumed)])


def _of(result: Accuracy) -> str:
    here = result.machine
    return f"Recorded on {here.processor}, {here.date}, {_versions(here.versions)}."


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    texts = ([_plain(cell) for cell in cells] for cells in (heads, *rows))
    first, *others = ("| " + " | ".join(cells) + " |" for cells in texts)
    rule = "| --- |" + " ---: |" * (len(heads) - 1)
    return "\n".join([first, rule, *others])


def _plain(text: str) -> str:
    """Return a text that Markdown leaves as it is, with units beside their numbers."""
    text = text.replace("_", "\\_")
    return re.sub(r"(?<=\d) (?=(B|kB|MB|GB|MiB|%)\b|%)", NO_BREAK, text)


def main() -> int:
    """Write the page."""
    atomic_files.write(PAGE, page())
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Peaks of published training steps on this machine's GPU, beside their plans for it.

``python -m benchmarks cards`` measures, and writes ``benchmarks/cards_<name of the card>.json``;
``python -m benchmarks.accuracy_page`` shows the file. Each model needs some seconds.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab import atomic_files
from memlab.bench.accuracy import published_tables, where
from memlab.measure.timing import BenchmarkLine, Machine, Result, allow_torch, machine

if TYPE_CHECKING:
    from memlab.bench.accuracy.training import AccuracyCase
    from memlab.placement.cuda_cards import CudaCard

RECORDS = Path(__file__).parent
COMMAND = "python -m benchmarks cards"
TABLES = ("torch_preflight", "nvidia_smi", "densenet")
"""Published tables whose models are measured, with their batches."""
NO_GPU = "there is no GPU here that PyTorch can use, so nothing is measured"


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of one step on a card: ``allocated`` by ``torch.cuda.max_memory_allocated``,
    ``reserved`` by ``max_memory_reserved``, ``shown`` by the card itself, as ``nvidia-smi`` shows
    them; and the plan's: ``planned`` of the allocated ones, ``least`` and ``most`` of those that
    are shown."""

    title: str
    allocated: int
    reserved: int
    shown: int
    planned: int
    least: int
    most: int

    @property
    def lines(self) -> Iterator[BenchmarkLine]:
        """Every figure as a line of its own."""
        for name, nbytes in asdict(self).items():
            if name != "title":
                yield BenchmarkLine(f"{self.title}: {name}", nbytes, "B")
        yield BenchmarkLine(f"{self.title}: off", 100 * (self.planned / self.allocated - 1), "%")


@dataclass(frozen=True, slots=True)
class MeasuredCard:
    """Steps that were measured on a card, with the day, the versions and the command."""

    device: str
    date: str
    versions: dict[str, str]
    command: str
    rows: tuple[Measured, ...]


def run() -> Result:
    """Measure published training steps on this machine's GPU, and write the file; without a GPU one
    line says so."""
    if not _gpu():
        return Result("cards", machine(), (BenchmarkLine(NO_GPU, 0, ""),))
    import torch

    here, device = where("cuda"), torch.cuda.get_device_name()
    rows = tuple(_rows())
    write(MeasuredCard(device, here.date, dict(here.versions), COMMAND, rows))
    return _result(here, rows)


def write(measured_card: MeasuredCard, folder: Path = RECORDS) -> Path:
    """Write the file of a card; return its path."""
    name = "_".join(measured_card.device.lower().split())
    path = folder / f"cards_{name}.json"
    atomic_files.write(path, json.dumps(asdict(measured_card), indent=1) + "\n")
    return path


def measured(path: Path) -> MeasuredCard:
    """Return the steps of a file that ``write`` wrote."""
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    rows = tuple(Measured(**row) for row in facts.pop("rows"))
    return MeasuredCard(**facts, rows=rows)


def measure(case: AccuracyCase, card: CudaCard) -> Measured:
    """Return the bytes of the second step of a case on the GPU, and those that are planned."""
    import torch

    from memlab.bench.accuracy import card_plans
    from memlab.bench.accuracy.training import StartedTraining
    from memlab.step.paused_gc import paused

    step = card_plans.planned(case, card)
    _let_go()
    training = StartedTraining(case, case.model(), case.data())
    with paused():
        torch.cuda.reset_peak_memory_stats()
        training.step()
        torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    shown = step.shown()
    return Measured(
        case.title, torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(),
        total - free, step.allocated, shown.start, shown.stop,
    )  # fmt: skip


def _rows() -> Iterator[Measured]:
    """Yield the steps of all tables; one that does not fit is left out."""
    import torch

    from memlab.bench.accuracy import card_plans
    from memlab.placement.cuda_cards import installed

    card = installed()
    assert card is not None
    for table in map(published_tables.load, TABLES):
        for row in table.rows:
            try:
                yield measure(card_plans.case_of(table, row, "cuda"), card)
            except torch.cuda.OutOfMemoryError:
                print(f"{row.title}: it does not fit this card")


def _let_go() -> None:
    """Give back what earlier steps left on the GPU, cuBLAS's workspace with it."""
    import torch

    gc.collect()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


def _result(here: Machine, rows: tuple[Measured, ...]) -> Result:
    return Result("cards", here, tuple(line for row in rows for line in row.lines))


def _gpu() -> bool:
    """Return whether PyTorch is installed and can use a GPU."""
    if not allow_torch():
        return False
    import torch

    return bool(torch.cuda.is_available())

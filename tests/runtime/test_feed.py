"""A step that is fed from a folder: its bytes, values and order, and the ways it may end."""

from __future__ import annotations

import threading
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import memlab
from memlab import Fed, InputError, Step, free_memory
from memlab.clocks.data_path import operations
from memlab.free_memory import Room
from memlab.kernels.formulas import crops
from memlab.kernels.registry import Array, KernelCall
from memlab.runtime import backend
from memlab.runtime.backend import ArrayPart
from memlab.runtime.loader.feed import kernel
from memlab.runtime.loader.images import Source, source
from memlab.runtime.loader.loader import ImageDraws, Loader
from memlab.runtime.memory_guard import DoesNotFitError
from memlab.runtime.metering.meter import Meter
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.op import Op
from memlab.step.storage import DEVICE, HOST
from memlab.step.tensor import Role

SHAPE, BATCH = (3, 8, 8), 4


@pytest.fixture(scope="module")
def step() -> Step:
    net = memlab.network("small", image=SHAPE).conv(4, 3, pad=1).relu().max_pool(2)
    return memlab.training_step(net.flatten().linear(5).cross_entropy())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return memlab.images(tmp_path_factory.mktemp("images") / "made", 26, SHAPE, classes=5).folder


@pytest.fixture(autouse=True)
def threads_end() -> Iterator[None]:
    yield
    assert not [thread.name for thread in threading.enumerate() if "memlab" in thread.name]


WAYS = [(0, "host"), (1, "host"), (2, "host"), (3, "host"), (0, "device"), (2, "device")]


@pytest.mark.parametrize(("buffers", "augment"), WAYS)
def test_its_bytes_are_those_of_the_plan(
    step: Step, folder: Path, buffers: int, augment: str
) -> None:
    fed = memlab.feed(step, folder, BATCH, buffers, augment)
    ledger = memlab.plan(memlab.data_path(step, BATCH, buffers, augment).step)
    assert fed.residual == 0
    assert fed.peaks == {memory: ledger.peak(BATCH, memory) for memory in (HOST, DEVICE)}
    assert (fed.batches, fed.left) == (6, 2)
    assert fed.moved == fed.clocked().epoch_moves(fed.images)


def test_its_values_do_not_depend_on_buffers(step: Step, folder: Path) -> None:
    losses = {memlab.feed(step, folder, BATCH, *way, disk="0.2 MB/s").losses for way in WAYS}
    assert len(losses) == 1
    assert len(set(next(iter(losses)))) == 6
    assert memlab.feed(step, folder, BATCH, seed=1).losses not in losses


@pytest.mark.parametrize("augment", ["host", "device"])
def test_each_batch_has_its_own_images_and_labels(step: Step, folder: Path, augment: str) -> None:
    """The losses are those of a session that gets the files in the order of their names."""
    files = sorted(folder.iterdir())[: 6 * BATCH]
    pixels = np.stack([np.frombuffer(file.read_bytes(), np.uint8) for file in files])
    x = pixels.reshape(6, BATCH, *SHAPE) / np.float32(127.5) - 1
    labels = np.array([int(file.stem.rpartition("-")[2]) for file in files]).reshape(6, BATCH)
    loss = next(tensor for tensor in step.live_out if tensor.role is Role.FEATURE_MAP)
    wanted = []
    with Session(Program(step, BATCH)) as session:
        for batch, classes in zip(x, labels, strict=True):
            session.step(batch, classes)
            wanted.append(float(session.value(loss)))
    fed = memlab.feed(step, folder, BATCH, 2, augment, crop=0, flip=False, deviation=0.5)
    np.testing.assert_allclose(fed.losses, wanted, rtol=1e-5)


def test_what_is_drawn_for_an_image_depends_on_its_number_alone(
    step: Step, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch that the image is in makes no difference."""
    drawn: dict[int, set[int]] = {}
    run = Loader._run

    def watched(self: Loader, op: Op) -> None:
        run(self, op)
        if op.kind == "augment":
            first = int(op.name.split()[1]) * self.batch
            for n, image in enumerate(self._view(op.writes["y"])):
                drawn.setdefault(first + n, set()).add(hash(image.tobytes()))

    monkeypatch.setattr(Loader, "_run", watched)
    for batch in (2, 4, 8):
        memlab.feed(step, folder, batch)
    assert {len(values) for values in drawn.values()} == {1}
    assert len(set().union(*drawn.values())) == len(drawn) == 26


def test_numbers_of_buffers_are_whole_however_they_are_written(step: Step, folder: Path) -> None:
    for buffers in (2.0, np.int64(2)):
        fed = memlab.feed(step, folder, BATCH, buffers, batches=2)  # type: ignore[arg-type]  # NumPy's
        assert "batch 4, 2 buffers, augmented" in str(fed)
        assert "18 images are in no batch" in str(fed)


def test_what_a_thread_allocates_is_seen(
    step: Step, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, leaked = Source.read, []

    def leaking(self: Source, name: str, target: Array) -> int:
        leaked.append(np.empty(1000, np.uint8))
        return read(self, name, target)

    monkeypatch.setattr(Source, "read", leaking)
    assert memlab.feed(step, folder, BATCH, 2).residual >= 23 * 1000


def test_a_step_without_a_loss_is_fed_too(step: Step, folder: Path) -> None:
    net = memlab.network("scores", image=SHAPE).flatten().linear(5).cross_entropy()
    fed = memlab.feed(memlab.inference_step(net), folder, BATCH)
    assert (fed.residual, fed.batches) == (0, 6)


def uses(fed: Fed, place: str) -> list[tuple[float, float]]:
    """Start and end of every operation that touched a buffer, in order."""
    return [(slot.start, slot.end) for slot in fed.schedule.slots
            if place in {tensor.name for tensor in slot.op.touched()}]  # fmt: skip


@pytest.mark.parametrize(("buffers", "augment"), WAYS)
def test_no_place_is_filled_before_it_is_empty(
    step: Step, folder: Path, buffers: int, augment: str
) -> None:
    fed = memlab.feed(step, folder, BATCH, buffers, augment, disk="0.5 MB/s")
    for place in fed.schedule.step.live_in:
        assert all(one[1] <= other[0] for one, other in pairwise(uses(fed, place.name)))
    starts = {slot.op.name: slot.start for slot in fed.schedule.slots}
    ends = {slot.op.name: slot.end for slot in fed.schedule.slots}
    for slot in fed.schedule.slots:
        assert all(ends[name] <= starts[slot.op.name] for name in slot.op.after)


def test_a_loader_reads_ahead(step: Step, folder: Path) -> None:
    """With two buffers, later batches are read while a step computes; without, none is."""
    for buffers, ahead in ((0, False), (2, True)):
        fed = memlab.feed(step, folder, BATCH, buffers, disk="0.1 MB/s")
        spans = {slot.op.name: slot for slot in fed.schedule.slots}
        assert (spans["read 2"].start < spans["compute 1"].start) is ahead


def test_what_a_kernel_makes_of_an_image() -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, *SHAPE)).astype(np.uint8)
    settings = {"crop": 2.0, "flip": 1.0, "mean": 100.0, "scale": 0.5}
    images = converted(x, settings, "cpu")
    framed = np.zeros((5, 3, 12, 12), np.float32)
    framed[:, :, 2:-2, 2:-2] = x
    crops_of = np.lib.stride_tricks.sliding_window_view(framed, (8, 8), (2, 3))
    for image, whole in zip(images / np.float32(0.5) + np.float32(100), crops_of, strict=True):
        options = whole.transpose(1, 2, 0, 3, 4).reshape(25, *SHAPE)
        assert any(np.array_equal(image, o) or np.array_equal(image, o[..., ::-1]) for o in options)
    apart = converted(x[3:], settings, "cpu", first=3)
    np.testing.assert_array_equal(images[3:], apart)  # its number in the folder alone counts
    np.testing.assert_array_equal(images, converted(x, settings, "cuda"))


def converted(x: Array, settings: dict[str, float], device: str, first: int = 0) -> Array:
    place = backend.find(device)
    convert = kernel("fp32", device)
    blocks = [place.block(size * x.size) for size in (1, 4)]
    parts = [ArrayPart(x.shape, np.uint8, 0, None), ArrayPart(x.shape, np.float32, 0, None)]
    there, y = (place.view(block, part) for block, part in zip(blocks, parts, strict=True))
    place.fill(there, lambda values: np.copyto(values, x))
    convert(KernelCall({"x": there, "y": y}, key=7, first=first, settings=settings))
    return place.read(y).copy()


def test_crops_and_turns_are_of_all_kinds() -> None:
    drawn = np.random.default_rng(0).integers(0, 2**64, 500, np.uint64)
    assert {crops.row_shift(number, 2) for number in drawn} == {-2, -1, 0, 1, 2}
    assert {crops.column_shift(number, 2) for number in drawn} == {-2, -1, 0, 1, 2}
    assert 200 < sum(crops.is_mirrored(number) for number in drawn) < 300


def test_on_a_simulated_device(tmp_path: Path) -> None:
    images = memlab.images(tmp_path / "made", 6, (1, 4, 4), classes=3)
    net = memlab.network("least", image=(1, 4, 4)).flatten().linear(3).cross_entropy()
    least = memlab.training_step(net)
    for augment in ("host", "device"):
        fed = memlab.feed(least, images, 2, 2, augment, device="cuda")
        assert fed.residual == 0
        here = memlab.feed(least, images, 2, 2, augment)
        assert fed.peaks == here.peaks
        np.testing.assert_allclose(fed.losses, here.losses, rtol=1e-5)


# -- how it may end -----------------------------------------------------------------------------


@pytest.fixture
def damaged(folder: Path, tmp_path: Path) -> Path:
    """Folder with two files that are no images: one is cut short, one is too long."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "000003-3.raw").write_bytes(b"short")
    (tmp_path / "000010-0.raw").write_bytes(bytes(999))
    return tmp_path


@pytest.mark.parametrize("buffers", [0, 2])
def test_a_bad_file_is_refused_or_skipped(step: Step, damaged: Path, buffers: int) -> None:
    with pytest.raises(InputError, match=r"^'000003-3.raw' holds no image .*ends after 5 of 192"):
        memlab.feed(step, damaged, BATCH, buffers)
    fed = memlab.feed(step, damaged, BATCH, buffers, bad="skip")
    assert (fed.batches, len(fed.skipped), fed.left, fed.residual) == (6, 2, 0, 0)
    for number in range(8):
        (damaged / f"{number + 11:06}-{(number + 1) % 5}.raw").write_bytes(b"")
    fed = memlab.feed(step, damaged, BATCH, buffers, bad="skip")
    assert (fed.batches, len(fed.skipped), fed.left) == (4, 10, 0)


def test_too_few_images(step: Step, damaged: Path) -> None:
    with pytest.raises(InputError, match="holds 26 images, fewer than a batch of 32"):
        memlab.feed(step, damaged, 32)
    with pytest.raises(InputError, match=r"holds 24 images that can be read.*2 were skipped"):
        memlab.feed(step, damaged, 25, bad="skip")
    with pytest.raises(InputError, match="there is no folder"):
        memlab.feed(step, damaged / "none", BATCH)


@pytest.mark.parametrize("buffers", [0, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_epoch(
    step: Step, folder: Path, monkeypatch: pytest.MonkeyPatch, buffers: int,
    error: type[BaseException],
) -> None:  # fmt: skip
    taken, closed, close = Session.step, [], Loader.close

    def interrupted(self: Session, *inputs: object) -> list[tuple[int, int, int]]:
        if self.steps == 2:
            raise error
        return taken(self, *inputs)  # type: ignore[arg-type]  # as it was called

    def watched(self: Loader) -> None:
        close(self)
        closed.append(self)

    monkeypatch.setattr(Session, "step", interrupted)
    monkeypatch.setattr(Loader, "close", watched)
    with pytest.raises(error):
        memlab.feed(step, folder, BATCH, buffers, disk="0.1 MB/s")
    assert not closed[0].memory.blocks


@pytest.mark.usefixtures("heeded")
def test_ctrl_c_at_any_moment(step: Step, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt arrives wherever the process is at that moment."""
    memlab.feed(step, folder, BATCH)  # compiles, and looks for libraries
    read = Source.read

    def slow(self: Source, name: str, target: Array) -> int:
        if name.startswith("000009"):
            interrupt_main()
        return read(self, name, target)

    monkeypatch.setattr(Source, "read", slow)
    with pytest.raises(KeyboardInterrupt):
        memlab.feed(step, folder, BATCH, 2, disk="20 kB/s")


class Failing(Source):
    """Image source whose disk fails at the third batch, in whichever thread reads."""

    def read(self, name: str, target: Array) -> int:
        if name.startswith("000009"):
            raise RuntimeError("the disk is on fire")
        return super().read(name, target)


def loader(step: Step, images: Source, buffers: int, meter: Meter) -> Loader:
    ring = operations(step, BATCH, buffers, batches=6)
    draws = ImageDraws(7, {"crop": 0.0, "flip": 0.0, "mean": 0.0, "scale": 1.0})
    place = backend.find("cpu")
    return Loader(ring, BATCH, buffers, place, meter, images, kernel("fp32", "cpu"), draws)


@pytest.mark.parametrize("buffers", [0, 1, 2])
def test_an_error_of_the_loader_reaches_who_waits(step: Step, folder: Path, buffers: int) -> None:
    good = source(folder, SHAPE)
    failing = Failing(good.folder, good.files, good.shape, good.passed)
    with Meter() as meter:
        with (
            loader(step, failing, buffers, meter) as loading,
            pytest.raises(RuntimeError, match="fire"),
        ):
            assert len(list(loading.batches())) <= 2
        assert meter.live == 0


@pytest.mark.parametrize("buffers", [0, 1, 2])
def test_a_loop_that_is_left_early(step: Step, folder: Path, buffers: int) -> None:
    with Meter() as meter:
        with loader(step, source(folder, SHAPE), buffers, meter) as loading:
            with closing(loading.batches()) as batches:
                next(batches)
            assert loading.lanes is not None
            assert not any(thread.is_alive() for thread in loading.lanes.threads)
        assert meter.live == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"bad": "ignore"}, "unknown answer to a bad image 'ignore'"),
        ({"buffers": -1}, "buffers must be at least 0"),
        ({"deviation": 0}, "deviation must be above 1e-06"),
        ({"disk": "0 B/s"}, "nothing moves"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"batches": 0}, "batches must be at least 1"),
    ],
)
def test_what_is_refused(step: Step, folder: Path, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        memlab.feed(step, folder, BATCH, **arguments)  # type: ignore[arg-type]  # the mistake


def test_a_step_that_takes_other_images(step: Step, folder: Path) -> None:
    half = memlab.precision(step, "fp16")
    with pytest.raises(InputError, match="images are converted to fp32 or fp64"):
        memlab.feed(half, folder, BATCH)
    parts = memlab.accumulate(step, parts=2)
    with pytest.raises(InputError, match="feeds a whole batch"):
        memlab.feed(parts, folder, BATCH)


def test_what_does_not_fit_is_refused_before_it_is_allocated(
    step: Step, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The buffers count too: the step alone would fit."""
    need = memlab.plan(step).peak(BATCH)
    monkeypatch.setattr(free_memory, "room", lambda: Room(need))
    memlab.run(step, BATCH)
    with pytest.raises(DoesNotFitError, match="are missing"):
        memlab.feed(step, folder, BATCH)

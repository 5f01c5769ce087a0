"""A step in one arena: the same results, the bytes of the placement, and no read of free bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import memlab
from memlab.errors import InputError
from memlab.free_memory import Room
from memlab.kernels.registry import Kernel, KernelCall
from memlab.placement.placement import Placement
from memlab.runtime import program, run
from memlab.runtime.arena import Arena
from memlab.runtime.metering.meter import Meter
from memlab.runtime.program import OperationTurn, Program
from memlab.runtime.session import Session
from memlab.step.step import Step
from tests.staged_networks import NETWORKS, step
from tests.techniques.same import differences, ran

REWRITES = {
    "plain": lambda step: step,
    "in place": memlab.in_place,
    "recompute": memlab.recompute,
    "both": lambda step: memlab.in_place(memlab.recompute(step)),
}


def placed(step: Step, how: str = "best") -> Placement:
    return memlab.place(step.keep("gradients"), 3, how)


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("network", NETWORKS)
def test_results_are_the_same_and_the_arena_is_as_planned(network: str, rewrite: str) -> None:
    plain = step(network, "adam")
    after = REWRITES[rewrite](plain)
    placement = placed(after)
    run = ran(after, 3, placement=placement)
    assert not differences(ran(plain, 3), run)
    assert run.arena == placement.arena
    assert run.nan == ()
    before = [tensor.storage.size.at(3) for tensor in after.live_in]
    assert run.peak == placement.arena + sum(before)


@pytest.mark.parametrize("how", ["no reuse", "birth", "biggest", "best fit"])
def test_every_way_to_place_gives_the_same(how: str) -> None:
    plain = step("branches")
    assert not differences(ran(plain, 3), ran(plain, 3, placement=placed(plain, how)))


def test_a_placement_by_name_and_in_other_formats() -> None:
    plain = memlab.precision(step("joins"), "mixed fp16")
    run = ran(plain, 3, placement="best")
    assert not differences(ran(plain, 3), run)
    assert run.placement is not None
    assert "placed: " in run.planned.notes[-1]


def test_an_inference_and_a_second_step_in_the_same_arena() -> None:
    for plain in (step("branches", "inference"), step("branches")):
        placement = memlab.place(plain, 2)
        with (
            Session(Program(plain, 2)) as one,
            Session(Program(plain, 2, placement=placement), poison=True) as other,
        ):
            for _ in range(3):
                one.step()
                other.step()
                assert not other.nan
                for tensor in plain.live_out:
                    assert one.value(tensor).tobytes() == other.value(tensor).tobytes()


def test_who_reads_what_is_free_gets_nan() -> None:
    """Planted error: a map is freed one operation before its last reader."""
    plain = step("sums")
    session = Session(Program(plain, 2, placement=memlab.place(plain, 2)), poison=True)
    index = next(i for i, turn in enumerate(session.turns) if "fc1" in turn.deaths)
    deaths = session.program.deaths
    deaths[index].remove("fc1")
    deaths[index - 1].append("fc1")
    keep = session.memory.free

    def early(name: str) -> None:
        piece = session.memory.blocks[name]
        keep(name)
        if name == "fc1":
            session.memory.blocks[name] = piece

    session.memory.free = early  # type: ignore[method-assign]  # planted
    session.step()
    assert plain.ops[index].name in session.nan


OVERFLOWS = {"loss_scale": 2.0**40}
"""In mixed fp16 the first gradients are infinite, and what is made of them NaN."""


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("network", NETWORKS)
def test_nan_of_the_training_is_not_blamed_on_the_placement(network: str, rewrite: str) -> None:
    plain = REWRITES[rewrite](memlab.precision(step(network, "sgd"), "mixed fp16"))
    one = ran(plain, 3, settings=OVERFLOWS)
    other = ran(plain, 3, settings=OVERFLOWS, placement="best")
    assert any(np.isnan(values.astype(np.float32)).any() for values in one.gradients.values())
    assert not differences(one, other)
    assert other.nan == ()
    assert "NaN" not in other.text()


def test_a_loss_that_is_nan_is_so_without_an_arena() -> None:
    x = memlab.network("large", features=4).linear(4, name="a").relu().linear(4, name="b")
    plain = memlab.precision(memlab.training_step(x.linear(3).cross_entropy(), "sgd"), "fp16")
    signs = np.array([1, -1, 1, -1])
    given = {"a.weight": np.full((4, 4), 6e4), "b.weight": np.full((4, 4), 6e4) * signs}
    options = {"x": np.full((2, 4), 6e4), "parameters": given}
    one, other = ran(plain, 2, **options), ran(plain, 2, **options, placement="best")
    assert np.isnan(one.loss or 0.0)
    assert not differences(one, other)
    assert other.nan == ()


def test_nan_stays_unclear_where_the_step_without_an_arena_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second run needs room beside the results of the first, so the bytes that are free by then
    decide."""
    plain = memlab.precision(step("sums"), "mixed fp16")
    placement, need = memlab.place(plain, 3), memlab.plan(plain).peak(3)
    seen: list[bool] = []

    class Counted(Session):
        def step(self, x: Any = None, labels: Any = None, progress: bool = False) -> Any:
            seen.append(progress)
            monkeypatch.setattr("memlab.free_memory.room", lambda: Room(free))
            return super().step(x, labels, progress)

    monkeypatch.setattr(run, "Session", Counted)
    free = need - 1
    result = memlab.run(plain, 3, settings=OVERFLOWS, placement=placement, progress=True)
    assert (result.nan, seen) == ((), [True])
    assert result.as_dict()["unclear_nan"] == list(result.unclear) != []
    assert "too little is free to run the step without the arena" in result.text()
    monkeypatch.setattr("memlab.free_memory.room", lambda: Room(10**9))
    free = need
    result = memlab.run(plain, 3, settings=OVERFLOWS, placement=placement, progress=True)
    assert (result.nan, result.unclear, seen) == ((), (), [True] * 3)


def test_who_reads_what_is_free_is_named_where_the_training_overflows_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted error: a map is freed before an operation that reads it; where the operation writes
    NaN anyway, it writes more of them."""
    plain = memlab.precision(step("sums"), "mixed fp16")
    honest = ran(plain, 3, settings=OVERFLOWS, placement="best")
    (reader,) = (op for op in plain.ops if op.name == "backward of fc3")
    map_ = reader.reads["x"].storage.name
    before = plain.ops[plain.ops.index(reader) - 1].name
    compute = Session._compute

    def early(self: Session, turn: OperationTurn) -> None:
        compute(self, turn)
        if turn.op.name == before and isinstance(self.memory, Arena):
            self.memory._wipe(*self.memory.addresses[map_])

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_compute", early)
        result = ran(plain, 3, settings=OVERFLOWS, placement="best")
    assert honest.nan == ()
    assert result.nan == ("backward of fc3",)
    assert "NaN       written by backward of fc3" in result.text()


def overlapping(plain: Step, one: str, other: str) -> Placement:
    placement = memlab.place(plain.keep("gradients"), 3)
    return placement.moved(one, placement.address(other))


def test_an_overlap_is_refused_and_if_wanted_gives_wrong_results() -> None:
    plain = step("sums")
    wrong = overlapping(plain, "relu1", "tanh1")
    with pytest.raises(InputError, match="share bytes while both are alive; move one of them, or"):
        ran(plain, 3, placement=wrong)
    run = ran(plain, 3, placement=wrong, overlapping=True, poison=False)
    assert differences(ran(plain, 3), run)


def test_an_index_is_never_overlapped() -> None:
    plain = step("slices")
    wrong = overlapping(plain, "relu1", "pool1.indices")
    with pytest.raises(InputError, match="holds uint8, which lead a kernel to its values"):
        ran(plain, 3, placement=wrong, overlapping=True, poison=False)


def test_a_placement_of_something_else_gives_one_sentence() -> None:
    plain = step("sums")
    sentence = "this placement is of another step, another batch, or one that keeps other tensors"
    for other in (memlab.place(plain, 2), memlab.place(step("joins"), 3)):
        with pytest.raises(InputError, match=sentence):
            memlab.run(plain, 3, placement=other)
    with pytest.raises(InputError, match=sentence):
        ran(plain, 3, placement=memlab.place(plain, 3))
    with pytest.raises(InputError, match="a placement is needed, got 7"):
        memlab.run(plain, 3, placement=7)  # type: ignore[arg-type]  # wrong on purpose


def test_an_arena_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = step("sums")
    placement = memlab.place(plain, 3, "no reuse")
    free = memlab.plan(plain).peak(3)
    monkeypatch.setattr("memlab.free_memory.room", lambda: Room(free))
    memlab.run(plain, 3)
    with pytest.raises(InputError, match="this plan holds for no smaller batch; plan again"):
        memlab.run(plain, 3, placement=placement)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_inside_an_operation_frees_the_arena(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, real = memlab.in_place(memlab.recompute(step("branches"))), program.kernels_of
    placement = memlab.place(plain, 3)
    first = memlab.run(plain, 3, placement=placement)

    def kernels_of(of: Step, device: str) -> list[Kernel]:
        return [*real(of, device)[:20], broken, *real(of, device)[21:]]

    def broken(call: KernelCall) -> None:
        raise error

    with monkeypatch.context() as patch, Meter() as meter:
        patch.setattr(program, "kernels_of", kernels_of)
        before = meter.live
        held = Session(Program(plain, 3, placement=placement), meter=meter, poison=True)
        assert meter.live >= before + placement.arena
        with pytest.raises(error):
            held.step()
        assert meter.live == before
    again = memlab.run(plain, 3, placement=placement)
    assert (again.residual, again.nan, again.loss) == (0, (), first.loss)


def test_replacing_the_notes_keeps_a_placement_valid() -> None:
    plain = step("sums")
    assert (
        memlab.run(replace(plain, notes=("x",)), 3, placement=memlab.place(plain, 3)).residual == 0
    )

"""A batch in parts: bytes by hand, gradients of the whole batch, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import memlab
from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.layers import Dropout, algorithms
from memlab.lesson.digits import Digits
from memlab.networks.graph import Network
from memlab.runtime.inputs import Inputs
from memlab.runtime.program import Program
from memlab.runtime.run import Run
from memlab.runtime.session import Session
from memlab.step.op import LOAD, OF_PART, Op, Phase
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques import application_order
from memlab.techniques.application_order import PART, PARTS
from tests.drawn import examples
from tests.kernels_by_case import distance
from tests.networks_at_random import networks, tied
from tests.rows import every_row
from tests.runtime.test_run import SMALL, SMALLEST
from tests.staged_networks import NETWORKS, TRAINED, step
from tests.techniques.same import differences, ran

Rewrite = Callable[[Step], Step]
EXACT = 1e-12
"""How far gradients in fp64 may be apart, as the norm of the difference over the norm."""
SAMPLES = 8
WHOLE = ("mnist_cnn", "alexnet", "googlenet", "vit_s", "gpt2", "rnn", "lstm")
"""Networks of the zoo in which no layer looks at the batch, one of each kind."""


BEFORE: dict[str, Rewrite] = {
    "recompute": memlab.recompute,
    "chain": partial(memlab.recompute, how="chain", batch=2),
    "offload": memlab.offload,
    "in place": memlab.in_place,
    "both": lambda before: memlab.in_place(memlab.offload(memlab.recompute(before), "conv")),
}
"""What changes no value, before accumulate."""


def zoo(name: str) -> Network:
    image = {"image": 32 if name.startswith(("vgg", "resnet")) else 64, "classes": 10}
    return memlab.zoo.ZOO[name](**SMALL.get(name, image))


@pytest.mark.measures
@pytest.mark.parametrize(("mode", "policy"), [("bf16", "all"), ("mixed bf16", "conv")])
def test_copies_of_small_maps_take_what_is_planned(mode: str, policy: str) -> None:
    """The peak is as planned too: a copy to the host begins beside the operation before it."""
    before = memlab.precision(step("branches"), mode)
    run = ran(memlab.accumulate(memlab.offload(before, policy), 2), 32)
    assert (run.residual, run.peak) == (0, run.planned.peak(32))


# -- bytes ----------------------------------------------------------------------------------------


@every_row("optimizer", ["sgd", "adam"])
@every_row("name", NETWORKS)
def test_a_part_takes_what_the_step_takes_and_the_gradients_that_are_there(
    name: str, optimizer: str
) -> None:
    """The first part is the plain step up to its updates. Each other one has beside it what is
    not written yet there: gradients of parameters, and the loss."""
    plain, found = step(name, optimizer), memlab.accumulate(step(name, optimizer), 3)
    ledger, other = memlab.plan(plain), memlab.plan(found)
    count = sum(op.phase is not Phase.UPDATE for op in plain.ops)
    for batch in (1, 5):
        timeline, there = ledger.timeline(batch), other.timeline(batch)
        assert there[:count] == timeline[:count]
        assert there[-(len(plain.ops) - count) :] == timeline[count:]
        waiting = [unborn(plain, index) + beside(plain, index) for index in range(count)]
        for part in (1, 2):
            first = count + (part - 1) * (count + 1)
            rest = there[first + 1 :][:count]
            assert rest == [a + b for a, b in zip(timeline[:count], waiting, strict=True)]


def unborn(plain: Step, index: int) -> int:
    """The bytes of sums that an operation and those before it have not written."""
    written = {t.storage.name for op in plain.ops[: index + 1] for t in op.writes.values()}
    sums = {
        t.storage.name: t.storage.size.fixed
        for op in plain.ops
        for t in op.writes.values()
        if t.role is Role.PARAMETER_GRADIENT or (op.phase is Phase.LOSS and not t.axes)
    }
    return sum(size for name, size in sums.items() if name not in written)


def beside(plain: Step, index: int) -> int:
    """Where a batch norm writes its sums before they are added."""
    op = plain.ops[index]
    own = [t for t in op.writes.values() if t.role is Role.PARAMETER_GRADIENT]
    return sum(t.size.fixed for t in own) if op.kind == "batch_norm.backward" else 0


def test_256_images_in_two_parts_on_a_card_of_12_gb() -> None:
    """VGG-16: what the way out takes, and what it costs in seconds."""
    plain = memlab.lowering(memlab.training_step(memlab.zoo.vgg16(), "sgd"), "implicit-gemm")
    before, after = memlab.in_place(plain), memlab.in_place(memlab.accumulate(plain, 2))
    peak = memlab.plan(after).peak(128)
    parameters = sum(t.size.fixed for t in plain.live_in if t.role is Role.PARAMETER)
    assert round(memlab.plan(before).peak(256) / 1e9, 2) == 17.14
    assert round(peak / 1e9, 2) == 9.15
    assert 0 < peak - memlab.plan(before).peak(128) < parameters
    assert memlab.plan(memlab.accumulate(before, 2)).timeline(128) == memlab.plan(after).timeline(
        128
    )
    whole, parts = (memlab.clock(s, b, "titan x").seconds for s, b in ((before, 256), (after, 128)))
    assert 1 < parts / whole < 1.0005


def test_what_a_part_costs_more() -> None:
    """It reads and writes a gradient instead of writing it, with an addition for each value."""
    plain, found = step("cells"), memlab.accumulate(step("cells"), 2)
    later = {op.name: op for op in found.ops}
    for op in plain.ops:
        if op.phase is Phase.UPDATE:
            continue
        own = later[f"{op.name} in part 2"]
        sums = [t for t in op.writes.values() if not t.size.per_sample]
        assert own.bytes_moved.fixed - op.bytes_moved.fixed == sum(t.size.fixed for t in sums)
        values = sum(t.size.fixed // 4 for t in sums)
        assert own.flops.fixed - op.flops.fixed == values
    assert any(op.kind == LOAD for op in found.ops)


def test_the_first_part_has_the_names_of_the_plain_step() -> None:
    plain, found = step("branches"), memlab.accumulate(step("branches"), 2)
    names = [op.name for op in found.ops]
    body = [op.name for op in plain.ops if op.phase is not Phase.UPDATE]
    rest = [op.name for op in plain.ops if op.phase is Phase.UPDATE]
    assert names == [*body, "load of part 2", *(f"{name} in part 2" for name in body), *rest]
    assert found.describe().endswith("accumulated over 2 parts")
    assert [op.attributes.get(PART) for op in found.ops] == (
        [1] * len(body) + [2] * (1 + len(body)) + [None] * len(rest)
    )


def test_each_part_waits_for_its_own_copies() -> None:
    plain = memlab.offload(step("branches"))
    found = {op.name: op for op in memlab.accumulate(plain, 2).ops}
    waiting = [op for op in plain.ops if op.after]
    assert waiting
    for op in waiting:
        assert found[op.name].after == op.after
        assert found[f"{op.name} in part 2"].after == tuple(f"{n} in part 2" for n in op.after)


# -- what stays, and what is refused --------------------------------------------------------------


def test_an_update_that_waits_for_an_operation_waits_for_that_of_the_last_part() -> None:
    plain = memlab.training_step(memlab.zoo.mnist_cnn(), "sgd")
    last = next(op for op in reversed(plain.ops) if op.phase is Phase.BACKWARD)
    ops = [replace(op, after=(last.name,)) if op.phase is Phase.UPDATE else op for op in plain.ops]
    step = memlab.accumulate(replace(plain, ops=tuple(ops)), 3)
    waits = {op.after for op in step.ops if op.phase is Phase.UPDATE}
    assert waits == {(f"{last.name} in part 3",)}


def test_what_has_nothing_to_accumulate_stays_as_it_is() -> None:
    inference, training = step("branches", "inference"), step("branches")
    assert memlab.accumulate(inference, 4) is inference
    assert memlab.accumulate(training, 1) is training


TWO = memlab.accumulate(step("branches", "adam"), 2)
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no step": (lambda: memlab.accumulate(memlab.zoo.vgg16()), "rewrites a step"),  # type: ignore[arg-type]  # wrong on purpose
    "no part": (lambda: memlab.accumulate(step("sums"), 0), "at least 1"),
    "half a part": (lambda: memlab.accumulate(step("sums"), 1.5), "whole number"),  # type: ignore[arg-type]  # wrong on purpose
    "too many": (lambda: memlab.accumulate(step("sums"), 1025), "at most 1,024"),
    "twice": (lambda: memlab.accumulate(TWO, 2), "over 2 parts already"),
    "after no reuse": (
        lambda: memlab.accumulate(memlab.no_reuse(step("sums"))), "try memlab.no_reuse.memlab.acc"),
    "precision": (lambda: memlab.precision(TWO, "bf16"), "precision comes before accumulate"),
    "lowering": (lambda: memlab.lowering(TWO, "direct"), "lowering comes before accumulate"),
    "masks": (lambda: memlab.relu_masks(TWO), "relu_masks comes before accumulate"),
    "states": (lambda: memlab.eight_bit_states(TWO), "states comes before accumulate"),
    "recompute": (lambda: memlab.recompute(TWO), "recompute comes before accumulate"),
    "offload": (lambda: memlab.offload(TWO), "offload comes before accumulate"),
    "search": (
        lambda: memlab.offload(TWO, "best", batch=2, budget="1 GB", link="1 GB/s"),
        "before accumulate"),
}  # fmt: skip


@every_row("name", REFUSED)
def test_what_is_refused_in_one_sentence(name: str) -> None:
    call, says = REFUSED[name]
    with pytest.raises(InputError, match=says) as refused:
        call()
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_the_order_that_a_refusal_names_works() -> None:
    before = step("branches", "adam")
    for technique in ("precision", "lowering", "recompute", "offload"):
        given: tuple[Any, ...] = {"precision": ("bf16",), "lowering": ("direct",)}.get(
            technique, ()
        )
        after = memlab.accumulate(getattr(memlab, technique)(before, *given))
        assert after.notes[-1] == "accumulated over 2 parts"
        assert memlab.plan(after).peak(2) > 0


# -- gradients of the whole batch -----------------------------------------------------------------


def undrawn(before: Step) -> Step:
    """The step, in which dropout drops nothing."""
    return replace(before, ops=tuple(map(_kept, before.ops)))


def _kept(op: Op) -> Op:
    layer = Dropout(0.0) if isinstance(op.attributes.get("layer"), Dropout) else None
    return replace(op, attributes={**op.attributes, "layer": layer}) if layer else op


def apart(plain: Run, other: Run) -> float:
    """How far loss and gradients are apart."""
    assert plain.loss is not None
    assert other.loss is not None
    gaps = [distance(other.gradients[name], plain.gradients[name]) for name in plain.gradients]
    return max(abs(other.loss - plain.loss) / abs(plain.loss), *gaps)


def in_parts(before: Step, parts: int, rewrite: Rewrite = lambda after: after) -> Run:
    after = rewrite(memlab.accumulate(before, parts))
    return ran(after, SAMPLES // parts)


@pytest.mark.measures
@pytest.mark.parametrize("parts", [1, 2, 4, 8])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "branches"])
def test_gradients_are_those_of_the_whole_batch(name: str, parts: int) -> None:
    before = undrawn(step(name, "sgd", format="fp64"))
    plain, found = ran(before, SAMPLES), in_parts(before, parts)
    assert apart(plain, found) < EXACT
    assert found.residual == 0


@pytest.mark.measures
@pytest.mark.parametrize(("name", "parts"), list(zip(WHOLE, cycle((2, 4, 8)), strict=False)))
def test_the_zoo_without_batch_norm(name: str, parts: int) -> None:
    before = undrawn(memlab.training_step(zoo(name), "sgd", "fp64"))
    plain, found = ran(before, SAMPLES), in_parts(before, parts)
    assert apart(plain, found) < EXACT
    assert found.residual == 0


@pytest.mark.measures
@pytest.mark.parametrize("algorithm", algorithms.on("cpu"))
def test_every_algorithm_adds_to_the_gradients_that_are_there(algorithm: str) -> None:
    x = memlab.network("maps", image=(3, 9, 7)).conv(4, 3, pad=1).relu()
    net = x.conv(5, 3, pad=1).max_pool(2).flatten().linear(3).cross_entropy()
    before = memlab.lowering(memlab.training_step(net, "sgd", "fp64"), algorithm)
    assert apart(ran(before, SAMPLES), in_parts(before, 4)) < EXACT


def samples() -> dict[str, Any]:
    """As many samples as a batch has, with their labels."""
    rng = np.random.default_rng(3)
    x, labels = rng.normal(size=(SAMPLES, 3, 5, 7)), rng.integers(0, 3, SAMPLES)
    return {"x": x, "labels": labels}


def _changed(change: Callable[[Op], Op]) -> Rewrite:
    return lambda after: replace(after, ops=tuple(map(change, after.ops)))


def _sum(op: Op) -> Op:
    """The sum of the parts instead of their mean."""
    kept = {name: each for name, each in op.attributes.items() if name != PARTS}
    return op if op.kind == LOAD else replace(op, attributes=kept)


def _again(op: Op) -> Op:
    """Every part learns from the samples of the second."""
    return replace(op, attributes={**op.attributes, PART: 2}) if op.kind == LOAD else op


def _over(op: Op) -> Op:
    """A later part writes over the gradients of the earlier ones."""
    if op.phase is not Phase.BACKWARD:
        return op
    return replace(op, writes={**op.writes, **op.updates}, updates={})


def _apart(op: Op) -> Op:
    """The loss of the last part alone."""
    if op.phase is not Phase.LOSS:
        return op
    return replace(op, writes={**op.writes, **op.updates}, updates={})


WRONG = {each.__name__: _changed(each) for each in (_sum, _again, _over, _apart)}


@pytest.mark.measures
@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_seen(mistake: str) -> None:
    """The tests above can fail."""
    before = step("joins", "sgd", format="fp64")
    given = samples()
    found = ran(WRONG[mistake](memlab.accumulate(before, 4)), 2, **given)
    assert apart(ran(before, SAMPLES, **given), found) > 1e-3


@pytest.mark.measures
def test_samples_that_are_given_are_cut_in_their_order() -> None:
    before, given = step("joins", "sgd", format="fp64"), samples()
    plain = ran(before, SAMPLES, **given)
    lists = {name: array.tolist() for name, array in given.items()}
    found = ran(memlab.accumulate(before, 4), 2, **lists)
    assert apart(plain, found) < EXACT
    assert found.residual == 0


@pytest.mark.measures
@pytest.mark.parametrize(("argument", "of"), [("x", "input"), ("labels", "labels")])
@pytest.mark.parametrize("count", [2, 6, 0])
def test_samples_that_do_not_fill_the_parts_are_refused(argument: str, of: str, count: int) -> None:
    given = samples()
    given[argument] = given[argument][:count]
    with pytest.raises(InputError, match=f"^{of} must hold 8 samples, 2 for each of 4 parts"):
        memlab.run(memlab.accumulate(step("joins"), 4), 2, **given)


@pytest.mark.measures
@pytest.mark.parametrize("bad", ["x", "labels"])
def test_a_bad_sample_of_a_later_part_is_refused_before_the_first_runs(
    bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(
        Session, "_run_operation", lambda self, index, turn: begun.append(turn.op.name)
    )
    given = samples()
    given[bad][-1] = np.nan if bad == "x" else 3
    says = "input holds NaN" if bad == "x" else "labels must lie between 0 and 2, got 0 to 3"
    with Session(Program(memlab.accumulate(step("joins"), 4), 2)) as session:
        with pytest.raises(InputError, match=says):
            session.step(given["x"], given["labels"])
        assert session.closed
    assert not begun


# -- batch norm and dropout -----------------------------------------------------------------------


def normed() -> Network:
    x = memlab.network("normed", image=(3, 6, 5)).conv(4, 3, bias=False).batch_norm().relu()
    return x.flatten().linear(6, bias=False).batch_norm().linear(3).cross_entropy()


def drawn(before: Step, count: int, seed: int = 0) -> list[Array]:
    """Samples and labels as a run draws them."""
    program = Program(before, count)
    inputs, found = Inputs(program.inputs, count, program.parts, seed, None, None), []
    for tensor, *_ in inputs.specs.values():
        found.append(np.empty(tensor.shape(count), tensor.format.dtype()))
        inputs.write(tensor.name, tensor, 1, found[-1])
    return found


def in_turn(before: Step, batch: int, given: list[Array]) -> list[Array]:
    """The mean of the gradients of steps that change nothing, one for each part: an oracle whatever
    looks at the batch."""
    found: list[list[Array]] = []
    with Session(Program(before, batch), settings={"rate": 0.0}) as session:
        for first in range(0, len(given[0]), batch):
            x, labels = (array[first : first + batch] for array in given)
            session.step(x, labels)
            found.append(list(alive(session, Role.PARAMETER_GRADIENT).values()))
    return [sum(each) / len(found) for each in zip(*found, strict=True)]


@pytest.mark.measures
@given(st.one_of(networks(8), tied(6)), st.integers(2, 4), st.integers(1, 3),
       st.sampled_from([way for way in BEFORE if way != "chain"]))  # fmt: skip
@examples(25)
def test_random_networks(net: Network, parts: int, batch: int, way: str) -> None:
    before = undrawn(memlab.training_step(net, "sgd", "fp64")).keep("gradients")
    samples = drawn(before, parts * batch)
    due = in_turn(before, batch, samples)
    after = memlab.accumulate(BEFORE[way](before), parts)
    assume(application_order.accumulates(after))  # a network without parameters has no backward
    with Session(Program(after, batch), settings={"rate": 0.0}) as session:
        session.step(samples[0], samples[1])
        found = list(alive(session, Role.PARAMETER_GRADIENT).values())
    whole = np.concatenate([each.ravel() for each in due] or [np.zeros(1)])
    made = np.concatenate([each.ravel() for each in found] or [np.zeros(1)])
    assert distance(made, whole) < EXACT
    assert memlab.run(after, batch).residual == 0


@pytest.mark.measures
def test_a_batch_norm_sees_one_part_at_a_time() -> None:
    """The gradients are the mean of those of two steps that change nothing, and the running
    statistics move as in these two; the whole batch has others."""
    before, rng = memlab.training_step(normed(), "sgd", "fp64").keep("gradients"), np.random
    x, labels = rng.default_rng(1).normal(size=(8, 3, 6, 5)), np.arange(8) % 3
    still = {"rate": 0.0}
    with Session(Program(before, 4), settings=still) as session:
        gradients = []
        for part in (slice(0, 4), slice(4, 8)):
            session.step(x[part], labels[part])
            gradients.append(alive(session, Role.PARAMETER_GRADIENT))
        statistics = alive(session, Role.BUFFER)
    with Session(Program(memlab.accumulate(before, 2), 4), settings=still) as session:
        session.step(x, labels)
        found, moved = alive(session, Role.PARAMETER_GRADIENT), alive(session, Role.BUFFER)
    for name, value in found.items():
        assert distance(value, (gradients[0][name] + gradients[1][name]) / 2) < EXACT, name
    assert all((moved[name] == statistics[name]).all() for name in statistics)
    whole = memlab.run(before, 8, x, labels, settings=still).gradients
    gaps = {name: distance(found[name], value) for name, value in whole.items()}
    assert max(gaps.values()) > 0.01


def alive(session: Session, role: Role) -> dict[str, Array]:
    """Copies of what outlives a step in a role."""
    chosen = [tensor for tensor in session.program.step.live_out if tensor.role is role]
    return {tensor.name: np.array(session.value(tensor)) for tensor in chosen}


@pytest.mark.measures
def test_dropout_draws_its_own_numbers_for_each_part() -> None:
    x = memlab.network("drops", features=40).linear(40).dropout(name="drop")
    before = memlab.training_step(x.linear(3).cross_entropy(), "sgd", "fp64")
    after = memlab.accumulate(before, 2)
    dropped = [op.writes["y"] for op in after.ops if op.kind == "dropout"]
    kept = replace(after, live_out=(*after.live_out, *dropped))
    rows = np.random.default_rng(0).normal(size=(3, 40))
    with Session(Program(kept, 3)) as session:
        session.step(np.concatenate([rows, rows]), np.zeros(6, int))
        one, other = (np.array(session.value(tensor)) for tensor in dropped)
    assert ((one == 0) != (other == 0)).any()
    both = (one != 0) & (other != 0)
    assert (one[both] == other[both]).all()


# -- with other techniques ------------------------------------------------------------------------

AFTER: dict[str, Rewrite] = {
    "": lambda after: after,
    "in place": memlab.in_place,
    "no reuse": memlab.no_reuse,
}
STORED: dict[str, Rewrite] = {
    "fp32": lambda before: before,
    "mixed fp16": partial(memlab.precision, mode="mixed fp16"),
    "gradients in bf16": partial(memlab.precision, parameter_gradient="bf16"),
    "8-bit states": memlab.eight_bit_states,
    "masks": memlab.relu_masks,
    "winograd": partial(memlab.lowering, algorithm="winograd"),
}


@pytest.mark.measures
@pytest.mark.parametrize(
    ("stored", "way", "later"),
    list(zip(STORED, cycle(BEFORE), cycle(AFTER), strict=False)) + [
        ("fp32", way, later) for way, later in zip(BEFORE, cycle(AFTER), strict=False)
    ],
)  # fmt: skip
def test_pairs_give_the_same_bits_as_planned(stored: str, way: str, later: str) -> None:
    before = STORED[stored](step("branches", "adam"))
    scale = {"loss_scale": 1024.0}
    plain = ran(memlab.accumulate(before, 3), 2, settings=scale)
    after = AFTER[later](memlab.accumulate(BEFORE[way](before), 3))
    assert differences(plain, ran(after, 2, settings=scale)) == []
    placed = ran(after, 2, settings=scale, placement="best")
    assert differences(plain, placed) == []
    assert not placed.nan
    host = memlab.plan(after).peak(2, HOST)
    assert bool(host) == (way in ("offload", "both")) == bool(placed.host_peak)


@pytest.mark.measures
@pytest.mark.parametrize(("name", "way"), list(zip(SMALLEST, cycle(BEFORE), strict=False)))
def test_the_zoo_takes_what_was_planned(name: str, way: str) -> None:
    before = BEFORE[way](memlab.training_step(zoo(name), "sgd"))
    assert memlab.run(memlab.accumulate(before, 2), 2).residual == 0


@pytest.mark.measures
@pytest.mark.parametrize("optimizer", TRAINED)
def test_one_update_a_step(optimizer: str) -> None:
    """Three steps of a session end where three steps on whole batches end."""
    before, ends = step("joins", optimizer, format="fp64"), []
    for of, batch in ((before, 8), (memlab.accumulate(before, 2), 4)):
        with Session(Program(of, batch), settings={"rate": 0.001}) as session:
            for _ in range(3):
                session.step()
            ends.append(alive(session, Role.PARAMETER) | alive(session, Role.OPTIMIZER_STATE))
    for name, value in ends[0].items():
        assert distance(ends[1][name], value) < 1e-9, name


@pytest.mark.measures
def test_a_training_in_parts_goes_the_way_of_whole_batches() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 64)
    x = ((2 * y - 1) * rng.uniform(0.5, 1, 64)).astype(np.float32).reshape(-1, 1)
    net = memlab.network("tiny", features=1).linear(4).tanh().linear(2).cross_entropy()
    data = Digits(x, y, x, y)
    plain = memlab.train(net, data, batch=16, epochs=2)
    for parts in (2, 4):
        rewrite = partial(memlab.accumulate, parts=parts)
        found = memlab.train(net, data, batch=16 // parts, epochs=2, rewrite=rewrite)
        np.testing.assert_allclose(found.losses, plain.losses, rtol=1e-5)
        assert len(found.losses) == len(plain.losses) == 8
        assert found.peak < plain.peak
    with pytest.raises(InputError, match="a batch of 128 needs as many samples, got 64"):
        memlab.train(net, data, batch=16, rewrite=partial(memlab.accumulate, parts=8))


@pytest.mark.measures
def test_on_a_gpu_or_its_simulator() -> None:
    before = memlab.training_step(normed(), "sgd", "fp64", "direct")
    after = memlab.accumulate(before, 2)
    here, there = ran(after, 2), ran(after, 2, device="cuda")
    assert there.residual == 0
    assert apart(here, there) < 1e-10


def test_the_room_for_the_sums_of_a_batch_norm_is_workspace() -> None:
    found = memlab.accumulate(memlab.training_step(normed(), "sgd"), 2)
    rooms = [t for op in found.ops for n, t in op.workspace.items() if n.endswith(OF_PART)]
    assert [t.size.fixed for t in rooms] == [4 * 6] * 2 + [4 * 4] * 2


# -- what is answered ------------------------------------------------------------------------------


def test_answers_tell_parts_apart_and_compare_them() -> None:
    before = memlab.plan(memlab.training_step(zoo("mnist_cnn"), "sgd"))
    after = memlab.plan(memlab.accumulate(memlab.training_step(zoo("mnist_cnn"), "sgd"), 4))
    assert "is 17 in each of 4 parts: it" in str(after.fit(after.peak(17)))
    assert " in each of " not in str(before.fit("1 MB"))
    inputs = [block.entry.name for block in after.of("input", 3).blocks]
    assert inputs[0] == "input"
    assert {f"{name} in part {n}" for name in ("input", "labels") for n in (2, 3, 4)} < set(inputs)
    blocks = memlab.diff(before, after, 8).blocks
    assert not [name for name in blocks if " in part" in name]
    assert blocks["gradient of conv1.weight"] > 0


@pytest.mark.parametrize("batch", [1, 4])
def test_a_saved_plan_is_the_same(tmp_path: Path, batch: int) -> None:
    ledger = memlab.plan(memlab.in_place(memlab.accumulate(step("branches"), 3)))
    memlab.save(ledger, tmp_path / "plan.json")
    again = memlab.load(tmp_path / "plan.json")
    assert again.timeline(batch) == ledger.timeline(batch)
    assert str(again.fit("1 MB")) == str(ledger.fit("1 MB"))
    assert again.describe() == ledger.describe()

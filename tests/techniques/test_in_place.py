"""In place: which outputs may, which may not and why; the same results, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import memlab
from memlab.errors import InputError
from memlab.networks.graph import Network
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques import in_place as module
from tests.rows import every_row
from tests.staged_networks import NETWORKS, TRAINED, step
from tests.techniques.same import differences, ran


def small() -> Network:
    x = memlab.network("small", image=(3, 8, 8)).conv(4, 3, name="conv").batch_norm(name="norm")
    y = x.relu(name="relu").conv(4, 3, pad=1, name="next").batch_norm(name="second")
    return y.add(x, name="sum").relu(name="last").flatten().linear(3, name="fc").cross_entropy()


def chain() -> Step:
    x = memlab.network("chain", image=(3, 8, 8)).conv(4, 3, name="conv").batch_norm(name="norm")
    y = x.relu(name="relu").conv(4, 3, name="next").flatten().linear(3, name="fc")
    return memlab.training_step(y.cross_entropy())


def homes(step: Step) -> dict[str, str]:
    """The storage of every tensor that an operation writes."""
    return {t.name: t.storage.name for op in step.ops for t in op.writes.values()}


def test_a_relu_takes_the_place_of_a_map_that_nobody_keeps() -> None:
    found = homes(memlab.in_place(chain()))
    assert found["relu"] == "norm"
    assert found["norm"] == "norm"
    assert found["next"] == "next"
    assert found["gradient of norm"] == "gradient of relu"
    assert found["gradient of conv"] == "gradient of relu"


def test_a_sum_takes_the_place_of_its_dying_operand_and_no_other() -> None:
    found = homes(memlab.in_place(memlab.training_step(small())))
    assert found["sum"] == found["second"]
    assert found["last"] == found["second"]
    assert found["norm"] != found["second"]


def test_the_plan_names_every_tenant_of_a_block() -> None:
    ledger = memlab.plan(memlab.in_place(chain()))
    entry = next(entry for entry in ledger.entries if entry.name == "norm")
    names = [row.name for row in ledger.rows]
    first, last = names.index("norm"), names.index("relu")
    assert [tuple(tenant) for tenant in entry.tenants] == [
        ("norm", first, last),
        ("relu", last, entry.death),
    ]
    assert names[entry.death] == "backward of relu"
    assert not any(entry.tenants for entry in memlab.plan(chain()).entries)


@every_row(
    ("name", "why"),
    [
        ("norm", "backward of norm still needs conv"),
        ("next", "conv2d reads values again after it has written others"),
        ("fc", "linear reads values again"),
        ("backward of next", "conv2d.backward reads values again"),
        ("loss", "softmax_cross_entropy reads values again"),
    ],
)
def test_it_refuses_what_would_change_a_result_and_says_why(name: str, why: str) -> None:
    with pytest.raises(InputError, match=f"{name} cannot run in place: {why}"):
        memlab.in_place(chain(), layers=[name])


@pytest.mark.measures
def test_gelu_and_layer_norm_write_over_inputs_that_no_backward_reads() -> None:
    small = memlab.zoo.gpt_small(steps=8, layers=1, features=16, heads=2, vocabulary=10)
    for name, there in {"1.gelu": "1.fc1", "1.norm2": "1.add1"}.items():
        with pytest.raises(InputError, match=f"backward of {name} still needs {there}"):
            memlab.in_place(memlab.training_step(small), layers=[name])
    plain = memlab.inference_step(small)
    inside = memlab.in_place(plain)
    assert homes(inside)["1.gelu"] == homes(inside)["1.fc1"]
    one, other = memlab.run(plain, 3), memlab.run(inside, 3)
    assert other.residual == 0
    assert one.output is not None
    assert other.output is not None
    assert np.array_equal(one.output, other.output)


def test_what_is_there_before_the_step_is_not_overwritten() -> None:
    x = memlab.network("first", features=4).relu(name="relu").linear(3).cross_entropy()
    with pytest.raises(InputError, match="relu cannot run in place: input is what is there before"):
        memlab.in_place(memlab.training_step(x), layers=["relu"])


@pytest.mark.measures
def test_a_sum_of_three_does_not_overwrite_what_it_reads_twice() -> None:
    x = memlab.network("twice", features=4).linear(4, name="fc")
    y = x.add(x.linear(4, name="second"), x, name="sum").linear(3).cross_entropy()
    plain = memlab.training_step(y)
    assert homes(memlab.in_place(plain))["sum"] == "second"
    assert not differences(ran(plain, 2), ran(memlab.in_place(plain), 2))


def test_only_the_named_layers_move() -> None:
    found = homes(memlab.in_place(chain(), layers=["relu"]))
    assert found["relu"] == "norm"
    assert found["gradient of norm"] == "gradient of norm"


def test_a_second_time_changes_nothing() -> None:
    once = memlab.in_place(chain())
    assert memlab.in_place(once) == once
    assert once.notes == ("in place",)


def test_one_name_is_a_list_of_one() -> None:
    assert memlab.in_place(chain(), layers="relu") == memlab.in_place(chain(), layers=["relu"])


@every_row(
    ("layers", "sentence"),
    [
        (["rely"], "unknown operation 'rely'; did you mean 'relu'"),
        ("rely", "unknown operation 'rely'; did you mean 'relu'"),
        (5, r"layers must be a list, got 5; try \['relu1'\]"),
        ([["relu"]], r"layers are several names, got \[\['relu'\]\]"),
    ],
)
def test_bad_names_give_one_sentence(layers: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        memlab.in_place(chain(), layers=layers)  # type: ignore[arg-type]  # wrong on purpose


def test_of_hundreds_of_names_some_are_listed() -> None:
    step = memlab.training_step(memlab.zoo.resnet50())
    with pytest.raises(
        InputError, match=r"did you mean '1\.1\.relu1'\? Known: .* and 328 others\.$"
    ):
        memlab.in_place(step, layers=["1.1.relu11"])


def test_no_step_gives_one_sentence() -> None:
    with pytest.raises(InputError, match="in_place rewrites a step, got 7"):
        memlab.in_place(7)  # type: ignore[arg-type]  # wrong on purpose


@every_row("technique", ["precision", "lowering", "relu_masks", "eight_bit_states"])
def test_formats_and_algorithms_come_before_it(technique: str) -> None:
    late = memlab.in_place(memlab.training_step(small(), "adam"))
    with pytest.raises(InputError, match=rf"{technique} comes before in_place.*try memlab\.in_"):
        getattr(memlab, technique)(
            late, *{"precision": ["bf16"], "lowering": ["direct"]}.get(technique, [])
        )


@pytest.mark.measures
@pytest.mark.parametrize("optimizer", TRAINED)
@pytest.mark.parametrize("network", NETWORKS)
def test_results_are_the_same_bit_for_bit(network: str, optimizer: str) -> None:
    plain = step(network, optimizer)
    assert not differences(ran(plain, 3), ran(memlab.in_place(plain), 3))


@pytest.mark.measures
@pytest.mark.parametrize("mode", ["bf16", "mixed fp16"])
@pytest.mark.parametrize("network", NETWORKS)
def test_it_comes_after_precision(network: str, mode: str) -> None:
    plain = memlab.precision(step(network, "sgd"), mode)
    assert not differences(ran(plain, 2), ran(memlab.in_place(plain), 2))


@pytest.mark.measures
def test_an_inference_predicts_the_same() -> None:
    plain = step("branches", "inference")
    one, other = memlab.run(plain, 3), memlab.run(memlab.in_place(plain), 3)
    assert one.output is not None
    assert other.output is not None
    assert one.output.tobytes() == other.output.tobytes()
    assert other.residual == 0
    assert sum(other.inside) < sum(one.inside)


@pytest.mark.measures
def test_a_wrong_row_is_caught() -> None:
    """A pooling reads values again after it has written others: its row would be wrong."""
    x = memlab.network("pool", image=(2, 6, 6)).conv(3, 1, name="conv")
    y = x.avg_pool(3, 1, 1, name="pool").flatten().linear(2).squared_error()
    plain = memlab.inference_step(y)
    wrong = memlab.in_place(replace(plain, ops=tuple(map(_overwriting, plain.ops))))
    assert homes(wrong)["pool"] == "conv"
    one, other = memlab.run(plain, 2).output, memlab.run(wrong, 2).output
    assert one is not None
    assert other is not None
    assert one.tobytes() != other.tobytes()


def _overwriting(op: Op) -> Op:
    return replace(op, traits=replace(op.traits, over={"y": ("x",)})) if op.name == "pool" else op


def test_a_planted_overwrite_of_what_is_needed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its look at the last reader, the rewrite makes a step that no step may be."""
    monkeypatch.setattr(module._Homes, "reason", lambda *args: "")
    with pytest.raises(InputError, match=r"norm overwrites conv, which backward of norm still"):
        memlab.in_place(chain())


@pytest.mark.measures
def test_no_reuse_frees_nothing_and_gives_the_same() -> None:
    plain = step("branches")
    kept = memlab.no_reuse(plain)
    assert not differences(ran(plain, 3), ran(kept, 3))
    born = [entry for entry in memlab.plan(plain).entries if entry.birth >= 0]
    maps = [entry for entry in born if entry.role is not Role.WORKSPACE]
    alive = {entry.name for entry in memlab.plan(kept).alive(len(plain.ops) - 1)}
    assert alive >= {entry.name for entry in maps}
    assert memlab.plan(kept).peak(3) > sum(entry.size.at(3) for entry in maps)
    assert replace(kept, live_out=plain.live_out, notes=plain.notes) == plain

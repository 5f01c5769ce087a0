"""A recorded model's plan holds to the byte what PyTorch holds, at batches that nobody recorded."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import memlab
from memlab import InputError
from memlab.step.fp32_tiles import tiles
from memlab.step.op import Phase
from memlab.step.tensor import Role
from memlab.techniques.release import rewritable
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch import (
    OPTIMIZERS,
    observe,
    observed,
    real_outputs,
    record,
    tensor_modes,
)
from memlab.frontends.torch.dispatch_mode import SeenTensor
from memlab.frontends.torch.fitting.update_in_backward import OneByOne
from memlab.frontends.torch.fitting.wrapping import wrap
from memlab.frontends.torch.recording import OperatorCall, Spec
from memlab.frontends.torch.tensor_modes import RecordingRequest, World
from tests.oracles.torch_peak import count
from tests.torch_models import SMALL, Case, images, of_images
from tests.unknown_kinds import meaning

F = torch.nn.functional
nn = torch.nn
BATCHES = (2, 7, 16)
"""Of which the first was recorded."""
SURE = ("parameter", "buffer", "input", "optimizer_state")
STRAIGHT = [name for name in SMALL if name != "lstm"]
ON_REAL_TENSORS = pytest.mark.filterwarnings("ignore:memlab now runs this model's step on real")


def test_optimizers_have_the_names_that_are_told() -> None:
    assert tuple(tensor_modes.OPTIMIZERS) == OPTIMIZERS


def recorded(case: Case, optimizer: Any = "momentum", **options: Any) -> Any:
    return record(
        case.build, case.make_batch, case.loss_fn, optimizer, autocast=case.autocast, **options
    )


def truth(case: Case, batch: int, optimizer: Any = "momentum", **options: Any) -> Any:
    return count(
        case.build, case.make_batch, case.loss_fn, batch, optimizer, case.autocast, **options
    )


def assert_exact(case: Case, optimizer: Any = "momentum", **options: Any) -> None:
    ledger = memlab.plan(recorded(case, optimizer, **options))
    for batch in BATCHES:
        found = truth(case, batch, optimizer, **options)
        assert ledger.peak(batch, workspace=False) == found.most
        roles = ledger.roles(batch, workspace=False)
        assert {role: roles[Role(role)] for role in SURE} == {r: found.total(r) for r in SURE}


@pytest.mark.parametrize("name", STRAIGHT)
def test_the_peak_is_that_of_pytorch_to_the_byte(name):
    assert_exact(SMALL[name])


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("name", ["alexnet", "gpt"])
def test_so_it_is_with_other_optimizers(name, optimizer):
    assert_exact(SMALL[name], optimizer)


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # PyTorch looks at it to compare
@pytest.mark.parametrize("name", ["resnet", "lstm", "gpt", "autocast", "mse_loss", "checkpoint"])
def test_what_is_kept_for_equal_calls_is_what_they_give(name):
    """PyTorch itself holds each result that it finds by our key against one that it makes anew."""
    case = SMALL[name]
    world = World(
        RecordingRequest(case.build, case.make_batch, case.loss_fn, "adam", case.autocast), False
    )
    assert world.fake is not None
    world.fake.cache_crosscheck_enabled = True
    for batch in (5, 2, 3):
        world.trace(batch)


def told(call: OperatorCall) -> Any:
    """All of a call but its numbers: an optimizer's depend on how many steps it has taken."""
    specs = [each for each in call.args if isinstance(each, Spec)]
    return replace(call, args=tuple(specs), kwargs={})


@pytest.mark.parametrize(
    ("name", "names"), [("resnet", ("1", "2.0")), ("gpt", ("blocks.0",)), ("vit", ("blocks",))]
)
def test_a_model_recorded_with_a_change_is_as_one_that_is_built_with_it(name, names):
    case = SMALL[name]
    model = observed(case.build, case.make_batch, case.loss_fn, "adam")
    change = partial(wrap, names=names)
    for parts in (1, 2):
        again = model.again(change, parts=parts)
        anew = observe(
            lambda: change(case.build()), case.make_batch, case.loss_fn, "adam", accumulate=parts
        )
        assert again.blocks == anew.blocks
        assert list(map(told, again.calls)) == list(map(told, anew.calls))
    assert model.again().blocks == model.recording.blocks


@ON_REAL_TENSORS
def test_a_change_that_fake_tensors_cannot_take_is_recorded_on_real_ones():
    case = SMALL["resnet"]
    model = observed(case.build, case.make_batch, case.loss_fn)

    class Reading(nn.Sequential):  # type: ignore[name-defined]  # PyTorch has no types here
        def forward(self, x):
            return super().forward(x * (1 if x.sum() > -1e9 else 2))

    def change(net):
        net[1].__class__ = Reading
        return net

    assert not model.recording.real
    assert model.again(change).real
    assert model.again().blocks == model.recording.blocks


def test_equal_numbers_of_other_kinds_are_other_calls():
    keys = []
    with real_outputs.Fakes() as fakes:
        x = torch.empty(2, 3)
        for value in (1, 1.0, True):
            keys.append(fakes._cache_key(None, torch.ops.aten.add.Tensor, (x, value), {}))
        keys.append(fakes._cache_key(None, torch.ops.aten.add.Tensor, (x.t(), 1), {}))
    assert len(set(keys)) == 4


@pytest.mark.parametrize("name", ["resnet", "lstm", "gpt", "autocast", "mse_loss", "checkpoint"])
def test_fake_tensors_live_and_die_as_real_ones_do(name):
    """Every storage: the call that makes it, the call that it dies after, its bytes, its role."""
    case = SMALL[name]
    wish = RecordingRequest(case.build, case.make_batch, case.loss_fn, "adam", case.autocast)
    worlds = World(wish, real=False), World(wish, real=True)
    for each in worlds:
        each.trace(3)  # the first step, in which the optimizer gets its state
    fake, real = (each.trace(2) for each in worlds)
    assert [call.func for call in fake.calls] == [call.func for call in real.calls]
    assert [(b.nbytes, b.born, b.died, b.role, b.name) for b in fake.blocks] == [
        (b.nbytes, b.born, b.died, b.role, b.name) for b in real.blocks
    ]


def test_this_comparison_sees_a_storage_that_fake_tensors_have_wrong(monkeypatch):
    case = SMALL["mse_loss"]
    monkeypatch.setattr("memlab.frontends.torch.real_outputs.WRONG", {})
    ledger = memlab.plan(recorded(case))
    assert ledger.peak(7, workspace=False) < truth(case, 7).most


def test_a_recurrent_layer_is_off_by_what_it_rounds_and_says_so():
    case = SMALL["lstm"]
    step = recorded(case)
    (note,) = (note for note in step.notes if "rounded" in note)
    limit = int(note.split("up to ")[1].split(" B")[0].replace(",", ""))
    for batch in BATCHES:
        peak = memlab.plan(step).peak(batch, workspace=False)
        assert abs(peak - truth(case, batch).most) <= limit
    alone = recorded(case, batch=7)
    assert memlab.plan(alone).peak(7, workspace=False) == truth(case, 7).most
    with pytest.raises(InputError, match="holds for batch 7 to 7"):
        memlab.plan(alone).peak(8, workspace=False)


RESNET = SMALL["resnet"]


@pytest.mark.parametrize(
    "options",
    [{"accumulate": 3}, {"set_to_none": False}, {"keep_output": True},
     {"accumulate": 2, "set_to_none": False, "keep_output": True}],
    ids=str,
)  # fmt: skip
def test_the_loop_of_a_user_may_differ(options):
    assert_exact(SMALL["gpt"], "momentum", **options)


OWN = {
    "foreach": lambda p: torch.optim.Adam(p, foreach=True),
    "fused": lambda p: torch.optim.AdamW(p, fused=True),
    "amsgrad": lambda p: torch.optim.Adam(p, amsgrad=True),
    "needs values": lambda p: torch.optim.Adafactor(p),
}


@ON_REAL_TENSORS
@pytest.mark.parametrize("name", list(OWN))
def test_an_optimizer_may_be_a_function(name):
    assert_exact(RESNET, OWN[name])


class Branch(nn.Module):  # type: ignore[name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Flatten(), nn.Linear(192, 30), nn.ReLU(), nn.Linear(30, 10))

    def forward(self, x):
        y = self.inner(x)
        return y * 2 if y.sum() > -1e9 else y


class Counts(Branch):
    def forward(self, x):
        return self.inner(x) + float(x.numpy().mean())


@ON_REAL_TENSORS
@pytest.mark.parametrize("build", [Branch, Counts], ids=lambda b: b.__name__)
def test_what_fake_tensors_cannot_run_is_recorded_on_real_ones(build):
    case = of_images(build, 8, 10)
    assert_exact(case)
    assert any("recorded on real tensors" in note for note in recorded(case).notes)


def frozen():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
    model[0].requires_grad_(False)
    model.unused = nn.Linear(100, 100)
    model.forward = lambda x: model[3](model[2](model[1](model[0](x))))
    return model


class InsideBackward:
    """A loop of a user that updates each parameter as soon as its gradient is there."""

    def __init__(self, parameters: Any) -> None:
        self.each = {p: torch.optim.Adam([p], lr=0.01) for p in parameters}
        for parameter in self.each:
            parameter.register_post_accumulate_grad_hook(self.update)

    def update(self, parameter: Any) -> None:
        self.each[parameter].step()
        self.each[parameter].zero_grad()

    def step(self) -> None: ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    @property
    def state(self) -> Any:
        return {p: kept for each in self.each.values() for p, kept in each.state.items()}


@pytest.mark.parametrize("name", ["alexnet", "gpt", "resnet"])
def test_an_update_inside_backward_is_one_and_lets_gradients_go(name):
    assert_exact(SMALL[name], InsideBackward)
    step = recorded(SMALL[name], InsideBackward)
    last = max(i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD)
    assert any(op.phase is Phase.UPDATE for op in step.ops[:last])
    names = {each.name for each in memlab.plan(step).entries}
    gradients = [e for e in memlab.plan(step).entries if e.role is Role.PARAMETER_GRADIENT]
    assert gradients
    assert all(f"{each.name.removesuffix('.grad')}.exp_avg" in names for each in gradients)
    assert max(each.death for each in gradients) < len(step.ops)


@pytest.mark.parametrize("name", ["alexnet", "gpt", "resnet"])
@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
def test_one_by_one_is_the_same_update_in_fewer_bytes(name, optimizer):
    case, make = SMALL[name], tensor_modes.OPTIMIZERS[optimizer]
    assert_exact(case, partial(OneByOne, make))
    plain, other = (memlab.plan(recorded(case, each)) for each in (make, partial(OneByOne, make)))
    assert in_update(other) <= in_update(plain)
    assert (in_update(other) < in_update(plain)) is ("adam" in optimizer)  # it has temporaries
    torch.manual_seed(0)
    one = case.build()
    two, (x, target) = copy.deepcopy(one), case.make_batch(3)
    for model, optimize in ((one, make(one.parameters())), (two, OneByOne(make, two.parameters()))):
        for _ in range(2):
            torch.manual_seed(1)
            optimize.zero_grad()
            case.loss_fn(model(x), target).backward()
            optimize.step()
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def in_update(ledger: Any) -> int:
    """The most bytes inside the update, at the smallest batch."""
    pairs = zip(ledger.timeline(2), ledger.rows, strict=True)
    return int(max(nbytes for nbytes, row in pairs if row.phase is Phase.UPDATE))


def test_a_parameter_without_gradient_has_no_state():
    case = of_images(frozen, 8, 10)
    assert_exact(case, "adam")
    states = {t.name for t in recorded(case, "adam").live_in if t.role is Role.OPTIMIZER_STATE}
    assert {name.rpartition(".")[0] for name in states} == {"3.weight", "3.bias"}


def test_nothing_of_the_user_is_changed():
    torch.manual_seed(3)
    first = torch.rand(3)
    torch.manual_seed(3)
    recorded(SMALL["gpt"])
    assert torch.equal(torch.rand(3), first)


# -- what it says ----------------------------------------------------------------------------------


def test_every_operation_has_a_module_a_phase_and_a_cost():
    step = recorded(SMALL["gpt"], "adam")
    assert {op.phase for op in step.ops} == set(Phase) - {Phase.COPY}
    product = next(op for op in step.ops if op.name == "blocks.1.mlp.0.addmm")
    assert (product.layer, product.stage, product.kind) == ("blocks.1.mlp.0", "blocks.1", "addmm")
    assert product.flops.at(3) == 2 * 3 * 16 * 32 * 128
    assert product.bytes_moved.at(3) == 4 * (3 * 16 * (32 + 128) + 32 * 128 + 128)
    back = [op for op in step.ops if op.name.startswith("blocks.1.mlp.0.addmm.backward")]
    assert {op.kind for op in back} == {"mm", "sum"}
    update = [op for op in step.ops if op.name.startswith("blocks.1.mlp.0.weight.")]
    assert {op.layer for op in update} == {"blocks.1.mlp.0"}


def test_a_checkpoint_runs_its_operations_again():
    step = recorded(SMALL["checkpoint"])
    again = [op.name for op in step.ops if "again" in op.attributes]
    assert "1.1.conv2.convolution again" in again
    assert not [op for op in recorded(RESNET).ops if "again" in op.attributes]


def test_tied_weights_are_one_block():
    step = recorded(SMALL["gpt"])
    names = [t.name for t in step.live_in if t.role is Role.PARAMETER]
    assert "words.weight" in names
    assert "head.weight" not in names


def test_bytes_have_a_formula():
    ledger = memlab.plan(recorded(RESNET))
    formulas = {entry.name: entry.formula() for entry in ledger.entries}
    assert formulas["0.0.weight"] == "O·C·k²·4 B"
    assert formulas["0.0.convolution.y"] == "B·C·H·W·4 B"
    for entry in ledger.entries:
        if "=" in entry.formula(7):
            assert entry.formula(7).endswith(f" = {entry.size.at(7):,} B")


def test_a_recording_tells_arguments_at_any_batch():
    case = SMALL["vit"]
    found = observe(case.build, case.make_batch, case.loss_fn)
    from memlab.frontends.torch.recording import at

    call = next(each for each in found.calls if each.kind == "convolution")
    assert at(call.args[0], 5).shape == (5, 3, 32, 32)
    assert call.outputs[0] is not None
    assert at(call.outputs[0], 5).shape == (5, 32, 4, 4)
    assert not any(isinstance(each, SeenTensor) for each in call.args)
    assert found.modules["blocks.1.mlp"] == "Sequential"
    assert [b.name for b in found.alive(0)][:2] == ["first", "places"]


# -- errors ----------------------------------------------------------------------------------------


class Square(Branch):
    def forward(self, x):
        y = self.inner(x)
        return y @ y.t()


def numbered(batch):
    return torch.randn(batch, 3, 8, 8), torch.arange(batch)


def test_what_grows_with_the_square_of_the_batch_is_said_and_recorded_alone():
    with pytest.raises(InputError, match=r"line with the batch in forward \(mm\).*batch=32"):
        record(Square, numbered, F.cross_entropy)
    step = record(Square, numbered, F.cross_entropy, batch=20)
    truth = count(Square, numbered, F.cross_entropy, 20)
    assert memlab.plan(step).peak(20, workspace=False) == truth.most


def test_another_way_at_another_batch_is_said():
    class Odd(Branch):
        def forward(self, x):
            y = self.inner(x)
            return y.relu() if len(x) % 2 else y.sin()

    with pytest.raises(InputError, match=r"another way at batch 3 than at 2.*batch=32"):
        record(Odd, partial(images, 8, 10), F.cross_entropy)


@ON_REAL_TENSORS
def test_the_users_own_error_comes_through_and_says_where(caplog):
    class Mine(Branch):
        def forward(self, x):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as found:
        record(lambda: nn.Sequential(nn.Identity(), Mine()), partial(images, 8, 10), F.nll_loss)
    assert found.value.__notes__ == ["memlab was recording a batch of 5; module '1' began last."]
    assert not caplog.records


@ON_REAL_TENSORS
def test_a_loss_without_gradient_names_a_step_for_inference():
    with pytest.raises(InputError, match=r"no parameter that is trained; .*explain\(step="):
        record(lambda: Branch().requires_grad_(False), partial(images, 8, 10), F.cross_entropy)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"build": lambda: 3}, "must give an nn.Module, got 3"),
        ({"build": 3}, "build must be a function, got 3"),
        ({"make_batch": lambda b: 3}, r"must give a pair \(input, target\), got 3"),
        ({"optimizer": "adan"}, "did you mean 'adam'"),
        ({"optimizer": lambda p: 3}, "must give an optimizer, got 3"),
        ({"autocast": "bf61"}, "did you mean 'bf16'"),
        ({"accumulate": 0}, "accumulate must be at least 1"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"real": 3}, "real must be True or False"),
    ],
)
def test_bad_input_gets_one_sentence(changes, says):
    given = {"build": Branch, "make_batch": partial(images, 8, 10), "loss_fn": F.cross_entropy}
    with pytest.raises(InputError, match=says):
        record(**{**given, **changes})


def test_sparse_gradients_are_refused():
    def build():
        return nn.Sequential(nn.Embedding(50, 8, sparse=True), nn.Flatten(), nn.Linear(96, 5))

    def make_batch(batch):
        return torch.randint(50, (batch, 12)), torch.randint(5, (batch,))

    with pytest.raises(InputError, match="sparse=False"):
        record(build, make_batch, F.cross_entropy, "sgd")


# -- the step as any other -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vgg", "gpt", "vit"])
def test_recompute_takes_less_and_means_the_same(name):
    step = recorded(SMALL[name])
    found = memlab.recompute(step, "chain", batch=7)
    plain = memlab.plan(step).peak(7, workspace=False)
    assert memlab.plan(found).peak(7, workspace=False) < 0.9 * plain
    assert meaning(found) == meaning(rewritable(step))


@pytest.mark.parametrize("name", ["autocast", "autocast vit"])
def test_a_part_of_the_batch_takes_what_the_step_takes_in_half_precision(name):
    """Beside the gradients of the parts before; its kernels compute on bf16 as it is stored."""
    step = memlab.release(recorded(SMALL[name], "sgd"))
    steps = step, memlab.accumulate(step, 3)
    whole, parts = (memlab.plan(each).peak(7, workspace=False) for each in steps)
    assert whole <= parts <= whole + _gradients(step)
    assert not any(map(tiles, memlab.accumulate(step, 3).ops))


def _gradients(step):
    written = {t.storage for op in step.ops for t in op.writes.values()
               if t.role is Role.PARAMETER_GRADIENT}  # fmt: skip
    return sum(storage.size.at(7) for storage in written)


def test_what_pytorch_holds_is_the_difference_to_the_released_step():
    """In an update gradients wait for the next step, where each could go with its own update."""
    case = SMALL["alexnet"]
    step = recorded(case, "adam")
    kept, free = memlab.plan(step), memlab.plan(memlab.release(step))
    peaks = [ledger.peak(2, workspace=False) for ledger in (kept, free)]
    assert peaks[0] == truth(case, 2, "adam").most
    assert kept.peak_at(2, workspace=False).row.phase is Phase.UPDATE
    gradient = kept.roles(2, workspace=False)[Role.PARAMETER_GRADIENT]
    assert peaks[0] - gradient < peaks[1] < peaks[0]
    last = len(step.ops) - 1
    assert free.roles(2, at=last, workspace=False)[Role.PARAMETER_GRADIENT] < gradient


def test_a_view_shows_it_and_a_clock_times_it():
    step = recorded(SMALL["resnet"])
    assert memlab.clock(step, 7).seconds > 0
    assert "2.0.down.0.convolution.backward" in str(memlab.plan(step).why(7))
    assert memlab.place(step, 7).arena > 0


def test_it_is_not_run():
    with pytest.raises(InputError, match="planned, rewritten and timed"):
        memlab.run(recorded(SMALL["gpt"]), 2)

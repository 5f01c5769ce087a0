"""What autograd saves waits in host memory: bytes are PyTorch's, and every gradient the same."""

from __future__ import annotations

import gc
from functools import partial
from itertools import combinations
from typing import Any

import pytest

import memlab
from memlab import InputError
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from torch import nn

from memlab.frontends.torch.fitting import offloading
from memlab.frontends.torch.fitting.module_calls import Watched, savers
from memlab.frontends.torch.fitting.module_milp import ModuleProgram
from memlab.frontends.torch.fitting.offload_search import (
    OffloadFit,
    OffloadSearch,
    Waits,
)
from memlab.frontends.torch.fitting.recipe import _equal, _trained
from memlab.frontends.torch.fitting.search import Measured, WatchedModel
from memlab.frontends.torch.measured_workspace import MeasuredWorkspace
from memlab.frontends.torch.observed_model import Observed, observe
from memlab.frontends.torch.recording_to_step import step_of
from memlab.frontends.torch.tensor_modes import RecordingRequest, as_it_is
from memlab.step.op import Phase
from memlab.step.storage import HOST
from tests.oracles.torch_allocator import most
from tests.oracles.torch_peak import count
from tests.torch_models import SMALL, Case, images, of_images

F = torch.nn.functional
BATCH = 7


def dropped() -> Any:
    """Convolutions with batch norm, a ReLU in place and dropout."""

    def unit(before: int, after: int) -> Any:
        layers = [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after),
                  nn.ReLU(inplace=True), nn.Dropout(0.2)]  # fmt: skip
        return nn.Sequential(*layers)

    stages = [nn.Sequential(unit(a, b), unit(b, b)) for a, b in ((3, 8), (8, 8), (8, 16))]
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))


CASES: dict[str, Case] = {
    "dropped": of_images(dropped, 16, 5),
    **{name: SMALL[name] for name in ("unet", "gpt", "autocast vit", "checkpoint")},
}


def wish(case: Case, optimizer: str = "momentum") -> RecordingRequest:
    return RecordingRequest(case.build, case.make_batch, case.loss_fn, optimizer, case.autocast)


def both(ledger: Any, batch: int, workspace: bool = True) -> int:
    """The most that lies in device and host memory, which are one on a processor."""
    pair = (ledger.timeline(batch, each, workspace) for each in ("device:0", HOST))
    return max(map(sum, zip(*pair, strict=True)))


@pytest.mark.parametrize("name", CASES)
def test_both_memories_hold_what_pytorch_does_and_training_is_the_same_bits(name):
    """The whole model waits, and then all of its parts but the first."""
    case = CASES[name]
    found = Observed(wish(case))
    plain = memlab.plan(step_of(found.recording)).peak(BATCH, workspace=False)
    trained = list(_trained(wish(case), as_it_is, 4, 2, 0))
    for names in ([""], [each for each, _ in case.build().named_children()][1:]):
        recorded = found.again(partial(offloading.wrap_recorded, names=names))
        ledger = memlab.plan(step_of(recorded))
        assert recorded.valid is None
        wrap = partial(offloading.wrap, names=names)
        real = count(
            partial(built, case, wrap), case.make_batch, case.loss_fn, BATCH, autocast=case.autocast
        )
        assert both(ledger, BATCH, workspace=False) == real.most
        assert ledger.peak(BATCH, workspace=False) <= plain
        mine = _trained(wish(case), wrap, 4, 2, 0)
        assert [a for (a, x), (_, y) in zip(trained, mine, strict=True) if not _equal(x, y)] == []


def built(case: Case, change: Any) -> Any:
    return change(case.build())


def test_a_whole_model_that_waits_leaves_half_of_its_peak():
    case = CASES["dropped"]
    found = Observed(wish(case))
    step = step_of(found.again(lambda model: offloading.wrap_recorded(model, [""])))
    plain = memlab.plan(step_of(found.recording)).peak(BATCH, workspace=False)
    assert memlab.plan(step).peak(BATCH, workspace=False) < plain / 2
    copies = [op for op in step.ops if op.phase is Phase.COPY]
    out = [op for op in copies if op.kind == "leave"]
    assert len(copies) == 2 * len(out)
    assert copies[0].name == "0.0.1.leave"
    assert {t.storage.memory for op in out for t in op.writes.values()} == {HOST}
    assert {t.name.removesuffix(" on the host") for op in out for t in op.writes.values()} == {
        t.name for op in out for t in op.reads.values()
    }


@pytest.fixture(scope="module")
def found() -> OffloadSearch:
    return OffloadSearch(WatchedModel(wish(CASES["dropped"])), Measured(BATCH))


@pytest.fixture(scope="module")
def recipe(found: OffloadSearch) -> OffloadFit:
    fitted = found.fit(found.before.nbytes * 6 // 10).recipe
    assert isinstance(fitted, OffloadFit)
    return fitted


def test_the_promise_is_what_the_allocator_hands_out_and_within_the_budget(recipe):
    case = CASES["dropped"]
    real = most(lambda: recipe.apply(case.build()), case.make_batch, case.loss_fn, BATCH)
    assert both(recipe.plan(), BATCH) == real
    assert recipe.peak <= recipe.memory < recipe.before
    assert recipe.plan().peak(BATCH) == recipe.peak
    assert recipe.plan().peak(BATCH, HOST) == recipe.host
    assert recipe.host == recipe.to_host == recipe.to_device > 0
    assert recipe.proved
    assert recipe.differences() == []


def test_the_lines_to_paste_do_what_apply_does(recipe):
    case = CASES["dropped"]
    names: dict[str, Any] = {"model": case.build().train()}
    exec(recipe.code(), names)
    assert "memlab" not in recipe.code()
    mine = recipe.apply(case.build().train())
    plain = case.build().train()
    for each in (mine, plain):
        each.load_state_dict(names["model"].state_dict())
    x, target = case.make_batch(BATCH)
    gradients = []
    for model in (names["model"], mine, plain):
        torch.manual_seed(1)
        case.loss_fn(model(x), target).backward()
        gradients.append([each.grad for each in model.parameters()])
    assert all(map(torch.equal, gradients[0], gradients[2]))
    assert all(map(torch.equal, gradients[1], gradients[2]))
    for name in recipe.modules:
        assert type(mine.get_submodule(name)) is not type(plain.get_submodule(name))


def test_a_recipe_says_what_moves(recipe):
    text = str(recipe)
    for nbytes in (recipe.peak, recipe.to_host, recipe.to_device, recipe.host):
        assert memlab.units.short(nbytes) in text
    assert "counted to move less" in text


def test_the_model_of_bytes_is_what_a_recording_of_the_wrapped_model_says(found):
    names = found.program.names
    for chosen in ((), ("",), ("0",), ("0.0", "1"), ("0.1.1", "2.0.0", "2.1")):
        assert set(chosen) <= set(names)
        assert found.program.peak(chosen) == pytest.approx(
            found.wrapped(chosen)[1].nbytes, rel=0.01
        )


def unmeasured(model: Any) -> ModuleProgram:
    """Without workspace."""
    seen = Watched()
    case = of_images(model, 16, 5)
    recording = observe(RecordingRequest(seen.build(model), case.make_batch, case.loss_fn))
    nothing = MeasuredWorkspace((BATCH,), {}, {}, {})
    return ModuleProgram(Waits(recording, nothing, savers(recording, seen), {}, BATCH).model())


def test_the_choice_moves_the_least_of_all():
    """Every set without one module inside another is tried."""
    program = unmeasured(lambda: nn.Sequential(dropped()[0], *dropped()[3:5], nn.Linear(8, 5)))
    pairs = range(len(program.names) + 1)
    sets = [each for size in pairs for each in combinations(program.names, size) if legal(each)]
    peaks = {each: program.peak(each) for each in sets}
    assert program.least().nbytes == min(peaks.values())
    for share in (50, 60, 70, 80, 95):
        budget = peaks[()] * share // 100
        costs = [program.seconds(each) for each in sets if peaks[each] <= budget]
        choice = program.cheapest(budget)
        assert (choice is None) == (not costs)
        if choice is not None:
            assert choice.nbytes <= budget
            assert choice.seconds == pytest.approx(min(costs), rel=1e-3)


def legal(names: tuple[str, ...]) -> bool:
    pairs = combinations(sorted(names), 2)
    return not any(not a or f"{b}.".startswith(f"{a}.") for a, b in pairs)


def test_addresses_that_are_used_again_mix_nothing_up():
    """Many maps of one size, made and let go: what comes back is what was saved."""

    class Keeps(nn.Module):
        def forward(self, x: Any) -> Any:
            for _ in range(20):
                x = (x * x.sin()).tanh()
                gc.collect(0)
            return x

    x = torch.randn(8, 8, requires_grad=True)
    gradients = []
    for change in (lambda model: model, lambda model: offloading.wrap(model, [""])):
        (gradient,) = torch.autograd.grad(change(Keeps())(x * 1).sum(), x)
        gradients.append(gradient)
    assert torch.equal(*gradients)


def test_parts_of_one_storage_that_count_their_own_changes_are_copied_each():
    """``unsafe_chunk``, as in a GRU: the storage changes, and no part says so of the others."""

    class Gates(nn.Module):
        def forward(self, x: Any) -> Any:
            one, other = (x * 2).unsafe_chunk(2, 1)
            return one.sigmoid_() * other.sigmoid_()

    x = torch.randn(4, 6, requires_grad=True)
    plain, mine = Gates(), offloading.wrap(Gates(), [""])
    one, other = (torch.autograd.grad(model(x).sum(), x)[0] for model in (plain, mine))
    assert torch.equal(one, other)


class Wrong(nn.Module):
    """What backward needs is changed after it is saved: what stays here, what leaves there."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))

    def forward(self, x: Any) -> Any:
        y = self.scale * 1
        z = x * y
        with torch.no_grad():
            y += 1
        return z


def test_what_stays_and_is_changed_is_refused_as_pytorch_does():
    x = torch.randn(4, 6, requires_grad=True)
    for model in (Wrong(), offloading.wrap(Wrong(), [""])):
        with pytest.raises(RuntimeError, match=r"in.?place"):
            model(x).sum().backward()


def test_backward_twice_and_the_backward_of_a_backward():
    model = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))
    x = torch.randn(4, 5, requires_grad=True)

    def gradients() -> list[Any]:
        loss = model(x).square().sum()
        first = torch.autograd.grad(loss, x, retain_graph=True)[0]
        again = torch.autograd.grad(loss, x, create_graph=True)[0]
        return [first, again, torch.autograd.grad(again.square().sum(), x)[0]]

    plain = gradients()
    offloading.wrap(model, [""])
    assert all(map(torch.equal, plain, gradients()))


class Overwriting(nn.Module):
    """What it saves is changed behind autograd's back."""

    def forward(self, x: Any) -> Any:
        y = x * 2
        z = y * y.sin()
        y.data.mul_(3)
        return z + y.cos()


def test_what_changes_after_it_was_saved_is_no_candidate_and_nor_is_a_checkpoint():
    def build() -> Any:
        return nn.Sequential(nn.Conv2d(3, 4, 3), Overwriting(), nn.Flatten(), nn.Linear(784, 5))

    case, seen = of_images(build, 16, 5), Watched()
    recording = observe(RecordingRequest(seen.build(build), case.make_batch, case.loss_fn))
    names = savers(recording, seen)
    assert {"0", "3"} <= set(names)
    assert not {"", "1"} & set(names)
    case, seen = SMALL["checkpoint"], Watched()
    recording = observe(RecordingRequest(seen.build(case.build), case.make_batch, case.loss_fn))
    names = savers(recording, seen)
    assert {"0", "3"} <= set(names)
    assert not {"", "1", "1.0", "1.0.conv1"} & set(names)


def test_fit_model_takes_it_by_its_name_and_says_where_nothing_fits():
    case = CASES["dropped"]
    given = (case.build, case.make_batch, case.loss_fn)
    with pytest.raises(InputError, match="unknown way to make a model fit"):
        memlab.fit_model(*given, batch=BATCH, memory="1MB", by="swapping")
    with pytest.raises(InputError, match=r"wait in host memory brings batch 7.*least peak"):
        memlab.fit_model(*given, batch=BATCH, memory="100kB", by="offload")


@pytest.mark.filterwarnings("ignore:memlab now runs this model's step on real")
def test_a_step_that_runs_on_real_tensors_only_has_its_copies_too():
    class Branching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 4, 3), nn.Linear(784, 5)

        def forward(self, x: Any) -> Any:
            y = self.first(x).tanh()
            return self.last((y if y.sum() > -1e9 else -y).flatten(1))

    def make_batch(batch: int) -> Any:
        return images(16, 5, batch)

    found = Observed(RecordingRequest(Branching, make_batch, F.cross_entropy))
    recorded = found.again(lambda model: offloading.wrap_recorded(model, [""]))
    assert recorded.real
    real = count(
        lambda: offloading.wrap(Branching(), [""]), make_batch, F.cross_entropy, BATCH
    ).most
    assert both(memlab.plan(step_of(recorded)), BATCH, workspace=False) == real

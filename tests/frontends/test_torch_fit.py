"""Modules that run again: the promised peak is PyTorch's, and every gradient is the same bits."""

from __future__ import annotations

import random
from contextlib import nullcontext
from itertools import combinations
from typing import Any

import pytest

import memlab
from memlab import InputError
from memlab.placement import cuda_cards
from memlab.placement.step_on_card import StepOnCard
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from torch import nn

from memlab.frontends.torch.fitting import search, wrapping
from memlab.frontends.torch.fitting.checkpointed_peak import model_of
from memlab.frontends.torch.fitting.module_calls import Watched, candidates
from memlab.frontends.torch.fitting.module_milp import ModuleProgram
from memlab.frontends.torch.fitting.recipe import Recipe
from memlab.frontends.torch.fitting.search import Measured, Search, WatchedModel
from memlab.frontends.torch.measured_workspace import MeasuredWorkspace
from memlab.frontends.torch.observed_model import observe
from memlab.frontends.torch.tensor_modes import RecordingRequest
from tests.oracles.torch_allocator import most

F = torch.nn.functional
BATCH = 8


def build() -> Any:
    """Convolutions with batch norm and dropout, in blocks of blocks."""

    def unit(before: int, after: int) -> Any:
        layers = [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                  nn.Dropout(0.2)]  # fmt: skip
        return nn.Sequential(*layers)

    stages = [nn.Sequential(unit(a, b), unit(b, b)) for a, b in ((3, 8), (8, 8), (8, 16))]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)]
    return nn.Sequential(*stages, *head)


def make_batch(batch: int) -> Any:
    return torch.randn(batch, 3, 16, 16), torch.randint(5, (batch,))


def wish(model: Any = build, optimizer: Any = "momentum") -> RecordingRequest:
    return RecordingRequest(model, make_batch, F.cross_entropy, optimizer)


@pytest.fixture(scope="module")
def found() -> Search:
    return Search(WatchedModel(wish()), Measured(BATCH))


@pytest.fixture(scope="module")
def recipe(found: Search) -> Recipe:
    fitted = found.fit(found.before.nbytes * 7 // 10).recipe
    assert isinstance(fitted, Recipe)
    return fitted


def test_the_promise_is_what_the_allocator_hands_out_and_within_the_budget(recipe):
    real = most(lambda: recipe.apply(build()), make_batch, F.cross_entropy, BATCH)
    assert real <= recipe.memory < recipe.before
    assert recipe.peak == pytest.approx(real, rel=0.01)
    assert recipe.plan().peak(BATCH) == recipe.peak
    assert recipe.before == most(build, make_batch, F.cross_entropy, BATCH)


def test_gradients_parameters_and_buffers_are_the_same_bits(recipe):
    assert recipe.modules
    assert recipe.differences() == []


def test_a_checkpoint_that_moves_statistics_twice_is_seen(recipe, monkeypatch):
    """The same without what keeps batch norm still: the test of the test."""
    monkeypatch.setattr(wrapping, "copied_statistics", lambda module: nullcontext())
    differ = recipe.differences()
    assert any(name.endswith("running_mean") for name in differ)
    assert any(name.endswith("num_batches_tracked") for name in differ)


def test_the_lines_to_paste_do_what_apply_does(recipe):
    names: dict[str, Any] = {"model": build().train()}
    exec(recipe.code(), names)
    mine = recipe.apply(build().train())
    mine.load_state_dict(names["model"].state_dict())
    x, target = make_batch(BATCH)
    gradients = []
    for model in (names["model"], mine, mine):
        model.zero_grad()
        torch.manual_seed(1)
        F.cross_entropy(model(x), target).backward()
        gradients.append([each.grad.clone() for each in model.parameters()])
    assert all(map(torch.equal, gradients[0], gradients[1]))
    assert not all(map(torch.equal, gradients[0], [each + 1 for each in gradients[2]]))
    changed = {
        name for name in recipe.modules if type(mine.get_submodule(name)) is not nn.Sequential
    }
    assert changed == set(recipe.modules)


def test_the_model_of_bytes_is_what_a_recording_of_the_wrapped_model_says(found):
    names = found.program.names
    for chosen in ((), ("0",), ("0.0", "1"), ("0", "1", "2"), ("1.1", "2.0", "2.1")):
        assert set(chosen) <= set(names)
        assert found.program.peak(chosen) == pytest.approx(
            found.wrapped(chosen)[1].nbytes, rel=0.01
        )


def first_stage() -> Any:
    return nn.Sequential(build()[0], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))


def unmeasured(model: Any, seed: int) -> ModuleProgram:
    """Without workspace, and each call takes some seconds or other."""
    seen = Watched()
    recording = observe(wish(seen.build(model)))
    draw = random.Random(seed)
    times = {call.number: draw.random() for call in recording.calls}
    nothing = MeasuredWorkspace((BATCH,), {}, {}, times)
    spans = candidates(recording, seen)
    return ModuleProgram(model_of(recording, nothing, spans, seen.norms, BATCH))


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_the_best_of_all(seed):
    """Every set without one module inside another is tried."""
    program = unmeasured(first_stage, seed)
    pairs = range(len(program.names) + 1)
    sets = [each for size in pairs for each in combinations(program.names, size) if legal(each)]
    peaks = {each: program.peak(each) for each in sets}
    least = program.least()
    assert least.proved
    assert least.nbytes == min(peaks.values())
    for share in (60, 70, 80, 95):
        budget = peaks[()] * share // 100
        costs = [program.seconds(each) for each in sets if peaks[each] <= budget]
        choice = program.cheapest(budget)
        assert (choice is None) == (not costs)
        if choice is not None:
            assert choice.nbytes <= budget
            assert choice.seconds == pytest.approx(min(costs), rel=1e-3)
            assert choice.bound <= choice.seconds + 1e-4 * program.model.total


def legal(names: tuple[str, ...]) -> bool:
    return not any(f"{b}.".startswith(f"{a}.") for a, b in combinations(sorted(names), 2))


def test_what_fits_already_is_left_as_it_is(found):
    fitted = found.fit(found.before.nbytes).recipe
    assert isinstance(fitted, Recipe)
    assert fitted.modules == ()
    assert "as it is" in fitted.code()
    assert fitted.share == 0
    model = build()
    assert fitted.apply(model) is model


def test_where_nothing_fits_the_least_is_said(found, monkeypatch):
    monkeypatch.setattr(search, "Search", lambda *given: found)
    with pytest.raises(
        InputError, match=r"brings batch 8 into 100 kB.*least peak.*proved"
    ) as error:
        memlab.fit_model(build, make_batch, F.cross_entropy, batch=BATCH, memory="100kB")
    assert "\n" not in str(error.value)


def test_a_peak_in_the_optimizer_is_mended_there():
    def wide() -> Any:
        return nn.Sequential(nn.Flatten(), nn.Linear(768, 256), nn.ReLU(), nn.Linear(256, 5))

    peak = Search(WatchedModel(wish(wide, "adam")), Measured(2)).before
    assert peak.row.phase == "update"
    with pytest.raises(InputError, match="in the optimizer") as error:
        memlab.fit_model(
            wide, make_batch, F.cross_entropy, "adam", batch=2, memory=peak.nbytes * 9 // 10
        )
    assert "with a fused optimizer instead it takes " in str(error.value)
    assert str(error.value).endswith(
        ": optimizer = torch.optim.Adam(model.parameters(), lr, fused=True)."
    )


class Changing(nn.Module):
    """Each part does something that would not be the same another time."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fine = nn.Conv2d(3, 4, 3), nn.Sequential(nn.Conv2d(4, 4, 3), nn.Sigmoid())
        self.own = nn.ReLU(inplace=True)
        self.read = nn.Sequential(nn.Conv2d(4, 4, 3), nn.Sigmoid())
        self.norm = nn.utils.parametrizations.spectral_norm(nn.Conv2d(4, 4, 3))
        self.head = nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        x = self.own(self.fine(self.conv(x)) * 2)
        y = self.read(x * 1)
        z = y * 3
        w = self.norm(z)
        return self.head(w.mean((2, 3)))


def test_what_would_not_be_the_same_another_time_is_no_candidate():
    seen = Watched()
    recording = observe(wish(seen.build(Changing)))
    names = candidates(recording, seen)
    assert {"fine", "read", "head"} <= set(names)
    assert not {"", "own", "norm"} & set(names)


def test_a_module_that_another_model_has_not_is_told(recipe):
    with pytest.raises(InputError, match="has no module"):
        recipe.apply(nn.Sequential(nn.Linear(2, 2)))
    model = build()
    model.get_submodule(recipe.modules[0]).forward = lambda x: x
    with pytest.raises(InputError, match="was replaced"):
        recipe.apply(model)
    with pytest.raises(InputError, match="is lazy, and becomes another module"):
        wrapping.wrap(nn.Sequential(nn.LazyLinear(3)), ["0"])


def test_a_recipe_says_what_it_does(recipe):
    text = str(recipe)
    assert "at batch 8" in text
    assert recipe.modules[0] in text
    assert "more time" in text
    assert memlab.units.short(recipe.peak) in text


class Remembering(nn.Module):
    """Adds what it is given to a list of the model, as a layer adds to a cache of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: Any, memory: list[Any]) -> Any:
        memory.append(x)
        return torch.tanh(self.linear(torch.stack(memory).sum(0)))


class WithMemory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.remembering = nn.ModuleList(Remembering() for _ in range(3))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(64, 4096), nn.Tanh(), nn.Linear(4096, 64)) for _ in range(3)
        )
        self.head = nn.Linear(64, 5)

    def forward(self, x: Any) -> Any:
        memory: list[Any] = []
        for remembering, block in zip(self.remembering, self.blocks, strict=True):
            x = block(remembering(x, memory))
        return self.head(x)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_modules_with_which_the_model_does_not_run_again_are_left_out(device: str) -> None:
    def vectors(batch: int) -> Any:
        return torch.randn(batch, 64), torch.randint(5, (batch,))

    def fit(memory: int) -> Any:
        return memlab.fit_model(
            WithMemory, vectors, F.cross_entropy, "sgd", batch=512, memory=memory, device=device
        )

    before = fit(10**12).before
    recipe = fit(before - 10**7)
    assert recipe.modules
    assert all(name.startswith("blocks.") for name in recipe.modules)
    assert recipe.peak <= before - 10**7
    with pytest.raises(InputError, match="least peak"):
        fit(before // 20)


def test_a_card_has_all_that_it_adds_in_the_budget() -> None:
    recipe = memlab.fit_model(
        build, make_batch, F.cross_entropy, "momentum", batch=BATCH, memory="2 GB", device="cuda",
        card="T4",
    )  # fmt: skip
    step = StepOnCard(recipe.step, cuda_cards.find("T4"))
    assert recipe.peak == step.peak_at(BATCH).nbytes == recipe.before
    assert recipe.peak > step.ledger.peak(BATCH) + 2 * cuda_cards.CUBLAS

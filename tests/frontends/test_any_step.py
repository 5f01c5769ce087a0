"""A training step of the user's own is recorded with the bytes that PyTorch takes, and leaves no
trace in the user's objects."""

from __future__ import annotations

import contextlib
import copy
import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import memlab
from memlab import InputError
from memlab.placement.cuda_cards import USUAL
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()
nn = torch.nn
functional = torch.nn.functional

from memlab.frontends.torch.any_step import StepRequest, samples_of, watched
from memlab.frontends.torch.fitting import sequence_segments
from memlab.frontends.torch.observed_model import RealTensorsWarning
from memlab.pictures.explain.own_loop import OwnLoop
from tests.oracles.torch_allocator import most
from tests.oracles.torch_peak import OPTIMIZERS, Count, count
from tests.torch_models import SMALL

BATCH = 7
X = torch.randn(BATCH, 32)


def planned(step: Callable[..., Any], batch: Any = X, card: Any = None) -> OwnLoop:
    return OwnLoop(step, batch, card, progress=False)


def counted(step: Callable[..., Any], tensors: Any, times: int = 1) -> int:
    """Bytes of all storages at the peak of the steps that follow two."""
    for _ in range(2):
        step(X)
    gc.collect()
    oracle = Count()
    for tensor in tensors():
        oracle.enter(tensor)
    with oracle:
        for _ in range(times):
            step(X)
        oracle.settle()
    return oracle.most


def residents(*models: Any, optimizers: Any) -> Callable[[], list[Any]]:
    """Return a function that gives all tensors that are there between two steps."""

    def tensors() -> list[Any]:
        own = [each for model in models for each in (*model.parameters(), *model.buffers())]
        grads = [each.grad for each in own if each.grad is not None]
        states = [state for optimizer in optimizers for kept in optimizer.state.values()
                  for state in kept.values() if isinstance(state, torch.Tensor)]  # fmt: skip
        return [*own, *grads, *states, X]

    return tensors


def network() -> Any:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))


@pytest.mark.parametrize("name", ["resnet", "lstm", "gpt", "autocast", "checkpoint"])
def test_the_usual_loop_has_the_peak_of_pytorch_to_the_byte(name):
    case = SMALL[name]
    model, (x, target) = case.build().train(), case.make_batch(BATCH)
    optimizer = OPTIMIZERS["adam"](model.parameters())
    amp = torch.autocast("cpu", torch.bfloat16) if case.autocast else contextlib.nullcontext()

    def step(batch):
        optimizer.zero_grad()
        with amp:
            loss = case.loss_fn(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    found = planned(step, (x, target)).plain
    given = (case.build, case.make_batch, case.loss_fn, BATCH, "adam", case.autocast)
    samples = samples_of((x, target))
    assert found.ledger.peak(samples, workspace=False) == count(*given).most
    assert found.peak(samples) == most(*given)


def test_two_optimizers_take_the_bytes_of_both():
    maker, judge = network(), nn.Linear(8, 1)
    optimizers = [torch.optim.Adam(each.parameters(), foreach=False) for each in (maker, judge)]

    def step(x):
        fake = maker(x)
        optimizers[1].zero_grad()
        judge(fake.detach()).mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        judge(fake).mean().backward()
        optimizers[0].step()

    loop = planned(step)
    truth = counted(step, residents(maker, judge, optimizers=optimizers))
    assert loop.plain.ledger.peak(BATCH, workspace=False) == truth
    assert loop.label == "maker and judge"
    assert {"judge.weight", "maker.0.weight"} <= {entry.name for entry in loop.plain.ledger.entries}


def test_what_grows_is_measured_and_its_holder_named():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    log = SimpleNamespace(losses=[])

    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        log.losses.append(model(x).mean())

    loop = planned(step)
    assert loop.watched.holders == {"log.losses": True}
    assert log.losses == []
    truth = counted(step, residents(model, optimizers=[optimizer]), 3)
    graphs = 2 * loop.watched.growth  # those of the first two steps, which the oracle did not see
    assert loop.watched.growth == 4 + 64 * BATCH * 4
    assert loop.plain.ledger.peak(BATCH, workspace=False) == truth + graphs // 2
    assert "log.losses holds the graph of every step" in loop.growth
    begins, count = loop.plain.begins, len(loop.step.ops)
    assert [op.kind for op in loop.step.ops] == [op.kind for op in loop.step.ops[: count // 3]] * 3
    assert begins == (0, count // 3, 2 * count // 3)
    (change,) = [each for each in loop.changes(BATCH, 1) if each.key == "detach"]
    assert loop.plain.peak(BATCH) - change.peak(BATCH) >= 2 * 64 * BATCH * 4
    assert change.begins == begins


def test_validation_with_gradients_is_better_without():
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        model.train()
        optimizer.zero_grad()
        model(x[:1]).sum().backward()
        optimizer.step()
        model.eval()
        return model(x)

    loop = planned(step)
    (change,) = [each for each in loop.changes(BATCH, 1) if each.key == "no_grad"]
    assert change.names == ("model",)
    assert loop.plain.peak(BATCH) - change.peak(BATCH) == 64 * BATCH * 4
    assert model.training


def test_a_step_that_needs_values_runs_on_real_tensors_and_gives_everything_back():
    model, losses = network(), []
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    before = [each.clone() for each in model.parameters()]

    def closure():
        optimizer.zero_grad()
        loss = model(X).pow(2).mean()
        loss.backward()
        return loss

    def step():
        losses.append(optimizer.step(closure))

    random = torch.get_rng_state()
    with pytest.warns(RealTensorsWarning, match=r"runs this step 4 times on real tensors"):
        found = watched(StepRequest(step))
    assert found.recording.real
    assert all(map(torch.equal, before, model.parameters()))
    assert not optimizer.state
    assert not losses
    assert model[0].weight.grad is None
    assert torch.equal(random, torch.get_rng_state())


def test_values_that_a_model_gave_are_answered_and_those_of_data_are_true():
    table, sizes = nn.Embedding(10, 64), torch.tensor([3, 9])
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
    seen = []

    def step(ids):
        optimizer.zero_grad()
        loss = table(ids[:, : sizes.max().item()]).mean()
        assert torch.isfinite(loss)
        assert not torch.isnan(table.weight).any(dim=1).any()
        loss.backward()
        optimizer.step()
        order = torch.randperm(int(ids[ids > 4].numel())).tolist()
        seen.append((sorted(order), f"{loss:.2f}", loss.detach().numpy()))
        return loss.item(), torch.isnan(loss).item()

    ids = torch.arange(20).reshape(2, 10) % 10
    loop = planned(step, ids)
    assert "values that the loop reads from a model are taken as 1, 0 or False" in (
        loop.watched.recording.notes
    )
    assert any(block.nbytes.at(2) == 2 * 9 * 64 * 4 for block in loop.watched.recording.blocks)
    assert seen == []
    assert not loop.watched.recording.real


def test_an_error_of_the_step_is_raised_and_everything_given_back():
    model = network()
    optimizer = torch.optim.Adam(model.parameters())

    def step(x):
        model(x).sum().backward()
        optimizer.step()
        raise KeyError("labels")

    with pytest.raises(KeyError, match="labels"), pytest.warns(RealTensorsWarning):
        watched(StepRequest(step, X))
    assert not optimizer.state
    assert model[0].weight.grad is None
    assert type(torch.ones(2)) is torch.Tensor  # no mode is left


def test_a_card_runs_a_step_with_a_gradient_scaler():
    model = network()
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cpu")

    def step(x):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = model(x.cuda()).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    loop = planned(step, card=USUAL)
    kinds = {op.kind for op in loop.step.ops}
    assert {"_foreach_addcdiv_", "_amp_foreach_non_finite_check_and_unscale_"} <= kinds
    assert "fp16" in {entry.format for entry in loop.plain.ledger.entries if entry.format}
    assert scaler.state_dict()["scale"] == 65536.0


@pytest.mark.parametrize(("square", "valid"), [(False, None), (True, range(5, 6))])
def test_with_a_maker_of_batches_it_holds_for_any_batch_where_sizes_grow_in_a_line(square, valid):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        y = model(x)
        (y @ y.t() if square else y).sum().backward()
        optimizer.step()

    loop = OwnLoop(step, 5, None, progress=False, make_batch=lambda count: X[:count])
    alone = planned(step, X[:5]).plain.ledger.peak(5, workspace=False)
    assert loop.plain.ledger.batches == valid
    assert loop.plain.ledger.peak(5, workspace=False) == alone


def test_inference_alone_is_a_step():
    model = network().eval()

    def step(x):
        with torch.no_grad():
            return model(x)

    explained = memlab.explain(step=step, batch=X, device="cpu", progress=False)
    assert explained.rows.peak.nbytes >= sum(each.nbytes for each in model.parameters())


class Answers(torch.nn.Module):
    """Model that takes its batch by name and returns its loss, as those of Hugging Face."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Linear(32, 10)

    def forward(self, inputs=None, labels=None):
        scores = self.scores(inputs)
        return SimpleNamespace(loss=functional.cross_entropy(scores, labels), logits=scores)


def test_a_batch_with_names_is_enough_where_the_output_has_the_loss():
    batch = {"inputs": X, "labels": torch.arange(BATCH)}
    view = memlab.explain(Answers(), batch, device="cpu", progress=False)
    pairs = memlab.explain(
        lambda: nn.Linear(32, 10),
        lambda count: (torch.randn(count, 32), torch.arange(count) % 10),
        batch=BATCH, device="cpu", progress=False,
    )  # fmt: skip
    assert view.batch == BATCH
    assert view.rows.peak.nbytes == pairs.rows.peak.nbytes
    assert view.rows.largest == pairs.rows.largest


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"step": 3, "batch": X}, "step must be a function, got 3"),
        ({"step": lambda batch: batch}, "step takes a batch, and batch is left out"),
        ({"step": lambda: None}, "step runs no operator of PyTorch"),
        ({"step": print, "build": Answers}, "a step, or a model with its batches"),
        ({"step": print, "batch": X, "autocast": "bf16"}, "has no option 'autocast'"),
        ({}, "build is left out"),
        ({"build": Answers}, "make_batch is left out"),
        (
            {"build": nn.Linear(32, 4), "make_batch": {"input": X}},
            "the output of the model no loss",
        ),
    ],
)
def test_bad_arguments_get_one_sentence(given, sentence):
    with pytest.raises((InputError, TypeError), match=sentence):
        memlab.explain(**given, device="cpu", progress=False)


def test_a_sequence_is_recomputed_in_segments():
    model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(32, 32), nn.GELU())))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.randn(512, 32)

    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    loop = planned(step, batch)
    changes = {change.key: change for change in loop.changes(512, 1)}
    change = changes["in_segments"]
    assert change.names == ("Sequential",)
    assert loop.plain.peak(512) - change.peak(512) > 6 * 512 * 32 * 4
    sequence_segments.wrap(model, [""])
    usual = most(lambda: model, lambda _: (batch, batch), lambda y, _: y.sum(), 512, "sgd")
    assert change.peak(512) == pytest.approx(usual, rel=0.01)


def test_segments_compute_the_same_gradients_and_statistics():
    first = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)) for _ in range(5)))
    second = sequence_segments.wrap(copy.deepcopy(first), [""])
    x = torch.randn(6, 4)
    for model in (first, second):
        model(x).square().sum().backward()
    assert all(map(torch.equal, first.buffers(), second.buffers()))
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(one.grad, other.grad) for one, other in pairs)


def test_blocks_of_a_model_are_recomputed_and_keep_their_classes():
    block = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 32))
    model = nn.ModuleList(nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 32))
                          for _ in range(4))  # fmt: skip
    optimizer = torch.optim.SGD([*model.parameters(), *block.parameters()], lr=0.1)
    batch = torch.randn(512, 32)

    def step(x):
        optimizer.zero_grad()
        for each in model:
            x = each(x)
        x.sum().backward()
        optimizer.step()

    loop = planned(step, batch)
    changes = {change.key: change for change in loop.changes(512, 1)}
    assert changes["again"].names == ("model.0", "model.1", "model.2", "model.3")
    assert loop.plain.peak(512) - changes["again"].peak(512) > 2 * 512 * 256 * 4
    assert type(model[0]) is nn.Sequential

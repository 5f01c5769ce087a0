"""A model is built without memory whatever its constructor does, and recorded to the byte."""

from __future__ import annotations

import copy
import gc
import tempfile
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import memlab
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from torch.utils.checkpoint import checkpoint

from memlab.frontends.torch import observe, record
from memlab.frontends.torch.observed_model import RealTensorsWarning
from memlab.frontends.torch.recording_to_step import step_of
from memlab.frontends.torch.tensor_modes import RecordingRequest, World
from memlab.measure.torch_lowering import most_allocated
from tests.oracles.torch_peak import count
from tests.torch_models import Case, images, token_loss, tokens

F = torch.nn.functional
nn = torch.nn
Module: Any = nn.Module


def assert_exact_without_memory(case: Case, optimizer: Any = "adam") -> Any:
    """Hold a recording on fake tensors against what PyTorch holds; return it."""
    recording = observe(case.build, case.make_batch, case.loss_fn, optimizer)
    assert not recording.real
    ledger = memlab.plan(step_of(recording))
    for batch in (2, 7):
        truth = count(case.build, case.make_batch, case.loss_fn, batch, optimizer).most
        assert ledger.peak(batch, workspace=False) == truth
    return recording


def on(device_or_dtype: Any, batch: int) -> Any:
    x, y = images(8, 10, batch)
    return x.to(device_or_dtype), y


def float_loss(y: Any, target: Any) -> Any:
    return F.cross_entropy(y.float().flatten(0, -2), target.flatten())


def vectors(batch: int) -> Any:
    return torch.randn(batch, 16, 32), torch.randint(10, (batch, 16))


def network() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)
    )


# -- dtype, layout, values ---------------------------------------------------------------------


CONVERTED = {
    "bfloat16": (lambda: network().bfloat16(), torch.bfloat16),
    "half": (lambda: network().half(), torch.float16),
    "double": (lambda: network().double(), torch.float64),
    "to a dtype": (lambda: network().to(torch.bfloat16), torch.bfloat16),
    "channels_last": (lambda: network().to(memory_format=torch.channels_last), torch.float32),
    "to the processor": (lambda: network().to("cpu", torch.float64), torch.float64),
    "there and back": (lambda: network().half().float(), torch.float32),
}


@pytest.mark.parametrize("name", list(CONVERTED))
def test_a_model_of_another_dtype_or_layout_takes_no_memory(name):
    build, dtype = CONVERTED[name]
    assert_exact_without_memory(Case(build, partial(on, dtype), float_loss))


class Values(Module):
    """A constructor that reads values, as those with stochastic depth do."""

    def __init__(self) -> None:
        super().__init__()
        self.rates = [rate.item() for rate in torch.linspace(0, 0.2, 3)]
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in self.rates)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        for layer, rate in zip(self.layers, self.rates, strict=True):
            x = x + F.dropout(F.relu(layer(x)), rate)
        return self.head(x)


class ReadsItsNumber(Module):
    """A batch norm that divides by the number of batches it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.head = nn.BatchNorm1d(16, momentum=None), nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.norm(x))


@pytest.mark.parametrize("build", [Values, ReadsItsNumber], ids=lambda build: build.__name__)
def test_a_model_that_needs_values_is_built_for_real_and_recorded_without_memory(build):
    assert_exact_without_memory(Case(build, vectors, float_loss))


def test_values_may_be_loaded_while_it_is_built():
    """PyTorch warns that this does nothing on the meta device."""

    def build():
        model = nn.Sequential(nn.Linear(32, 10))
        values = {"0.weight": torch.ones(10, 32, device="cpu"), "0.bias": torch.ones(10)}
        model.load_state_dict(values)
        return model

    assert World(RecordingRequest(build, vectors, float_loss), real=False).on_meta


def test_real_tensors_are_let_go_when_they_are_converted():
    kept: list[Any] = []

    def build():
        model = Values()
        kept.extend(weakref.ref(each.untyped_storage()) for each in model.parameters())
        return model

    world = World(RecordingRequest(build, vectors, float_loss), real=False, values=True)
    assert len(kept) == len(list(world.model.parameters()))
    gc.collect()
    assert not any(storage() for storage in kept)


def test_a_list_that_lies_in_itself_is_left():
    model = Values()
    model.notes = [3]
    model.notes.append(model.notes)
    assert not observe(lambda: model, vectors, float_loss).real


class Tied(Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(40, 32), nn.Linear(32, 40, bias=False)
        self.head.weight = self.embedding.weight
        whole = torch.zeros(2 * 32 * 32)
        self.first = nn.Parameter(whole[:1024].view(32, 32))
        self.second = nn.Parameter(whole[1024:].view(32, 32).t(), requires_grad=False)
        self.register_buffer("mask", torch.ones(16, 16).tril(), persistent=False)
        self.register_buffer("scale", torch.ones(32))

    def forward(self, x):
        x = self.mask @ self.embedding(x) * self.scale
        return self.head(x @ self.first @ self.second)


@pytest.mark.parametrize("values", [False, True], ids=["meta", "real"])
def test_everything_about_a_tensor_is_kept(values):
    real = Tied()
    wish = RecordingRequest(Tied, partial(tokens, 16, 40), token_loss)
    world = World(wish, real=False, values=values)
    assert world.on_meta is not values
    model, pairs = world.model, dict(real.state_dict(keep_vars=True))
    assert model.head.weight is model.embedding.weight
    assert model.first.untyped_storage()._cdata == model.second.untyped_storage()._cdata
    assert list(model.state_dict()) == list(pairs)
    assert dict(model.named_buffers()).keys() == {"mask", "scale"}
    for name, fake in model.state_dict(keep_vars=True).items():
        assert type(fake).__name__ == "FakeTensor"
        assert isinstance(fake, nn.Parameter) is isinstance(pairs[name], nn.Parameter)
        for about in ("shape", "dtype", "device", "requires_grad"):
            assert getattr(fake, about) == getattr(pairs[name], about)
        assert fake.stride() == pairs[name].stride()
        assert fake.storage_offset() == pairs[name].storage_offset()
        assert fake.untyped_storage().nbytes() == pairs[name].untyped_storage().nbytes()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tied_weights_and_parts_of_a_storage_are_counted_once(dtype):
    assert_exact_without_memory(Case(lambda: Tied().to(dtype), partial(tokens, 16, 40), float_loss))


class Holder:
    """An object of a user that is no module."""


class Hidden(Module):
    """A model with a tensor that it did not register."""

    def __init__(self, where: str) -> None:
        super().__init__()
        mask, holder = torch.ones(16, 16).tril(), Holder()
        holder.mask = mask  # type: ignore[attr-defined]
        self.kept = {
            "attribute": mask, "list": [mask], "dictionary": {"mask": (mask, 3)},
            "object": holder, "function": lambda: mask,
        }[where]  # fmt: skip
        self.layer, self.head = nn.Linear(32, 32), nn.Linear(32, 10)

    def mask(self) -> Any:
        kept = self.kept
        if isinstance(kept, list):
            return kept[0]
        if isinstance(kept, dict):
            return kept["mask"][0]
        if isinstance(kept, Holder):
            return kept.mask  # type: ignore[attr-defined]
        return kept() if callable(kept) and not isinstance(kept, torch.Tensor) else kept

    def forward(self, x):
        return self.head(self.mask()[:, :] @ self.layer(x))


@pytest.mark.parametrize("where", ["attribute", "list", "dictionary", "object", "function"])
def test_a_tensor_that_is_not_registered_is_one_storage(where):
    assert_exact_without_memory(Case(partial(Hidden, where), vectors, float_loss), "sgd")


def test_hooks_and_attributes_of_parameters_are_kept():
    calls: list[str] = []

    def build():
        model = nn.Sequential(nn.Linear(32, 10))
        weight = model[0].weight
        weight.register_hook(lambda gradient: calls.append("hook"))
        weight.register_post_accumulate_grad_hook(lambda parameter: calls.append("after"))
        weight.decay = False
        return model

    world = World(RecordingRequest(build, vectors, float_loss), real=False)
    assert world.model[0].weight.decay is False
    world.trace(2)
    assert calls == ["hook", "after"]


def test_a_model_of_the_user_stays_as_it_is():
    own = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
    before, weight = copy.deepcopy(own.state_dict()), own[0].weight

    def build():
        return nn.Sequential(own, nn.Linear(32, 10))

    assert not observe(lambda: own, vectors, lambda y, _: y.mean()).real
    world = World(RecordingRequest(build, vectors, float_loss), real=False)
    with world.inside():
        assert type(own[0].weight).__name__ == "FakeTensor"
    assert own[0].weight is weight
    assert all(torch.equal(before[name], value) for name, value in own.state_dict().items())


# -- what was booked wrong on fake tensors ---------------------------------------------------------


class Stack(Module):
    """A model whose layers are copies, as PyTorch's own transformers make them."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        options: dict[str, Any] = {"batch_first": True}
        one = nn.Linear(32, 32)
        self.decode = kind == "decoder"
        self.body = {
            "encoder": lambda: nn.TransformerEncoder(
                nn.TransformerEncoderLayer(32, 2, 64, **options), 2, enable_nested_tensor=False
            ),
            "decoder": lambda: nn.TransformerDecoder(
                nn.TransformerDecoderLayer(32, 2, 64, **options), 2
            ),
            "copies": lambda: nn.Sequential(*(copy.deepcopy(one) for _ in range(3))),
        }[kind]()
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.body(x, x) if self.decode else self.body(x))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "copies"])
def test_views_of_copied_parameters_are_no_storages(kind):
    assert_exact_without_memory(Case(partial(Stack, kind), vectors, float_loss), "sgd")


class Block(Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 128), nn.Linear(128, 32)

    def forward(self, x, scale=1.0):
        return x + F.dropout(self.down(F.gelu(self.up(self.norm(x)))), 0.1) * scale


class Checkpointed(Module):
    """Blocks that run again, called as the models of transformers call them."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.first, self.head = nn.Linear(32, 32), nn.Linear(32, 10)
        self.run = partial(checkpoint, use_reentrant=reentrant)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = self.run(partial(block.__call__, scale=0.5), x)
        return self.head(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_are_booked_as_they_are(reentrant, dtype):
    def make_batch(batch):
        x, y = vectors(batch)
        return x.to(dtype), y

    case = Case(lambda: Checkpointed(reentrant).to(dtype), make_batch, float_loss)
    for optimizer in ("sgd", "adam"):
        assert_exact_without_memory(case, optimizer)


class Normed(Module):
    """Normalizations of an input that autocast has made narrow."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(32, 32), nn.Linear(32, 10)
        self.layer_norm, self.group_norm = nn.LayerNorm(32), nn.GroupNorm(4, 16)

    def forward(self, x):
        return self.head(self.layer_norm(self.first(self.group_norm(self.first(x)))))


def test_statistics_of_a_narrow_input_are_wide():
    step = record(Normed, vectors, float_loss, "sgd", autocast="bf16")
    truth = count(Normed, vectors, float_loss, 9, "sgd", "bf16").most
    assert memlab.plan(step).peak(9, workspace=False) == truth


@pytest.fixture
def one_rank() -> Iterator[Any]:
    """A group of this process alone, in a mesh of one device."""
    distributed = pytest.importorskip("torch.distributed")
    if not distributed.is_available() or not distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    from torch.distributed.device_mesh import init_device_mesh

    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group(
            "gloo", init_method=(Path(folder) / "group").as_uri(), rank=0, world_size=1
        )
        try:
            yield init_device_mesh("cpu", (1,))
        finally:
            distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, about gloo and about devices
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_fully_sharded_parameters_come_and_go(one_rank, optimizer):
    """Gathered parameters are freed by a resize of their storage, which no operator makes."""
    from torch.distributed.fsdp import fully_shard

    def build():
        model = nn.Sequential(nn.Linear(32, 32), Block(), Block(), nn.Linear(32, 10))
        for block in model[1:3]:
            fully_shard(block, mesh=one_rank)
        return fully_shard(model, mesh=one_rank)

    resize = torch.UntypedStorage.resize_
    assert_exact_without_memory(Case(build, vectors, float_loss), optimizer)
    assert torch.UntypedStorage.resize_ is resize


# -- what it says ------------------------------------------------------------------------------


RUNS: list[str] = []


class Branch(Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 10)

    def forward(self, x):
        RUNS.append("real" if type(x) is torch.Tensor else "fake")
        return self.layer(x) if x.sum() > -1e9 else self.layer(x) * 2


@pytest.mark.parametrize(
    ("optimizer", "least"),
    [("sgd", "2.6 kB"), ("momentum", "4.0 kB"), (torch.optim.Adam, "5.3 kB")],
)
def test_real_tensors_are_announced_with_their_cost_before_they_are_used(optimizer, least):
    with pytest.warns(RealTensorsWarning) as warned:
        step = record(Branch, vectors, float_loss, optimizer)
    (message,) = (str(warning.message) for warning in warned)
    assert f"at least {least}" in message
    assert "DataDependentOutputException" in message
    assert "5, 2 and 3" in message
    assert any("recorded on real tensors" in note for note in step.notes)


def test_a_model_that_cannot_be_made_fake_is_announced_too():
    def optimizer(parameters):
        parameters = list(parameters)
        parameters[0].detach().numpy()
        return torch.optim.SGD(parameters, lr=0.1)

    with pytest.warns(RealTensorsWarning, match="at least 5.3 kB"):
        assert observe(partial(nn.Linear, 32, 10), vectors, float_loss, optimizer).real


def test_no_real_step_runs_before_it_is_announced(monkeypatch):
    RUNS.clear()
    runs: list[list[str]] = []
    monkeypatch.setattr("warnings.warn", lambda *_, **__: runs.append(list(RUNS)))
    record(Branch, vectors, float_loss)
    assert [set(each) for each in runs] == [{"fake"}]


def test_who_asks_for_real_tensors_is_not_warned():
    assert observe(Branch, vectors, float_loss, real=True).real


class Layer(Module):
    """A layer of a language model, in bf16 with 8 M parameters."""

    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.norm, self.value = nn.RMSNorm(width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.value(self.norm(x))
        return x + self.down(F.silu(self.up(x)))


def language_model(width: int = 1024, words: int = 32000) -> Any:
    layers = [Layer(width) for _ in range(6)]
    body = nn.Sequential(nn.Embedding(words, width), *layers, nn.Linear(width, words))
    return body.bfloat16()


def test_a_large_model_takes_no_memory():
    """Its parameters alone take 240 MB, and twice that while it is built in fp32."""
    wish = language_model, partial(tokens, 128, 32000), token_loss, "adam"
    recording, most = most_allocated(lambda: observe(*wish))
    assert not recording.real
    assert most < 10**6
    assert memlab.plan(step_of(recording)).peak(8) > 10**9

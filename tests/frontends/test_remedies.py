"""Changes of a model's step that explain tries: their bytes are those of PyTorch's allocator."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import pytest

import memlab
from memlab.errors import InputError
from memlab.pictures.explain.explained import Explained
from memlab.pictures.explain.explained_changes import StepChange
from memlab.pictures.explain.own_model import OwnModel, usual_loss
from memlab.pictures.values.number_text import three_digits
from tests.oracles.requirement import torch_or_skip

torch = torch_or_skip()
from torch import nn

from memlab.frontends.torch.fitting.chunked_loss import chunked_loss, is_cross_entropy
from memlab.placement.cuda_cards import CARDS
from memlab.step.op import Phase
from memlab.step.tensor import Role
from tests.oracles.torch_allocator import most

BATCH = 64
cross_entropy = nn.functional.cross_entropy


WIDTH = 256


def wide() -> Any:
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(6)]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10))


def vectors(count: int) -> Any:
    return torch.randn(count, WIDTH), torch.randint(10, (count,))


def words() -> Any:
    return nn.Sequential(nn.Embedding(2000, 32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2000))


def texts(count: int) -> Any:
    return torch.randint(2000, (count, 16)), torch.randint(2000, (count, 16))


def changes(subject: OwnModel, *keys: str, batch: int = BATCH) -> dict[str, StepChange]:
    """The changes of these keys that save bytes at the peak, where no memory is enough."""
    makers: list[Any] = list(subject._change_makers(batch, 1))
    tried = [
        subject._tried(1, batch, 1, make_change)
        for make_change in makers
        if getattr(make_change.args[-1], "key", "parts") in keys
    ]
    return {change.key: change for change in tried if change}


def of_cpu(*arguments: Any, **more: Any) -> OwnModel:
    given = {"progress": False, "card": None, "batch": BATCH, **more}
    return OwnModel(*arguments, **given)


# -- an optimizer that a function makes -----------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "title"),
    [
        (lambda p: torch.optim.Adam(p, foreach=True), "Adam"),
        (partial(torch.optim.AdamW, lr=0.1), "AdamW"),
        (partial(torch.optim.SGD, momentum=0.9), "SGD with momentum"),
        (lambda p: torch.optim.Adagrad([{"params": list(p)}]), "Adagrad"),
        (lambda p: torch.optim.NAdam([q for q in p if q.dim() > 1]), "NAdam"),
    ],
)
def test_a_function_that_makes_an_optimizer_is_named_by_its_class(make: Any, title: str) -> None:
    told = Explained(of_cpu(wide, vectors, optimizer=make), 8, 10**9)
    assert title in told.title.split(", ")


@pytest.mark.measures
def test_the_groups_of_such_an_optimizer_are_changed() -> None:
    def make(parameters: Any) -> Any:
        return torch.optim.Adam(parameters, foreach=True)

    foreach = of_cpu(wide, vectors, optimizer=make, options={"keep_output": False})
    assert "in the optimizer" in Explained(foreach, BATCH, 10**9).peak_sentence
    tried = changes(foreach, "foreach", "fused", "momentum", "sgd")
    assert list(tried) == ["foreach", "fused", "momentum", "sgd"]
    for key in ("foreach", "fused"):

        def made(parameters: Any, code: str = "\n".join(tried[key].code)) -> Any:
            optimizer = make(parameters)
            exec(code, {"optimizer": optimizer})  # what is to be pasted
            return optimizer

        assert tried[key].peak(BATCH) == most(wide, vectors, cross_entropy, BATCH, made)
        assert tried[key].same is (key == "foreach")


def test_an_optimizer_without_a_fused_kernel_is_not_offered_one() -> None:
    subject = of_cpu(wide, vectors, optimizer=lambda p: torch.optim.NAdam(p, foreach=True))
    assert list(changes(subject, "foreach", "fused")) == ["foreach"]


# -- the step -------------------------------------------------------------------------------------


@pytest.mark.measures
def test_an_output_that_no_name_holds() -> None:
    text = of_cpu(words, texts, optimizer="sgd")
    tried = changes(text, "keep_output")
    peak = most(words, texts, usual_loss, BATCH, "sgd")
    assert tried["keep_output"].peak(BATCH) == peak < text.plain.peak(BATCH)
    bare = OwnModel(words, texts, None, "sgd", {"keep_output": False}, False, None)
    assert not changes(bare, "keep_output")


@pytest.mark.measures
def test_autocast_takes_what_it_promises() -> None:
    options = {"keep_output": False}
    subject = of_cpu(wide, vectors, optimizer="sgd", options=options, batch=1024)
    tried = changes(subject, "autocast", batch=1024)
    peak = most(wide, vectors, cross_entropy, 1024, "sgd", "bf16")
    assert tried["autocast"].peak(1024) == peak < subject.plain.peak(1024)
    assert tried["autocast"].asks


def test_gradients_that_stay_are_let_go() -> None:
    plain = OwnModel(words, texts, progress=False, card=None)
    zeros = OwnModel(words, texts, progress=False, card=None, options={"set_to_none": False})
    change = changes(zeros, "set_to_none")["set_to_none"]
    assert change.peak(BATCH) == plain.plain.peak(BATCH) < zeros.plain.peak(BATCH)
    assert not changes(plain, "set_to_none")


# -- the loss in chunks ---------------------------------------------------------------------------


@pytest.mark.measures
def test_the_loss_in_chunks_takes_what_it_promises() -> None:
    text = of_cpu(words, texts, optimizer="sgd", options={"keep_output": False})
    change = changes(text, "chunked")["chunked"]
    for lines in (change.code, change.alone):
        names: dict[str, Any] = {"model": words()}
        exec("\n".join(lines), names)  # what is to be pasted
        peak = most(lambda names=names: names["model"], texts, names["loss_fn"], BATCH, "sgd")
        assert change.peak(BATCH) == pytest.approx(peak, rel=0.01)
    assert change.peak(BATCH) < text.plain.peak(BATCH) / 2


def test_the_loss_in_chunks_is_the_loss() -> None:
    torch.manual_seed(0)
    plain, model = words(), words()
    model.load_state_dict(plain.state_dict())
    x, y = texts(3)
    y[0, :5] = -100
    loss = cross_entropy(plain(x).flatten(0, 1), y.flatten())
    other = chunked_loss(model[3])(model(x), y)
    loss.backward()
    other.backward()
    torch.testing.assert_close(other, loss)
    for mine, yours in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, yours.grad)


@pytest.mark.parametrize("classes", [5, 100])
def test_a_loss_is_known_by_its_values(classes: int) -> None:
    flat = partial(is_cross_entropy, classes=classes, dims=2)
    assert flat(lambda x, y: cross_entropy(x.view(-1, classes), y.view(-1)))
    assert is_cross_entropy(cross_entropy, classes, 1)
    assert not is_cross_entropy(cross_entropy, classes, 0)
    assert not flat(lambda x, y: cross_entropy(x.flatten(0, 1), y.flatten(), label_smoothing=0.1))
    assert not flat(lambda x, y: cross_entropy(x.flatten(0, 1), y.flatten(), reduction="sum"))
    assert not flat(nn.functional.mse_loss)


class Scaled(nn.Module):  # type: ignore[name-defined,misc,unused-ignore]
    """A model that does something to the scores."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = words()

    def forward(self, x: Any) -> Any:
        return self.layers(x) / self.scale

    @property
    def scale(self) -> Any:
        return 2


class ScaledByWord(Scaled):
    """A model that does something else to the scores of each word."""

    @property
    def scale(self) -> Any:
        return torch.arange(1, 2001)


@pytest.mark.parametrize("build", [Scaled, ScaledByWord])
def test_scores_that_are_changed_are_not_taken_in_chunks(build: Any) -> None:
    assert changes(of_cpu(words, texts), "chunked")
    subject = of_cpu(build, texts)
    assert list(changes(subject, "chunked", "keep_output")) == ["keep_output"]
    assert list(changes(subject, "parts")) == ["parts"]  # what fails ends nothing


# -- on a card ------------------------------------------------------------------------------------


def of_card(*arguments: Any, name: str = "RTX 4090") -> OwnModel:
    given: dict[str, Any] = {"progress": False, "card": CARDS[name]}
    return OwnModel(*arguments, **given)


def test_states_in_8_bits_are_those_of_bitsandbytes() -> None:
    change = changes(of_card(wide, vectors), "adam8bit")["adam8bit"]
    states = {
        entry.name: entry.size.at(1)
        for entry in change.ledger.entries
        if entry.role is Role.OPTIMIZER_STATE
    }
    count = WIDTH * WIDTH
    assert states["0.0.weight.state1"] == states["0.0.weight.state2"] == count
    assert states["0.0.weight.absmax1"] == 4 * count // 256
    assert states["0.0.bias.state1"] == 4 * WIDTH  # small ones stay as they are
    assert sum(".qmap" in name for name in states) == 2  # for all parameters
    born = [entry for entry in change.ledger.entries if entry.birth >= 0]
    update = [row.phase for row in change.ledger.rows].index(Phase.UPDATE)
    assert not [entry for entry in born if entry.birth >= update]
    assert not changes(of_cpu(wide, vectors), "adam8bit")


@pytest.mark.parametrize(
    ("optimizer", "name"), [("momentum", ""), (lambda p: torch.optim.AdamW(p), "AdamW8bit")]
)
def test_states_in_8_bits_are_for_adam_alone(optimizer: Any, name: str) -> None:
    tried = changes(of_card(wide, vectors, None, optimizer), "adam8bit")
    assert name in tried["adam8bit"].code[1] if name else not tried


def test_maps_wait_in_host_memory_beside_a_card_alone() -> None:
    subject = of_card(wide, vectors)
    change = changes(subject, "offload", batch=8192)["offload"]
    assert change.peak(8192) < subject.plain.peak(8192) / 2
    assert "over the bus" in change.cost
    told = Explained(subject, 8192, subject.plain.most(8192) - 1)
    assert told.changes[0].same
    assert told.helping[-1].key == "offload"  # no time is planned of it
    assert not changes(of_cpu(wide, vectors), "offload")


def test_a_card_that_does_not_multiply_in_bfloat16_is_not_told_to() -> None:
    assert changes(of_card(words, texts), "autocast")
    assert not changes(of_card(words, texts, name="T4"), "autocast")


# -- a loss, a batch or a model that no step can be recorded of -----------------------------------


def mean(output: Any, target: Any) -> Any:
    return output.mean()


class Inference(nn.Linear):  # type: ignore[name-defined,misc,unused-ignore]
    """A model that runs without gradients."""

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            return super().forward(x)


class Pair(nn.Linear):  # type: ignore[name-defined,misc,unused-ignore]
    """A model that returns two tensors."""

    def forward(self, x: Any) -> Any:
        return super().forward(x), x


@pytest.mark.parametrize(
    ("loss_fn", "text"),
    [
        (lambda o, y: (mean(o, y), o), "got a tuple of 2; try loss_fn=.*target.*0"),
        (lambda o, y: {"ce": mean(o, y)}, "got a dict of 1; try loss_fn=.*target.*'ce'"),
        (lambda o, y: o, r"got a tensor of shape \(5, 8\); try loss_fn=.*mean"),
        (lambda o, y: 0.5, "got 0.5; try loss_fn="),
        (lambda o, y: mean(o, y).detach(), r"try memlab.explain\(step=lambda x: model\(x\)"),
    ],
)
def test_a_loss_that_is_not_one_number_gets_one_sentence(loss_fn: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        OwnModel(nn.Linear(8, 8), lambda count: (torch.randn(count, 8), None), loss_fn)


@pytest.mark.parametrize(
    ("build", "batch", "text"),
    [
        (nn.Linear(8, 8), lambda x: x, "got a tensor of shape .*; without a target try"),
        (nn.Linear(8, 8), lambda x: {"x": x}, r"got a dict of 1; memlab.explain\(model, batch\)"),
        (nn.Linear(8, 8), lambda x: (x, x, x), "got a tuple of 3; .*explain.step=function"),
        (nn.Linear(8, 8), lambda x: (x, None), "no target .*loss_fn=lambda output, _: output.mean"),
        (Pair(8, 8), lambda x: (x, torch.ones(len(x)).long()), "is a tuple, .* try loss_fn="),
        (nn.ReLU(), lambda x: (x, x), r"no parameters.*explain\(step=function"),
        (Inference(8, 8), lambda x: (x, torch.ones(len(x)).long()), "for inference try"),
    ],
)
def test_a_step_that_cannot_be_trained_gets_one_sentence(build: Any, batch: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        OwnModel(build, lambda count: batch(torch.randn(count, 8)), progress=False)


def test_the_step_that_is_named_for_inference_is_explained() -> None:
    model, x = Inference(8, 8), torch.randn(4, 8)
    view = memlab.explain(step=lambda x: model(x), batch=x, progress=False)
    assert "The peak is" in str(view)


# -- beside the plan ------------------------------------------------------------------------------


def layers_of_several_sizes() -> Any:
    widths = [256, 3000, 700, 5000, 1300, 256]
    pairs = pairwise(widths)
    return nn.Sequential(*(nn.Sequential(nn.Linear(*pair), nn.GELU()) for pair in pairs))


def test_segments_that_grow_leave_no_fragments() -> None:
    subject = of_card(layers_of_several_sizes, vectors)
    rows = {row.name: row for row in subject.plain.card_estimates(1000)}
    assert rows["fragments"].nbytes > 20 * 2**20
    change = subject._segments_change(1000)
    now = {row.name: row for row in change.card_estimates(1000)}
    assert now.pop("fragments")[1::3] == (0, 20 * 2**20)
    assert all(rows[name] == row for name, row in now.items())
    assert change.peak(1000) == subject.plain.peak(1000)
    told = Explained(subject, 1000, change.most(1000))
    assert "segments" in {change.key for change in told.helping}


@pytest.mark.parametrize(("memory", "apart"), [(600, True), (1200, False)])
def test_a_small_memory_is_told_of_context_and_cublas(memory: int, apart: bool) -> None:
    told = Explained(of_card(wide, vectors), 8, memory * 10**6)
    told_apart = any("context and cuBLAS take 132 MB to 716 MB" in line for line in told.sentences)
    assert told_apart is apart
    assert f"The plan takes {three_digits(told.peak.nbytes)};" in told.sentences[1] or not apart


def test_a_plan_that_fits_without_context_is_told_so() -> None:
    subject = of_card(wide, vectors)
    shown = subject.plain.most(100_000)
    assert shown > 2 * 10**9
    for memory, apart in ((shown - 1, True), (shown, False), (10**9, False)):
        told = Explained(subject, 100_000, memory)
        assert ("context and cuBLAS" in told.sentences[1]) is apart
    assert "context and cuBLAS" not in Explained(of_cpu(wide, vectors), 8, 10**8).sentences[1]

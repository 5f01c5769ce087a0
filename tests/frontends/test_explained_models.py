"""A PyTorch model that is explained: what it is recorded as, and what its changes promise."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import memlab
from memlab.errors import InputError
from memlab.pictures.explain import recorded_model
from memlab.pictures.explain.explained import Explained
from memlab.pictures.explain.own_model import OwnModel
from tests.oracles.requirement import torch_or_skip

torch = torch_or_skip()


def block(width: int) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())


def build() -> Any:
    nn = torch.nn
    first, head = nn.Conv2d(3, 16, 3, padding=1), nn.Linear(16, 10)
    middle = nn.Sequential(*(block(16) for _ in range(4)))
    return nn.Sequential(first, middle, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)


def make_batch(count: int) -> Any:
    return torch.randn(count, 3, 64, 64), torch.randint(10, (count,))


@pytest.fixture(scope="module")
def model() -> OwnModel:
    return OwnModel(build, make_batch, progress=False, card=None, batch=256)


def explained(model: OwnModel, batch: int, spare: int) -> Explained:
    """With so many bytes less than it takes."""
    return Explained(model, batch, model.plain.most(batch) - spare)


def test_it_is_recorded_as_record_does(model: OwnModel) -> None:
    from memlab.frontends.torch import record

    loss = torch.nn.functional.cross_entropy
    ledger = memlab.plan(record(build, make_batch, loss, "adam", keep_output=True))
    assert model.plain.peak(256) == ledger.peak(256) > ledger.peak(256, workspace=False)


def test_at_other_batches_workspace_is_bounded_and_nothing_more_runs(
    model: OwnModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memlab.frontends.torch import measured_workspace

    told = Explained(model, 256, 10**10)
    assert told.largest
    assert any("measured at batch 256." in note for note in told.notes)
    monkeypatch.setattr(measured_workspace, "_measured_alone", None)
    for batch in (1, 16, 100, 1000):
        explained = Explained(model, batch, 10**10)
        assert explained.peak.nbytes > model.plain.ledger.peak(batch, workspace=False)
        assert any("an upper bound from batches" in note for note in explained.notes)
        assert explained.largest


def test_a_saved_model_has_its_bound(model: OwnModel, tmp_path: Path) -> None:
    recorded_model.save(model, (), tmp_path / "model.json", "here")
    again = recorded_model.load(tmp_path / "model.json")
    assert again.plain.ledger == model.plain.ledger.at()
    assert not again.lacks_workspace


def test_a_saved_step_says_whether_workspace_is_missing(tmp_path: Path) -> None:
    def vectors(count: int) -> Any:
        return torch.randn(count, 8), torch.randint(4, (count,))

    model = OwnModel(lambda: torch.nn.Linear(8, 4), vectors, progress=False)  # of a card
    recorded_model.save(model, (), tmp_path / "model.json", "here")
    assert not recorded_model.load(tmp_path / "model.json").lacks_workspace
    plain = replace(model.step, notes=())
    old = recorded_model.RecordedModel(plain, {}, (), "there", None)
    assert "the file has none." in Explained(old, 2, 10**9).notes[-1]


def test_modules_that_run_again_make_it_fit(model: OwnModel) -> None:
    found = explained(model, 256, 50_000_000)
    assert found.best is not None
    assert found.best.key == "again"
    assert found.best.same
    assert found.best.total(256) <= found.memory
    assert set(found.best.names) <= {name for name, _ in build().named_modules()}


def test_its_lines_do_what_it_promises(model: OwnModel) -> None:
    from memlab.frontends.torch import record

    found = explained(model, 256, 50_000_000)

    def wrapped(lines: tuple[str, ...]) -> Any:
        names = {"model": build()}
        exec("\n".join(lines), names)  # what is to be pasted
        return names["model"]

    assert found.best is not None
    for lines in (found.code, found.alone):
        build_it = partial(wrapped, lines)
        loss = torch.nn.functional.cross_entropy
        step = record(build_it, make_batch, loss, "adam", keep_output=True)
        assert memlab.plan(step).peak(256) == found.best.peak(256)


def test_a_module_itself_is_left_as_it_was() -> None:
    given = build()
    before = {name: each.clone() for name, each in given.state_dict().items()}
    again = OwnModel(given, make_batch, progress=False)
    assert all(torch.equal(each, given.state_dict()[name]) for name, each in before.items())
    plain = OwnModel(build, make_batch, progress=False).plain
    assert again.plain.ledger.timeline(8, workspace=False) == plain.ledger.timeline(
        8, workspace=False
    )


def test_a_peak_in_the_optimizer_is_not_mended_by_modules() -> None:
    def wide() -> Any:
        return torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.Linear(4096, 10))

    def vectors(count: int) -> Any:
        return torch.randn(count, 4096), torch.randint(10, (count,))

    found = explained(OwnModel(wide, vectors, progress=False, card=None), 4, 1_000_000)
    assert "in the optimizer" in found.peak_sentence
    assert "again" not in {each.key for each in found.changes}
    assert found.best is not None


def test_a_loss_that_nobody_gave_needs_whole_numbers() -> None:
    with pytest.raises(InputError, match="loss_fn is left out"):
        OwnModel(
            build, lambda count: (make_batch(count)[0], torch.randn(count, 10)), progress=False
        )


@pytest.mark.parametrize("given", [(3, make_batch), (build, 3)])
def test_what_is_no_function_gets_one_sentence(given: tuple[Any, Any]) -> None:
    with pytest.raises(InputError, match="try explain"):
        OwnModel(*given, progress=False)


@pytest.mark.filterwarnings("ignore:memlab now runs this model's step on real")
def test_what_the_model_raises_comes_through() -> None:
    class Mine(torch.nn.Linear):  # type: ignore[misc,name-defined,unused-ignore]  # untyped where torch is missing
        def forward(self, x: Any) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        OwnModel(lambda: Mine(3, 3), make_batch, progress=False)


class Branch(torch.nn.Linear):  # type: ignore[name-defined]
    """A model that fake tensors cannot run."""

    def forward(self, x: Any) -> Any:
        return super().forward(x) if x.sum() > -1e9 else x


def of_vectors(count: int) -> Any:
    return torch.randn(count, 8), torch.randint(4, (count,))


def test_a_step_on_real_tensors_is_announced_above_the_bar(capsys: Any) -> None:
    show = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        OwnModel(lambda: Branch(8, 4), of_vectors)
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    (line,) = (line for line in lines if "on real tensors" in line)
    assert line.startswith("memlab now runs this model's step on real tensors, at batch 5, 2 and 3")
    assert warnings.showwarning is show


def test_without_a_bar_it_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="on real tensors.*takes at least 576 B"):
        OwnModel(lambda: Branch(8, 4), of_vectors, progress=False)


def test_the_view_of_a_model_says_how_it_is_made_again() -> None:
    view = memlab.explain(build, make_batch, batch=4, memory="2 GB", progress=False)
    assert view.code() == (
        "memlab.explain(build, make_batch, batch=4, optimizer='adam', memory='2 GB')"
    )
    assert "Nothing has to change." in str(view)

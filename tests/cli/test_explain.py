"""memlab explain: what it finds, what it prints, and the sentence for what it does not find."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import memlab
from memlab import cli
from memlab.pictures.explain.report import given_by
from tests.oracles.requirement import torch_or_skip

pytestmark = pytest.mark.measures  # it records a model

MODEL = """
import torch
from torch import nn


def make_batch(B):
    return torch.randn(B, 3, 32, 32), torch.randint(10, (B,))


def build():
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(64, 10))


def pair():
    return build, make_batch


def module():
    return build(), make_batch


def given():
    return {"build": build, "make_batch": make_batch, "batch": 16, "optimizer": "sgd"}


def named():
    def strange():
        model = nn.Sequential()
        for name in ("a\\x1b[31m", "b\\uffff", "c\\ud800", "d\\ne", 'f"g', "n" * 10_000):
            layers = (nn.Linear(64, 64), nn.Sigmoid(), nn.Linear(64, 64), nn.Sigmoid())
            model.add_module(name, nn.Sequential(*layers))
        return model

    return strange, lambda B: (torch.randn(B, 64), torch.randint(64, (B,)))


def number():
    return 3


def broken():
    raise ZeroDivisionError("mine")


def lacking():
    return {"build": build}


def stepped():
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()

    return {"step": step, "batch": make_batch(8)}


def any_step():
    return stepped() | {"make_batch": make_batch}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    name = f"train_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path / f"{name}.py"


def test_the_text_and_the_json_are_of_one_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch_or_skip()
    place = f"{folder.stem}:given"
    assert cli.main(["explain", place, "--memory", "1GB", "--picture", "out.svg"]) == 0
    text = capsys.readouterr().out
    assert cli.main(["explain", place, "--memory", "1GB", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "memlab.explain/1"
    assert facts["batch"] == 16
    assert facts["fits"] is True
    assert all(each in text for each in facts["sentences"])
    assert f"{facts['peak']['bytes']:,}" in text
    assert Path("out.svg").read_text().startswith("<svg")


def test_a_function_may_give_a_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch_or_skip()
    assert cli.main(["explain", f"{folder.stem}:stepped", "--device", "cpu", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["batch"], facts["largest_batch"], facts["growth"]) == (8, 8, None)
    words = ["explain", f"{folder.stem}:any_step", "--batch", "9", "--device", "cpu", "--json"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["largest_batch"] > 9


@pytest.mark.parametrize("function", ["pair", "module"])
def test_what_a_function_may_give(
    folder: Path, capsys: pytest.CaptureFixture[str], function: str
) -> None:
    torch_or_skip()
    assert cli.main(["explain", f"{folder.stem}:{function}", "--batch", "8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["batch"] == 8


REFUSED = {
    "train": "name a function as package.module:function, got 'train'",
    "no_such_module:pair": "there is no module 'no_such_module' here",
    "{0}:nothing": "{0} has no function 'nothing'",
    "{0}:number": "{0}:number must give (build, make_batch)",
    "{0}:lacking": "the dict of {0}:lacking has no 'make_batch'",
}


@pytest.mark.parametrize("place", REFUSED)
def test_what_is_missing_gets_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    torch_or_skip()
    assert cli.main(["explain", place.format(folder.stem)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"memlab: {REFUSED[place].format(folder.stem)}")
    assert said.count("\n") == 1


def test_modules_of_any_name_are_shown_drawn_and_saved(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch_or_skip()
    words = ["explain", f"{folder.stem}:named", "--batch", "50000", "--memory", "650MB"]
    assert cli.main([*words, "--picture", "x.svg"]) == 0
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable()
    assert r"c\ud800" in text
    assert all(len(line) < 500 or "wrap(model" in line for line in text.splitlines())
    assert ElementTree.parse("x.svg").getroot()
    made = given_by(f"{folder.stem}:named")
    found = memlab.explain(**made, batch=50_000, memory="650 MB", progress=False)
    again = next(each for each in found.rows.changes if each.key == "again")
    model: dict[str, object] = {"model": made["build"]()}
    exec("\n".join(again.code), model)  # the lines that a user pastes
    ledger = memlab.plan(again.step)
    memlab.save(ledger, "x.json")
    assert memlab.load("x.json") == ledger


def test_an_error_of_the_users_own_comes_through(folder: Path) -> None:
    torch_or_skip()
    with pytest.raises(ZeroDivisionError, match="mine"):
        cli.main(["explain", f"{folder.stem}:broken"])

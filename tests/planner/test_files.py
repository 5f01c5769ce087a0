"""Ledgers as files, traces and differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import memlab
from memlab import InputError
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.planner import files
from memlab.planner.diff import diff
from memlab.planner.ledger import Ledger
from tests.networks_at_random import networks


@given(networks())
@settings(max_examples=30, deadline=None)
def test_json_gives_the_same_ledger_back(net: Network) -> None:
    ledger = memlab.plan(memlab.training_step(net))
    assert files.from_dict(json.loads(json.dumps(files.to_dict(ledger)))) == ledger


def test_save_and_load(tmp_path: Path) -> None:
    ledger = memlab.plan(memlab.inference_step(memlab.zoo.alexnet()))
    files.save(ledger, tmp_path / "a.json")
    assert files.load(tmp_path / "a.json") == ledger
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read"),
        ("{", "is not JSON"),
        ("[]", "no ledger of schema"),
        ('{"schema": "memlab.ledger/0"}', "no ledger of schema"),
        ('{"schema": "memlab.ledger/1", "operations": []}', "damaged"),
        (("fixed", 1.5), "damaged"),
        (("fixed", -100), "damaged"),
        (("birth", 999), "damaged"),
        (("death", -1), "damaged"),
        (("name", 5), "damaged"),
        (("role", "toy"), "damaged"),
        (("axes", [["C", float("inf")]]), "damaged"),
    ],
)
def test_bad_files_give_one_sentence(
    tmp_path: Path, content: str | tuple[str, object] | None, words: str
) -> None:
    path = tmp_path / "bad.json"
    if isinstance(content, tuple):
        data = files.to_dict(memlab.plan(memlab.training_step(memlab.zoo.linear1())))
        field, value = content
        block = data["blocks"][3]
        (block["size"] if field == "fixed" else block)[field] = value
        path.write_text(json.dumps(data))
    elif content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=words) as caught:
        files.load(path)
    assert str(path) in str(caught.value)


def shared() -> Ledger:
    """A block with two tenants, the first of them from operation 1 to 2."""
    x = network("shared", image=(2, 4, 4)).conv(2, 1, name="conv").batch_norm(name="norm")
    step = memlab.training_step(x.relu(name="relu").flatten().squared_error())
    return memlab.plan(memlab.in_place(step))


def test_tenants_are_saved_and_loaded(tmp_path: Path) -> None:
    files.save(shared(), tmp_path / "a.json")
    found = files.load(tmp_path / "a.json")
    assert found == shared()
    entry = next(entry for entry in found.entries if entry.name == "norm")
    assert [tenant.name for tenant in entry.tenants] == ["norm", "relu"]


@pytest.mark.parametrize(
    "tenants",
    [
        5,
        [5],
        [["norm", 1]],
        [["norm", 1, 2]],
        [["norm", 1, 2], ["relu", 3, "last"]],
        [["norm", 1, 2], ["relu", 2.0, "last"]],
        [["norm", 1, 2], [None, 2, "last"]],
        [["norm", 1, 2], ["relu", 2, 99]],
        [["norm", 1, float("inf")], ["relu", float("inf"), "last"]],
        [["relu", 2, "last"], ["norm", 1, 2]],
    ],
)
def test_damaged_tenants_give_one_sentence(tenants: Any) -> None:
    data = json.loads(json.dumps(files.to_dict(shared())))
    block = next(block for block in data["blocks"] if block["name"] == "norm")
    for each in tenants if isinstance(tenants, list) else ():
        if isinstance(each, list) and each[-1] == "last":
            each[-1] = block["death"]
    block["tenants"] = tenants
    with pytest.raises(InputError, match="this ledger is damaged") as caught:
        files.from_dict(data)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.linear1()))
    for target in (tmp_path / "missing" / "a.json", tmp_path):
        with pytest.raises(InputError, match="cannot write"):
            files.save(ledger, target)


def test_the_trace_holds_every_operation_and_the_peak() -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.mnist_cnn()))
    events = files.trace(ledger, 32)["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == [row.name for row in ledger.rows]
    counters = [sum(e["args"].values()) for e in events if e["ph"] == "C"]
    assert counters == ledger.timeline(32)


def test_diff_accounts_for_every_byte_of_the_change() -> None:
    vgg = memlab.plan(memlab.training_step(memlab.zoo.vgg16(), "adam"))
    half = diff(vgg, vgg, 8, 4)
    assert half.change == vgg.peak(4) - vgg.peak(8) == sum(half.roles.values())
    assert half.change == sum(half.blocks.values())
    assert half.peaks[0].index != half.peaks[1].index
    assert "The peak changes by -" in str(half)
    assert "Nothing changed" in str(diff(vgg, vgg, 8))


def test_diff_sums_up_the_blocks_that_it_does_not_list() -> None:
    x = network("chain", features=1)
    for _ in range(5):
        x = x.linear(1).tanh()
    ledger = memlab.plan(memlab.training_step(x.squared_error(), "sgd"))
    change = diff(ledger, ledger, 100, 102)
    assert len(change.blocks) > 3
    assert set(change.blocks.values()) == {2 * 4}  # two samples more of one value each
    *_, last = change.text(most=3).splitlines()
    rest = len(change.blocks) - 3
    assert last.split() == [f"+{8 * rest}", "B", f"{rest}", "others"]
    assert "others" not in change.text(most=len(change.blocks))

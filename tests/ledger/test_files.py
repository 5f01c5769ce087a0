"""Ledgers as files, traces and differences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError
from memlab.errors import visible
from memlab.ledger import files
from memlab.ledger.diff import diff
from memlab.ledger.entries import UNNAMED, Entry
from memlab.ledger.ledger import Ledger
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.step.storage import Size
from memlab.step.tensor import Role
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.rows import every_row
from tests.strange import STRANGE, name_of, said


@given(networks())
@examples(30)
def test_json_gives_the_same_ledger_back(net: Network) -> None:
    ledger = memlab.plan(memlab.training_step(net))
    assert files.from_dict(json.loads(json.dumps(files.to_dict(ledger)))) == ledger


@given(st.text(max_size=8), st.text(max_size=8), st.integers(0, 9), st.integers(0, 9))
@examples(200)
def test_what_is_saved_is_loaded_or_it_is_not_saved(
    name: str, layer: str, fixed: int, each: int
) -> None:
    """Whatever a plan is called: a file that is written holds the same one."""
    plain = memlab.plan(memlab.training_step(memlab.zoo.linear1(features=2)))
    first, *others = plain.entries
    entry = replace(first, name=name, layer=layer, size=Size(fixed, each))
    ledger = replace(plain, network=layer, label=name, entries=(entry, *others))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        alone = name not in {other.name for other in others}
        if alone and visible(name) == name and visible(layer) == layer:
            memlab.save(ledger, path)
            assert memlab.load(path) == ledger
        else:
            with pytest.raises(InputError, match="cannot be saved"):
                memlab.save(ledger, path)
            assert not path.exists()


def test_save_and_load(tmp_path: Path) -> None:
    ledger = memlab.plan(memlab.inference_step(memlab.zoo.alexnet()))
    files.save(ledger, tmp_path / "a.json")
    assert files.load(tmp_path / "a.json") == ledger
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.table
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


LINEAR = memlab.plan(memlab.training_step(memlab.zoo.linear1()))
PLAIN = json.dumps(files.to_dict(LINEAR))


def plain() -> dict[str, Any]:
    """A small ledger as it lies in a file."""
    found: dict[str, Any] = json.loads(PLAIN)
    return found


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a file that is one of its kind: of lists, to the first two."""
    yield path
    few = dict(enumerate(data[:2])) if isinstance(data, list) else data
    for key, value in few.items() if isinstance(few, dict) else ():
        yield from places(value, (*path, key))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The same with another value there."""
    if not path:
        return value
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return data


JSON: list[Any] = [
    each for each in STRANGE if isinstance(each, str | float | int | None | list | dict)
]


@pytest.mark.table
@pytest.mark.parametrize("path", list(places(plain())), ids=str)
def test_every_field_of_a_file_is_checked(path: tuple[Any, ...]) -> None:
    for value in (*JSON, [{}], [[]], ["a", 1]):
        data = changed(plain(), path, value)
        if said(lambda: files.from_dict(data)):  # noqa: B023
            continue
        found = files.from_dict(data)
        texts = (found.why(2), found.fit("1 GB"), diff(found, found, 2), found.of("h", 2))
        assert all(map(str, texts))


def twice(data: dict[str, Any]) -> None:
    data["blocks"].append(data["blocks"][0])


def missing(data: dict[str, Any]) -> None:
    del data["blocks"][0]["format"]


def another(data: dict[str, Any]) -> None:
    data["blocks"][0]["colour\n"] = 1


def empty(data: dict[str, Any]) -> None:
    data["operations"] = []
    for block in data["blocks"]:
        block["birth"], block["death"] = -1, 0


def test_a_plan_for_the_largest_batch_is_saved_and_loaded(tmp_path: Path) -> None:
    ledger = replace(LINEAR, batches=range(10**40, 10**40 + 1))
    files.save(ledger, tmp_path / "a.json")
    assert files.load(tmp_path / "a.json") == ledger


def of(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]
    return lambda data: changed(data, tuple(keys), value)


MOST = r"must be at most 10\^40, got more than 10\^40; try 10\^40"
DAMAGED: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (twice, "two blocks are named 'h.weight'"),
    (missing, "block 'h.weight' has no format"),
    (another, r"block 'h.weight' has 'colour\\n'"),
    (empty, "no operation"),
    (of("blocks.0.memory", "nowhere"), "unknown memory 'nowhere'"),
    (of("blocks.0.format", "fp31"), "unknown format 'fp31'; did you mean 'fp32'"),
    (of("format", "fp31"), "unknown format 'fp31'; did you mean 'fp32'"),
    (of("optimizer", "adan"), "unknown optimizer 'adan'; did you mean 'adam'"),
    (of("origin", "guessed"), "unknown origin 'guessed'"),
    (of("operations.0.phase", "sideways"), "unknown phase 'sideways'"),
    (of("notes", [1]), "a note is 1"),
    (of("label", 5), "label is 5"),
    (of("training", "yes"), "training must be True or False"),
    (of("batches", [2]), "batches"),
    (of("batches", [3, 3]), "batches"),
    (of("batches", [3, 10**90]), f"the last of batches {MOST}"),
    (of("blocks.0.size.fixed", 10**90), f"fixed of size of block 'h.weight' {MOST}"),
    (of("blocks.0.size.fixed", -1), "fixed of size of block 'h.weight' must be at least 0, got -1"),
    (of("optimizer", 5), "unknown optimizer 5. Known: sgd,"),
    (of("blocks.0.axes", [["B"]]), r"an axis of block 'h.weight' is \['B'\]"),
    (of("blocks.0.axes", [["B", True]]), "an axis of block 'h.weight' is True"),
]


@every_row(("damage", "words"), DAMAGED)
def test_a_damaged_ledger_says_what_is_wrong(
    damage: Callable[[dict[str, Any]], Any], words: str
) -> None:
    data = plain()
    damage(data)
    with pytest.raises(InputError, match=words):
        files.from_dict(data)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000 + b"]" * 200_000,
        b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
        b"1" * 5_000,
        b'{"schema": ' + b"9" * 5_000 + b"}",
        b"\xff\xfe{\x00",
        b"\x00" * 100,
        b"",
        b'{"schema": NaN}',
    ],
    ids=lambda content: content[:12],
)
def test_what_is_no_ledger_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    assert str(path) in said(lambda: files.load(path))


def test_a_path_of_any_length_is_said_by_its_end() -> None:
    for call in (files.load, lambda path: files.save(LINEAR, path)):
        sentence = said(lambda: call("a/" * 5_000 + "plan.json"))  # noqa: B023
        assert "/a/plan.json" in sentence
        assert len(sentence) < 400


@pytest.mark.table
@pytest.mark.parametrize("given", STRANGE, ids=name_of)
def test_what_is_no_path_and_no_ledger_is_one_sentence(given: Any, tmp_path: Path) -> None:
    if not isinstance(given, str):
        assert said(lambda: files.load(given))
        assert said(lambda: files.save(LINEAR, given))
    assert said(lambda: files.save(given, tmp_path / "a.json"))
    assert said(lambda: files.from_dict(given))
    assert said(lambda: diff(given, LINEAR, 2))
    assert said(lambda: diff(LINEAR, given, 2))
    assert not list(tmp_path.iterdir())


def test_a_measured_ledger_is_saved_and_compared(tmp_path: Path) -> None:
    """Bytes that a run took without a name have one name together."""
    others = tuple(Entry(UNNAMED, Role.WORKSPACE, Size(8), n, n) for n in range(2))
    measured = replace(LINEAR, entries=(*LINEAR.entries, *others), origin="measured")
    files.save(measured, tmp_path / "a.json")
    assert files.load(tmp_path / "a.json") == measured
    assert diff(LINEAR, measured, 2).change == measured.peak(2) - LINEAR.peak(2)


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


@every_row(
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
    assert repr(diff(vgg, vgg, 8.0, 4.0)) == repr(half)  # type: ignore[arg-type]  # a whole number, as a float
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

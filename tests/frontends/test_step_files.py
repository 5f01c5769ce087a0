"""A recorded step, and a model with its changes, come back from their files as they were."""

import json
from dataclasses import replace

import pytest

import memlab
from memlab import lesson
from memlab.errors import InputError
from memlab.frontends import step_files
from memlab.lesson.material.recorded_models import NAMES
from memlab.pictures.explain import recorded_model
from memlab.pictures.explain.explained import Explained
from memlab.step.storage import HOST
from memlab.step.tensor import Role

BATCHES = (1, 2, 7, 32)


@pytest.fixture(scope="module")
def data():
    return step_files.to_dict(lesson.model("vgg11").step)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_comes_back(name):
    step = lesson.model(name).step
    back = step_files.from_dict(json.loads(step_files.written(step_files.to_dict(step))))
    assert back == step
    ledgers = memlab.plan(step), memlab.plan(back)
    for batch in BATCHES:
        one, other = (list(ledger.timeline(batch)) for ledger in ledgers)
        assert one == other


def test_a_model_comes_back_with_its_changes(tmp_path):
    found, path = lesson.model("vgg16"), tmp_path / "model.json"
    asked = 4, 3_800_000_000
    changes = Explained(found, *asked).changes
    recorded_model.save(found, changes, path, found.where)
    again = Explained(recorded_model.load(path), *asked)
    assert [each.key for each in changes] == ["fused", "one_by_one"]
    assert again.as_dict() == Explained(found, *asked).as_dict()


def test_the_files_of_the_lesson_say_where_they_are_from():
    for name in NAMES:
        found = lesson.model(name)
        assert "recorded with PyTorch 2." in found.where
        assert "recorded from PyTorch" in found.step.notes


def test_a_built_step_is_no_recorded_one():
    step = memlab.training_step(memlab.zoo.linear1())
    with pytest.raises(InputError, match=r"memlab\.save\(memlab\.plan\(step\), path\)"):
        step_files.to_dict(step)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(schema="memlab.step/0"), "schema memlab.step/1"),
        (lambda d: d.pop("blocks"), "it has no blocks"),
        (lambda d: d.update(more=1), "more"),
        (lambda d: d["live_in"].append(10**6), "there is no block 1000000"),
        (lambda d: d["live_in"].append(-1), "at least 0"),
        (lambda d: d["blocks"][0].pop(), "damaged"),
        (lambda d: d["blocks"][0].__setitem__(1, "map"), "unknown role"),
        (lambda d: d["operations"][0].__setitem__(2, "later"), "unknown phase"),
        (lambda d: d["operations"][0].__setitem__(10, [0]), "flops of"),
        (lambda d: d["operations"][3].__setitem__(5, {"in0": 10**6}), "there is no block"),
        (lambda d: d["operations"].append(d["operations"][0]), "two operations"),
    ],
)  # fmt: skip
def test_a_damaged_file_gets_one_sentence(data, change, said):
    broken = json.loads(json.dumps(data))
    change(broken)
    with pytest.raises(InputError, match=said) as error:
        step_files.from_dict(broken)
    assert "\n" not in str(error.value)


def test_what_a_file_cannot_hold_is_refused():
    """A technique adds to operations what no recording has; the host is another memory."""
    step = lesson.model("vgg11").step
    with pytest.raises(InputError, match="a step that was recorded is saved as it is"):
        step_files.to_dict(memlab.in_place(memlab.recompute(step, "every")))
    first, *others = step.ops
    slot, tensor = next(iter(first.writes.items()))
    there = replace(
        tensor, name="there", storage=replace(tensor.storage, name="there", memory=HOST)
    )
    copied = replace(
        step, ops=(replace(first, writes={**first.writes, f"{slot} there": there}), *others)
    )
    assert step_files.from_dict(step_files.to_dict(copied)) == copied


def test_an_unknown_model_gets_one_sentence(tmp_path):
    with pytest.raises(InputError, match="recorded model"):
        lesson.model("gpt5")
    (tmp_path / "model.json").write_text('{"schema": "memlab.plan/1"}', "utf-8")
    with pytest.raises(InputError, match=r"model\.json: this is no model"):
        recorded_model.load(tmp_path / "model.json")


def test_only_some_roles_are_released():
    """VGG-16's gradients wait for the next step; a map of the language model waits for a name."""
    vgg, named = (lesson.model(name).step for name in ("vgg16", "kept"))
    peak, every = (memlab.plan(step).peak(4) for step in (vgg, memlab.release(vgg)))
    gradients = memlab.plan(memlab.release(vgg, (Role.PARAMETER_GRADIENT,))).peak(4)
    assert every <= gradients < 0.92 * peak
    maps = memlab.plan(memlab.release(named, (Role.FEATURE_MAP,))).peak(32)
    scores = 32 * 512 * 32_000 * 4
    assert memlab.plan(named).peak(32) - maps == scores
    other = memlab.plan(memlab.release(named, (Role.PARAMETER_GRADIENT,))).peak(32)
    assert other == memlab.plan(named).peak(32)

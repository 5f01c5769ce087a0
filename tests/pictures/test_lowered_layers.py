"""All lowered matrices of a network, against the plan of the network and the published ratio."""

from fractions import Fraction
from typing import Any

import pytest

import memlab
from memlab import views, zoo
from memlab.errors import InputError
from memlab.lesson.card_question import topics
from memlab.lesson.content.lesson_03 import whole
from memlab.networks.builder import network
from tests.pictures.shown import charts, drawn, send


@pytest.mark.parametrize("name", ["resnet50", "vgg13", "alexnet", "googlenet_bn"])
def test_its_bytes_are_those_of_the_plan(name):
    rows = views.lowered_layers(name, 16).rows
    step = memlab.inference_step(zoo.build(name), algorithm="im2col-batch")
    planned = {entry.name: entry.size.at(16) for entry in memlab.plan(step).entries}
    copies = [planned.get(f"{node.name}.workspace", 0) for node in rows.nodes]
    assert rows.copies == copies
    assert len(rows.matrices) == sum(row.kind == "conv2d" for row in zoo.build(name).nodes)


def test_its_ratio_is_the_answer_of_the_card_on_any_numbers():
    question = topics()["03.whole"]
    for numbers in (question.first, *(question.again(f"{n}", []) for n in range(4))):
        view = views.lowered_layers(numbers["network"], numbers["batch"])
        assert view.rows.ratio == whole(numbers).value


def test_each_layer_has_two_bars_and_an_empty_one_where_nothing_is_copied():
    view = views.lowered_layers("resnet50", 1)
    (chart,) = charts(view)
    marks: list[Any] = list(chart.marks)
    assert len(marks) == 2 * 53
    assert [mark.look == "rule" for mark in marks[1::2]].count(True) == 33
    assert [mark.y1 for mark in marks[::2]] == view.rows.inputs
    assert "In 33 of the 53 layers the window is 1·1 with stride 1." in view.text()


def test_its_table_adds_up():
    view = views.lowered_layers("googlenet_bn", 8)
    rows = [line.split() for line in view.text().splitlines() if "stride" in line][1:]
    assert sum(int(row[3]) for row in rows) == 57 == len(view.rows.nodes)
    assert view.rows.ratio == Fraction(sum(view.rows.matrices), sum(view.rows.inputs))


def test_a_network_of_few_layers_names_no_layer_that_it_has_not():
    shape = network("one", image=(3, 8, 8)).conv(4, 1, name="point").max_pool("all").flatten()
    view = views.lowered_layers(shape.linear(2).cross_entropy(), 1)
    assert view.rows.ratio == 1
    assert len(view.rows.sentences) == 2
    assert not [word for word in drawn(view) if "largest" in word]


def test_the_batch_moves_all_bytes_and_not_the_ratio():
    view = views.lowered_layers("alexnet", 1)
    before = view.rows
    assert send(view, batch=3)["state"] == f"8|{8 * sum(before.matrices)}"
    assert view.rows.ratio == before.ratio
    assert view.rows.copies == [8 * nbytes for nbytes in before.copies]


@pytest.mark.parametrize(
    ("given", "batch", "sentence"),
    [
        ("linear1", 1, "has no convolution; try vgg16"),
        ("vgg17", 1, "did you mean 'vgg19'"),
        (3, 1, "give a network or its name, got 3"),
        ("vgg16", 0, "batch .* got 0"),
    ],
)
def test_bad_input_is_refused_by_a_sentence(given, batch, sentence):
    with pytest.raises(InputError, match=sentence):
        views.lowered_layers(given, batch)

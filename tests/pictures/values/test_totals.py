"""The totals of one step: each is what its rule or its plan gives, and the sentences say why."""

import pytest

import memlab
from memlab import counting, views, zoo
from memlab.errors import InputError
from memlab.step.tensor import Role

VGG = views.totals("vgg16", 128, said="14 GB")


def test_each_total_is_that_of_its_source():
    vgg = zoo.vgg16()
    rule = counting.find("vdnn").total_bytes(vgg, 128)
    ledger = memlab.plan(memlab.training_step(vgg, "momentum"))
    nbytes_of = {total.name: total.nbytes for total in VGG.totals}
    inside = ledger.timeline(128)
    at = [row.name for row in ledger.rows].index("backward of conv1_2.relu")
    assert nbytes_of == {
        "said": 14 * 10**9,
        "counted": sum(rule.values()),
        "peak": max(inside),
        "widest": inside[at],
    }
    assert all(sum(total.parts.values()) == total.nbytes for total in VGG.totals[1:])


def test_gradient_maps_are_largest_where_fewer_maps_are_left():
    pair, maps = Role.GRADIENT_MAP, Role.FEATURE_MAP
    assert VGG.widest.parts[pair] == VGG.counted.parts[pair] > VGG.peak.parts[pair]
    assert VGG.widest.parts[maps] < VGG.peak.parts[maps] < VGG.counted.parts[maps]
    text = VGG.text()
    assert "14 GB in the text, 12.197 GB by its counting, 9.799 GB planned." in text
    assert "other 1.803 GB" in text


def test_where_both_are_one_operation_there_is_one_bar_and_no_reason():
    one = views.totals("vgg16", 1)
    assert [total.name for total in one.totals] == ["counted", "peak"]
    assert "not there together" not in one.text()
    assert "the text" not in one.text()


def test_a_text_that_says_less_than_its_counting_has_no_rest():
    assert "does not say" not in views.totals("vgg16", 128, said="12 GB").text()


def test_an_optimizer_without_state_leaves_nothing_out():
    assert "leaves out" in VGG.text()
    assert "leaves out" not in views.totals("vgg16", 128, optimizer="sgd").text()


@pytest.mark.parametrize(
    ("name", "batch", "said"), [("vgg", 1, ""), ("vgg16", 0, ""), ("vgg16", 1, "much")]
)
def test_what_cannot_be_shown_is_refused(name, batch, said):
    with pytest.raises(InputError):
        views.totals(name, batch, said)

"""Columns and lanes of layers against their shapes, and the price against the events of a plan."""

from fractions import Fraction
from math import ceil

import pytest

import memlab
from memlab import InputError, zoo
from memlab.formats import FORMATS
from memlab.pictures import vectors_values as study
from memlab.pictures.vectors import OFFERED
from memlab.pictures.vectors_values import Vectors, layers_of, sizes
from memlab.step.tensor import Role

RESNET = zoo.resnet50()


def made(batch=1, bits=1024, format="fp32", size="7x7", **others):
    return Vectors(RESNET, batch, bits, format, size, **others)


# -- columns, channels, lanes ---------------------------------------------------------------------


@pytest.mark.parametrize("name", [*OFFERED, "vit_s", "overfeat"])
def test_columns_are_the_places_of_the_outputs(name):
    network = zoo.build(name)
    found = layers_of(network)
    maps = {n.shape[1:] for n in network.nodes if n.kind == "conv2d"}
    assert {(each.columns, size) for size, each in found.items() if size} == {
        (high * wide, f"{high}x{wide}") for high, wide in maps
    }
    assert found[""].columns == 1
    for size, each in found.items():
        node = network.by_name[each.name]
        assert each.channels == (node.shape[0] if size else node.shape[-1])
        assert (node.kind == "conv2d") is bool(size)


def test_the_convolution_is_the_hardest_of_its_size():
    assert sizes(RESNET) == ["7x7", "14x14", "28x28", "56x56", "112x112"]
    same = [n.shape[0] for n in RESNET.nodes if n.kind == "conv2d" and n.shape[1:] == (7, 7)]
    assert len(same) == 9
    assert layers_of(RESNET)["7x7"].channels == min(same) == 512


@pytest.mark.parametrize("source", ["columns", "channels"])
@pytest.mark.parametrize("format", study.FORMATS)
@pytest.mark.parametrize("bits", study.WIDTHS)
@pytest.mark.parametrize("batch", [1, 3, 32, 33, 64, 1000])
def test_every_value_has_one_lane_of_one_vector(batch, bits, format, source):
    found = made(batch, bits, format, "14x14", source=source)
    assert found.lanes == bits // FORMATS[format].bits
    counts = (batch, 196 * batch) if source == "columns" else (1000, 256)
    for each, count in zip(found.both, counts, strict=True):
        assert each.count == count
        assert each.vectors == ceil(count / found.lanes)
        inside = [each.inside(vector) for vector in range(each.vectors)]
        assert sum(inside) == count
        assert {*inside[:-1]} <= {found.lanes}
        assert each.idle == found.lanes * each.vectors - count < found.lanes
        assert each.part == Fraction(count, count + each.idle)


@pytest.mark.parametrize(
    ("batch", "linear", "convolution"),
    [(1, "97 %", "23 %"), (2, "94 %", "23 %"), (4, "88 %", "13 %"), (8, "75 %", "6 %"),
     (16, "50 %", "2 %"), (32, "0 %", "0 %"), (64, "0 %", "0 %")],
)  # fmt: skip
def test_idle_lanes_of_resnet50_in_1024_bits(batch, linear, convolution):
    """4 times 49 = 196 columns leave 28 of 224 lanes: 12.5 %, and half is rounded up."""
    assert [each.share for each in made(batch).both] == [linear, convolution]


def test_idle_is_0_only_where_none_is():
    found = made(1000).both[1]
    assert (found.idle, found.share) == (24, "<1 %")
    assert made(32).both[1].idle == 0


def test_a_vector_says_what_it_holds():
    one, two = made(1).both, made(2)
    assert made().said(one[0], 0) == "linear layer, vector 1: image 1, 31 lanes idle"
    assert made().said(one[1], 1) == (
        "convolution, vector 2: columns 33 to 49 of image 1, 15 lanes idle"
    )
    assert two.said(two.both[1], 1) == (
        "convolution, vector 2: column 33 of image 1 to column 15 of image 2, no lanes idle"
    )
    assert made(31).said(made(31).both[0], 0).endswith("images 1 to 31, 1 lane idle")
    channels = made(source="channels")
    assert channels.said(channels.both[0], 31) == (
        "linear layer, vector 32: channels 993 to 1,000 of one column, 24 lanes idle"
    )


# -- the price ------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["fp64", "fp32", "bf16", "fp16"])
def test_the_price_is_the_most_feature_maps_alive(format):
    ledger = memlab.plan(memlab.training_step(RESNET, format=format))
    maps = [each for each in ledger.entries if each.role is Role.FEATURE_MAP]
    for batch in (1, 7, 64):
        inside = [
            sum(e.size.at(batch) for e in maps if e.birth <= at <= e.death)
            for at in range(len(ledger.rows))
        ]
        assert made(batch, format=format).nbytes == max(inside)


def test_the_price_of_resnet50():
    assert made().nbytes == 84_508_160
    assert [round(made(32).nbytes / 1e9, 2), round(made(64, format="fp16").nbytes / 1e9, 2)] == [
        2.70,
        2.70,
    ]
    assert made(format="int8").nbytes == 0
    assert "no training step" in made(format="int8").price


# -- in words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "*One image fills most lanes of the convolution,* and one lane of the linear layer"),
        ({"batch": 16}, "*16 images fill nearly all lanes of the convolution,* and half of the "
                        "lanes of the linear layer"),
        ({"batch": 32}, "32 images fill the linear layer. *The convolution had little to gain*"),
        ({"batch": 32, "format": "fp16", "bits": 512},
         "fp16 has twice the lanes. *Twice the images fill them, at the same price*"),
        ({"batch": 128, "format": "int8"},
         "*128 images fill the linear layer.* One fills few lanes of the convolution"),
        ({"batch": 5, "source": "channels"},
         "*Channels fill nearly all lanes of the linear layer,* and all lanes of the "
         "convolution, at any batch"),
    ],
)  # fmt: skip
def test_the_headline_is_the_finding(given, says):
    assert made(**given).headline == says


def test_what_has_changed_is_said_beside_the_state_before():
    more, less = made(32).sentence(made()), made().sentence(made(32))
    assert more == ("Idle lanes of the convolution before: 23 %. The maps take 31.9 times the "
                    "bytes. Dashed: before.")  # fmt: skip
    assert "before: 0 %. The maps took 31.9 times" in less
    for other in (made(bits=256), made(32, format="fp64"), made(32, size="14x14")):
        assert made().sentence(other) == made().sentence()


def test_nobody_must_double_the_batch():
    found = made(64, format="fp16")
    assert found.halved is not None
    assert found.halved.nbytes == made(32).nbytes
    assert found.sentence().endswith("with 32 images the price is half.")
    assert round(found.nbytes / made(32, format="fp16").nbytes, 2) == 2


def test_as_a_dict_it_has_every_figure():
    found = made(4).as_dict()
    assert found["convolution"] == {
        "layer": "4.1.conv2", "count": 196, "vectors": 7, "idle": 28
    }  # fmt: skip
    assert found["nbytes"] == made(4).nbytes


@pytest.mark.parametrize("name", ["linear1", "gpt2", "lstm"])
def test_a_network_without_a_convolution_gets_one_sentence(name):
    with pytest.raises(InputError, match="has no convolution to put beside the other; try"):
        layers_of(zoo.build(name))


def test_a_network_without_a_linear_layer_gets_one_sentence():
    net = memlab.network("mine", image=(3, 8, 8)).conv(2, 3).squared_error()
    with pytest.raises(InputError, match="mine has no linear layer"):
        layers_of(net)

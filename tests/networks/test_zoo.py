from collections import Counter

import pytest

from memlab.errors import InputError
from memlab.layers import Conv2d
from memlab.networks import zoo
from memlab.networks.zoo import ZOO, build
from tests.rows import every_row

PARAMETERS = {  # H; linear1 is A1
    "linear1": 2,
    "mnist_cnn": 6_640_394,
    "alexnet": 61_100_840,
    "overfeat": 145_920_872,
    "vgg11": 132_863_336,
    "vgg13": 133_047_848,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "googlenet": 6_998_552,
    "googlenet_bn": 6_624_904,
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "resnet200": 64_673_832,
    "gpt2": 124_439_808,
    "gpt_small": 1024 * 256 + 256 * 256 + 6 * (12 * 256**2 + 13 * 256) + 2 * 256,
    "vit_s": 22_050_664,
    "rnn": 128 * 28 + 128 + 128 * 128 + 128 * 10 + 10,
    "lstm": 4 * (128 * 28 + 128 + 128 * 128) + 128 * 10 + 10,
}
RESNETS = [name for name in ZOO if name.startswith("resnet")]
BOTTLENECKS = ["resnet50", "resnet101", "resnet152", "resnet200"]
SEQUENCES = ("rnn", "lstm")
IMAGES = [name for name in ZOO if name not in ("linear1", "gpt2", "gpt_small", *SEQUENCES)]


def convs(net):
    return [node.layer for node in net.nodes if isinstance(node.layer, Conv2d)]


def test_every_network_has_its_count():
    assert {name: build(name).parameters for name in ZOO} == PARAMETERS


@every_row("name", BOTTLENECKS)
def test_both_variants_have_the_same_parameters(name):
    assert build(name, variant="v1").parameters == PARAMETERS[name]


@every_row("name", BOTTLENECKS)
def test_a_resnet_is_that_of_torchvision_and_v1_is_asked_for_by_name(name):
    for net, strides in ((build(name), [1, 2, 1]), (build(f"{name}-v1"), [2, 1, 1])):
        first = [net.by_name[f"2.1.conv{i}"].layer for i in (1, 2, 3)]
        assert [layer.stride for layer in first if isinstance(layer, Conv2d)] == strides
        assert net.name == name
    assert build(name) == ZOO[name]() == build(f"{name}-v1.5") == build(name, variant="v1.5")
    assert build(f"{name}-v1") == build(name, variant="v1") == build(f"{name}-v1", variant="v1")


@every_row(
    ("name", "label"),
    [
        ("linear1", "Single linear layer"),
        ("mnist_cnn", "MNIST CNN"),
        ("alexnet", "AlexNet"),
        ("overfeat", "OverFeat (fast)"),
        ("vgg16", "VGG-16"),
        ("googlenet", "GoogLeNet"),
        ("googlenet_bn", "GoogLeNet (batch norm)"),
        ("resnet18", "ResNet-18"),
        ("resnet50", "ResNet-50 v1.5"),
        ("resnet50-v1", "ResNet-50 v1"),
        ("gpt2", "GPT-2 small"),
        ("gpt_small", "Small GPT (6 layers of 256)"),
        ("vit_s", "ViT-S/16"),
    ],
)
def test_labels(name, label):
    assert build(name).label == label


@every_row("name", ZOO)
def test_every_layer_has_a_stage_and_the_network_its_name(name):
    net = build(name)
    assert net.name == name
    assert all(node.stage for node in net.nodes)
    stages = [node.stage for node in net.nodes]
    assert stages == sorted(stages, key=net.stages.index)
    assert ZOO[name].__doc__


@every_row("name", IMAGES)
def test_image_and_classes_are_free(name):
    net = build(name, image=96, classes=7)
    assert net.input_shape[1:] == (96, 96)
    assert net.loss.shape == (7,)


@pytest.mark.parametrize("name", SEQUENCES)
def test_steps_features_and_classes_are_free(name):
    net = ZOO[name](steps=5, features=6, classes=7)
    assert net.input_shape == (5, 6)
    assert net.loss.shape == build(name, classes=7).loss.shape == (7,)


@every_row(
    ("name", "layer", "shape"),
    [
        ("mnist_cnn", "pool2", (128, 7, 7)),
        ("alexnet", "conv1", (64, 55, 55)),
        ("alexnet", "pool5", (256, 6, 6)),
        ("overfeat", "conv1", (96, 56, 56)),
        ("overfeat", "pool2", (256, 12, 12)),
        ("overfeat", "pool5", (1024, 6, 6)),
        ("vgg16", "conv1_2", (64, 224, 224)),
        ("vgg16", "pool5", (512, 7, 7)),
        ("googlenet", "pool2", (192, 28, 28)),
        ("googlenet", "3a.concat", (256, 28, 28)),
        ("googlenet", "4e.concat", (832, 14, 14)),
        ("googlenet", "5b.concat", (1024, 7, 7)),
        ("googlenet_bn", "5b.concat", (1024, 7, 7)),
        ("resnet18", "1.1.add", (64, 56, 56)),
        ("resnet50", "pool1", (64, 56, 56)),
        ("resnet50", "1.1.add", (256, 56, 56)),
        ("resnet50", "4.3.relu", (2048, 7, 7)),
        ("resnet50", "flatten", (2048,)),
    ],
)
def test_shapes_of_the_papers(name, layer, shape):
    assert build(name).by_name[layer].shape == shape


@every_row(
    ("name", "layer", "settings"),
    [
        ("alexnet", "drop6", "p 0.5"),
        ("googlenet", "drop", "p 0.4"),
        ("googlenet", "pool4", "3x3, stride 2, ceil"),
        ("googlenet_bn", "drop", "p 0.2"),
        ("googlenet_bn", "pool4", "2x2, stride 2, ceil"),
        ("googlenet_bn", "4a.pool", "3x3, stride 1, pad 1, ceil"),
        ("resnet50", "pool1", "3x3, stride 2, pad 1"),
    ],
)
def test_settings_that_no_count_shows(name, layer, settings):
    assert build(name).by_name[layer].layer.describe() == settings


def test_fc6_holds_most_of_vgg16():  # B4
    weight, _ = build("vgg16").by_name["fc6"].parameters
    assert weight.count == 102_760_448


def test_a_block_runs_its_main_branch_first():
    names = [node.name for node in build("resnet50").nodes if node.name.startswith("2.1.")]
    assert names == [
        *("2.1.conv1", "2.1.norm1", "2.1.relu1", "2.1.conv2", "2.1.norm2", "2.1.relu2"),
        *("2.1.conv3", "2.1.norm3", "2.1.short", "2.1.short.norm", "2.1.add", "2.1.relu"),
    ]


@pytest.mark.parametrize(("variant", "unit_strides"), [("v1", 30), ("v1.5", 33)])
def test_convolutions_of_resnet50(variant, unit_strides):  # A8
    layers = convs(build("resnet50", variant=variant))
    ones = [layer for layer in layers if layer.kernel == 1]
    assert (len(layers), len(ones)) == (53, 36)
    assert sum(layer.stride == 1 for layer in ones) == unit_strides


@pytest.mark.parametrize(("variant", "strides"), [("v1", (2, 1)), ("v1.5", (1, 2))])
def test_the_variant_says_where_a_bottleneck_strides(variant, strides):
    net = build("resnet50", variant=variant)
    assert tuple(net.by_name[f"3.1.conv{i}"].layer.stride for i in (1, 2)) == strides  # type: ignore[attr-defined]  # they are convolutions
    assert net.variant == variant


@pytest.mark.parametrize("name", ["resnet18", "resnet34"])
def test_basic_blocks_have_one_form(name):
    assert build(name, variant="v1") == build(name, variant="v1.5")
    assert build(name).variant == ""


def test_a_resnet_of_any_depth():  # D3
    deep = zoo.resnet((83, 83, 83, 83))
    assert (deep.name, deep.title) == ("resnet998", "ResNet-998")
    assert zoo.resnet((3, 4, 6, 3)) == zoo.resnet50()


def test_the_batch_norm_googlenet_has_no_5x5_and_no_bias():
    layers = convs(build("googlenet_bn"))
    assert Counter(layer.kernel for layer in layers) == {7: 1, 1: 37, 3: 19}
    assert not any(layer.bias for layer in layers)
    assert Counter(layer.kernel for layer in convs(build("googlenet"))) == {
        7: 1,
        1: 37,
        3: 10,
        5: 9,
    }


def test_linear1_is_the_single_layer_example():  # A1
    net = zoo.linear1(features=3, outputs=2)
    assert [(node.name, node.kind) for node in net.nodes] == [
        ("h", "linear"),
        ("y", "tanh"),
        ("loss", "squared_error"),
    ]
    assert net.parameters == 3 * 2 + 2


BAD = [
    (lambda: build("resnet5"), "unknown network 'resnet5'; did you mean 'resnet50'?"),
    (lambda: build("vgg16", variant="v1"), "vgg16 has no variants; leave variant out"),
    (lambda: build("resnet50", variant="v2"), "unknown variant 'v2'.*Known: v1, v1.5"),
    (lambda: build("resnet50-v2"), "unknown variant 'v2'.*Known: v1, v1.5"),
    (lambda: build("resnet50-"), "unknown network 'resnet50-'; did you mean 'resnet50'?"),
    (lambda: build("vgg16-v1"), "vgg16 has no variants; leave variant out, or try resnet50-v1."),
    (
        lambda: build("resnet50-v1", variant="v1.5"),
        "resnet50-v1 names a variant, and variant 'v1.5'",
    ),
    (lambda: build("resnet18", variant="v2"), "unknown variant 'v2'"),
    (lambda: build("linear1", image=28), "linear1 has no image; leave it out"),
    (lambda: build("linear1", classes=10), "linear1 has no classes"),
    (lambda: build("vgg16", image=0), "image must be .* at least 1, got 0; try 224"),
    (lambda: build("vgg16", image=22.5), "image must be a whole number .* got 22.5"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: build("vgg16", classes=-3), "classes must be .* at least 1, got -3; try 1000"),
    (lambda: build("vgg16", image=16), "pool5: max_pool2d: .* try a larger image"),
    (lambda: build("alexnet", image=32), "pool5: max_pool2d: .* try a larger image"),
    (lambda: zoo.linear1(features=0), "features must be .* got 0"),
    (lambda: zoo.linear1(outputs=0), "outputs must be .* got 0"),
    (lambda: zoo.resnet(50), r"block counts, got 50; try \(3, 4, 6, 3\)"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: zoo.resnet(()), r"block counts, got \(\)"),
    (lambda: zoo.resnet((3, 0)), "blocks of a stage must be at least 1, got 0"),
]


@every_row(("make", "words"), BAD)
def test_bad_input_gets_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message

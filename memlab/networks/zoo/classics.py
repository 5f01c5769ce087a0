"""Networks without branches: one layer, MNIST, AlexNet, OverFeat, VGG."""

from __future__ import annotations

from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.networks.zoo.shared_parts import conv_relu, linear_relu, size_of, start
from memlab.strings import gettext as _


def linear1(*, features: int = 1, outputs: int = 1) -> Network:
    """Return one linear layer h, tanh and the squared error: the smallest training step (A1).

    Raises:
        InputError: ``features`` or ``outputs`` is no whole number of at least 1.
    """
    size = size_of("features", features, usual=1)
    x = network("linear1", features=size, title=_("Single linear layer"))
    with x.stage("layer"):
        h = x.linear(size_of("outputs", outputs, usual=1), name="h")
        return h.tanh("y").squared_error()


def mnist_cnn(*, image: int = 28, classes: int = 10) -> Network:
    """Return a network for grey images of two convolutions and two linear layers, with 6,640,394
    parameters (A3).

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    x = start("mnist_cnn", "MNIST CNN", image, classes, channels=1)
    with x.stage("conv1"):
        x = conv_relu(x, "conv1", 64, 5).max_pool(2, name="pool1")
    with x.stage("conv2"):
        x = conv_relu(x, "conv2", 128, 5).max_pool(2, name="pool2")
    with x.stage("fc"):
        x = linear_relu(x.flatten("flatten"), "fc3", 1024)
        return x.linear(classes, name="fc4").cross_entropy()


def alexnet(*, image: int = 224, classes: int = 1000) -> Network:
    """Return AlexNet with one tower and without normalization: 61,100,840 parameters (H, B6, C2).

    Source: Krizhevsky 2014 (arXiv 1404.5997), with torchvision's padding and dropout. The network
    of 2012 has two towers, more channels and local response normalisation.

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    x = start("alexnet", "AlexNet", image, classes)
    with x.stage("conv1"):
        x = conv_relu(x, "conv1", 64, 11, stride=4, pad=2).max_pool(3, 2, name="pool1")
    with x.stage("conv2"):
        x = conv_relu(x, "conv2", 192, 5).max_pool(3, 2, name="pool2")
    with x.stage("conv3"):
        x = conv_relu(x, "conv3", 384, 3)
    with x.stage("conv4"):
        x = conv_relu(x, "conv4", 256, 3)
    with x.stage("conv5"):
        x = conv_relu(x, "conv5", 256, 3).max_pool(3, 2, name="pool5")
    with x.stage("fc"):
        x = linear_relu(x.flatten("flatten").dropout(name="drop6"), "fc6", 4096)
        x = linear_relu(x.dropout(name="drop7"), "fc7", 4096)
        return x.linear(classes, name="fc8").cross_entropy()


def overfeat(*, image: int = 231, classes: int = 1000) -> Network:
    """Return OverFeat, the fast model: 145,920,872 parameters (H, C3).

    Source: Sermanet et al. 2013 (arXiv 1312.6229), table 1.

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    x = start("overfeat", "OverFeat (fast)", image, classes)
    with x.stage("conv1"):
        x = conv_relu(x, "conv1", 96, 11, stride=4, pad=0).max_pool(2, name="pool1")
    with x.stage("conv2"):
        x = conv_relu(x, "conv2", 256, 5, pad=0).max_pool(2, name="pool2")
    with x.stage("conv3"):
        x = conv_relu(x, "conv3", 512, 3)
    with x.stage("conv4"):
        x = conv_relu(x, "conv4", 1024, 3)
    with x.stage("conv5"):
        x = conv_relu(x, "conv5", 1024, 3).max_pool(2, name="pool5")
    with x.stage("fc"):
        x = linear_relu(x.flatten("flatten"), "fc6", 3072).dropout(name="drop6")
        x = linear_relu(x, "fc7", 4096).dropout(name="drop7")
        return x.linear(classes, name="fc8").cross_entropy()


def vgg11(*, image: int = 224, classes: int = 1000) -> Network:
    """Return VGG with 8 convolutions, configuration A: 132,863,336 parameters (H).

    Source: Simonyan and Zisserman 2014 (arXiv 1409.1556), table 1.

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    return _vgg((1, 1, 2, 2, 2), image, classes)


def vgg13(*, image: int = 224, classes: int = 1000) -> Network:
    """Return VGG with 10 convolutions, configuration B: 133,047,848 parameters (H).

    Source: Simonyan and Zisserman 2014 (arXiv 1409.1556), table 1.

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    return _vgg((2, 2, 2, 2, 2), image, classes)


def vgg16(*, image: int = 224, classes: int = 1000) -> Network:
    """Return VGG with 13 convolutions, configuration D: 138,357,544 parameters (H, B3, B4, B6, C2).

    Source: Simonyan and Zisserman 2014 (arXiv 1409.1556), table 1.

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    return _vgg((2, 2, 3, 3, 3), image, classes)


def vgg19(*, image: int = 224, classes: int = 1000) -> Network:
    """Return VGG with 16 convolutions, configuration E: 143,667,240 parameters (H, B6).

    Source: Simonyan and Zisserman 2014 (arXiv 1409.1556), table 1.

    Raises:
        InputError: ``image`` or ``classes`` is too small or no whole number.
    """
    return _vgg((2, 2, 4, 4, 4), image, classes)


def _vgg(blocks: tuple[int, ...], image: int, classes: int) -> Network:
    depth = sum(blocks) + 3
    x = start(f"vgg{depth}", f"VGG-{depth}", image, classes)
    for block, count in enumerate(blocks, 1):
        with x.stage(f"block {block}"):
            for i in range(1, count + 1):
                x = conv_relu(x, f"conv{block}_{i}", min(32 << block, 512), 3)
            x = x.max_pool(2, name=f"pool{block}")
    with x.stage("fc"):
        x = linear_relu(x.flatten("flatten"), "fc6", 4096).dropout(name="drop6")
        x = linear_relu(x, "fc7", 4096).dropout(name="drop7")
        return x.linear(classes, name="fc8").cross_entropy()

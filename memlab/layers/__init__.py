"""The layers: in each file a family, in each class what one layer answers, and the row of its kind.

``LAYERS`` has all kinds. The files of this folder are found: a new one needs no line here.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from memlab.axes import Dims, Shape
from memlab.layers.attention import (
    AttentionScores,
    AttentionSoftmax,
    AttentionValues,
    FusedAttention,
)
from memlab.layers.convolution import Conv2d
from memlab.layers.dense import Embedding, Linear
from memlab.layers.joins import Add, Concat, Flatten
from memlab.layers.layer import LAYERS, Layer, Weights, text, window
from memlab.layers.losses import SoftmaxCrossEntropy, SquaredError
from memlab.layers.low_rank import LowRank
from memlab.layers.norms import BatchNorm, LayerNorm, LocalResponseNorm
from memlab.layers.pointwise import GELU, Dropout, ReLU, Tanh
from memlab.layers.pooling import AvgPool2d, MaxPool2d
from memlab.layers.recurrent import At, LstmOutput, LstmState
from memlab.layers.tokens import ClassToken, FirstToken, Patches, Positions

__all__ = [
    "GELU", "LAYERS", "Add", "At", "AttentionScores", "AttentionSoftmax", "AttentionValues",
    "AvgPool2d", "BatchNorm", "ClassToken", "Concat", "Conv2d", "Dims", "Dropout", "Embedding",
    "FirstToken", "Flatten", "FusedAttention", "Layer", "LayerNorm", "Linear", "LocalResponseNorm",
    "LowRank", "LstmOutput", "LstmState", "MaxPool2d", "Patches", "Positions", "ReLU", "Shape",
    "SoftmaxCrossEntropy", "SquaredError", "Tanh", "Weights", "text", "window",
]  # fmt: skip

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")

"""Pictures under the answers of lesson 05."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_05 import one_layer
from memlab.pictures.per_image.layer_bytes import BytesOfLayer, layer_bytes
from memlab.pictures.vectors import FilledVectors, vectors


@reveal("05.weights", "05.maps")
def bytes_of_a_batch(turn: Attempt) -> BytesOfLayer:
    """Bytes that the layer reads and writes for the batch, beside those of one image."""
    return layer_bytes(one_layer(turn.numbers), batch=turn.numbers["batch"], only=("batch",))


@reveal("05.columns")
def one_image_in_vectors(turn: Attempt) -> FilledVectors:
    """Lanes that one image fills in both layers."""
    return vectors(turn.numbers["network"], batch=1, only=("batch", "bits", "source"))


@reveal("05.half")
def half_the_bits(turn: Attempt) -> FilledVectors:
    """Lanes that the batch fills in 16 bits, and the bytes of its feature maps."""
    n = turn.numbers
    return vectors(n["network"], n["batch"], bits=n["bits"], format=n["format"],
                   only=("batch", "source"))  # fmt: skip

"""A text of its time is judged on v1; what is ours, or of Chen 2016, on v1.5 says so."""

from __future__ import annotations

import re

import pytest

import memlab
from memlab import claims, zoo
from memlab.claims.table import Claim, OwnFigure, TableRow

CHEN = ("A9.", "A10.", "D3.", "E1.resnet1000")
"""Chen et al. 2016 state no variant; v1.5 gives what they measured."""
ROWS = [
    row for row in (*claims.table(), *claims.figures())
    if row.how == "plan" and "resnet" in row.call and not row.id.startswith(CHEN)
]  # fmt: skip
BOTTLENECKS = (zoo.resnet50, zoo.resnet101, zoo.resnet152, zoo.resnet200, zoo.resnet)


def said(row: TableRow) -> str:
    return row.claim if isinstance(row, Claim) else row.what if isinstance(row, OwnFigure) else ""


@pytest.mark.table
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_resnet_is_v1_where_the_variant_counts(
    row: TableRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With v1 as what a plain name means, no figure changes but those whose text says v1.5."""
    value = eval(row.call, {"memlab": memlab})
    for make in BOTTLENECKS:
        usual = make.__kwdefaults__ or {}
        monkeypatch.setattr(make, "__kwdefaults__", {**usual, "variant": "v1"})
    as_v1 = eval(row.call, {"memlab": memlab})
    assert (value == as_v1) is ("v1.5" not in said(row))


def test_a_figure_that_names_v1_says_so() -> None:
    for row in claims.figures():
        if re.search(r"'v1'|-v1'", row.call) and "ResNet-" in row.what:
            assert re.search(r"ResNet-\d+ v1\b", row.what), row.id

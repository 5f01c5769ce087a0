"""The published table, against the facts it restates."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import memlab
from memlab import InputError
from memlab.claims import Claim, find, table, verdict

DIFFERS = {
    "A4.resnet50.parameter_bytes",
    "A4.resnet50.together_exact",
    "A5.resnet50.batch32_binary",
    "A6.resnet50.same_batch",
    "A6.resnet50.columns",
    "A7.resnet50.lowered",
    "A10.resnet50.mxnet",
    "A12.batch.fp32",
    "A12.doubling",
    "B1.adam.copies",
    "B1.resnet50.maps_bound",
    "B2.total",
    "B3.vgg16.values",
    "B3.vgg16.bytes",
    "B5.gradient_copies",
    "C2.alexnet.batch128",
    "C2.vgg16.batch128",
    "C2.vgg16.batch256",
    "C2.alexnet.linear_layers",
    "C2.vgg16.conv_layers",
    "F5.s2k",
    "F5.s4k",
}
"""What the facts call a slip, or a figure that its counting does not reach."""


ROWS = tomllib.loads(files("memlab").joinpath("claims.toml").read_text(encoding="utf-8"))["claim"]
IDS = [row["id"] for row in ROWS]


def only(id: str) -> Claim:
    (claim,) = find(id)
    return claim


@pytest.mark.parametrize("id", IDS)
def test_every_verdict_is_the_one_of_the_facts(id: str) -> None:
    claim = only(id)
    expected = "differs" if claim.id in DIFFERS else "right"
    assert claim.verdict.startswith(expected)
    assert claim.folk or expected == "right"


@pytest.mark.parametrize(
    ("id", "computed"),
    [
        ("A3.mnist_cnn.parameters", 6_640_394),
        ("A4.resnet50.parameters", 25_557_032),
        ("A4.resnet50.feature_map_values", 16_106_496),
        ("A4.resnet50.conv_only", 10_587_136),
        ("A5.resnet50.batch32", 2_061_631_488),
        ("A6.resnet50.batch64_fp16", 2_061_631_488),
        ("A6.resnet50.same_batch", 0.5),
        ("A6.resnet50.columns", 7 * 7),
        ("A9.resnet50.arena", 0),
        ("A11.slots", 0.95),
        ("A13.halved", 84_000_000),
        ("A13.quartered", 42_000_000),
        ("B2.exact", 779_021_856),
        ("B3.vgg16.values", 15_237_608),
        ("B4.vgg16.parameters", 138_357_544),
        ("B6.resnet50.values", 27_048_912),
        ("D1.resnet.walk", 1),
        ("D1.resnet50.relu", 1 + 3 * 16),
        ("E1.slots.n100", 10 + 10),
        ("E1.slots.n152", 12 + 13),
        ("E1.slots.n1000", 28 + 36),
        ("E1.k.n1000", 28),
        ("E2.t10.m1", 10 * 11 // 2),
        ("E2.t10.m3", 18),
        ("E2.t1000.m50.forwards", 1.95),
        ("E3.t10.m3", 25),
        ("E4.l10.s3", 3 * 10 - 15),
        ("E4.l14.s3", 3 * 14 - 15),
        ("E4.l1000.s50", 1948),
        ("E6.chain", 0),
        ("F1.adam.fp32", 4 + 4 + 8),
        ("F1.adam.mixed", 2 + 2 + 4 + 8),
        ("F3.adam.fp32", 8),
        ("F4.gpt3.layer", 2048 * 12288 * (34 + 80)),
        ("F4.gpt3.attention", 5 * 96 * 2048 / 12288),
        ("F4.mt_nlg.attention", 5 * 128 * 2048 / 20480),
        ("F4.gpt3.saving", 80 / (34 + 80)),
        ("F6.vgg16.conv1_2", 1 / 32),
        ("G2.vgg16.conv1_2", 128 * 64 * 9 * 224 * 224 * 4),
        ("G4.vgg16.conv1_2", 48 * 64 * 9 * 4),
        ("G6.vgg16.conv1_2", 36 * (64 * 64 + 128 * 56 * 56 * (64 + 64)) * 4),
        ("G6.vgg16.conv3_2", 36 * (256 * 256 + 128 * 14 * 14 * (256 + 256)) * 4),
        ("G7.vgg16.conv3_2", 8 * (128 * 256 + 256 * 256 + 128 * 256) * 60 * 31),
        ("G8.vgg16.conv3_2", 128 * 56 * 58 * 3 * 256 * 4),
        ("G9.vgg16.conv1_2", 9 * 224 * 224 * 8),
        ("G9.vgg16.share", 2 / 64),
        ("G9.vgg16.table", 9 * 2 * 8),
    ],
)
def test_the_figures_of_the_facts_come_out(id: str, computed: int) -> None:
    assert only(id).computed == computed


def test_scales_of_eight_bit_states_add_what_the_formula_says() -> None:
    """Each array has a block of its own at its end, so that it is a little more."""
    formula = 2 + 2 * 4 / 2048
    assert formula <= only("F3.adam.int8").computed < 1.0001 * formula


def test_ids_are_unique_and_sorted_by_row() -> None:
    assert [claim.id for claim in table()] == IDS
    assert len(set(IDS)) == len(IDS)
    rows = [id.partition(".")[0] for id in IDS]
    assert rows == sorted(rows, key=lambda row: (row[0], int(row[1:] or 0)))


def test_every_row_that_should_be_published_is() -> None:
    rows = {id.partition(".")[0] for id in IDS}
    assert rows >= {"A2", "A3", "A4", "A5", "A6", "A9", "A10", "A11", "A12", "A13", "A15"}
    assert rows >= {"B1", "B2", "B3", "B4", "B5", "B6"}
    assert rows >= {"D1", "D2", "D3", *(f"E{number}" for number in range(1, 7))}
    assert rows >= {
        "C2",
        "C9",
        "F1",
        "F3",
        "F4",
        "F5",
        "F6",
        *(f"G{number}" for number in range(1, 10)),
        "H",
    }


def test_the_zoo_is_published_whole() -> None:
    published = {claim.id.split(".")[1] for claim in find("H")}
    assert published == set(memlab.zoo.ZOO) - {"linear1", "rnn", "lstm", "gpt_small"}


@pytest.mark.parametrize(
    ("claimed", "computed", "expected"),
    [
        ("25 MB", 26_561_576, "right if MB means MiB"),
        ("2.062 GB", 2_061_631_488, "right"),
        ("2.061 GB", 2_061_631_488, "differs"),
        ("over 2 GiB", 2_061_631_488, "differs"),
        ("under 1 %", 0.004, "right"),
        ("74 %", 0.7427, "right"),
        ("16 M", 16_106_496, "right"),
        ("3", 4, "differs"),
    ],
)
def test_verdicts_follow_the_printed_digits(claimed: str, computed: float, expected: str) -> None:
    assert verdict(claimed, computed) == expected


def test_an_unknown_claim_names_the_rows() -> None:
    with pytest.raises(InputError, match=r"no claim 'Z9'; the rows are A2, A3, A4"):
        find("Z9")


@pytest.mark.measures
@pytest.mark.parametrize("id", ["A2.image.fp32", "A4.resnet50.parameters", "B1.adam.copies"])
def test_a_call_runs_as_it_is_printed(id: str) -> None:
    """Pasted into a fresh Python after ``import memlab``."""
    code = f"import memlab\nprint({only(id).call})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{only(id).computed}\n"


def test_ids_in_docstrings_have_the_form_of_a_row() -> None:
    """A row of the facts: a letter from A to H, or one with its number."""
    cited = [
        id
        for path in Path(memlab.__file__).parent.rglob("*.py")
        for id in re.findall(r"\(((?:[A-H]\d{1,2}(?:, )?)+)\)", path.read_text(encoding="utf-8"))
    ]
    numbers = {"A": 15, "B": 7, "C": 10, "D": 3, "E": 6, "F": 6, "G": 9}
    for id in (single for each in cited for single in each.split(", ")):
        assert 1 <= int(id[1:]) <= numbers[id[0]], id

"""The published table, against the facts it restates."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import memlab
from memlab import InputError, claims
from memlab.claims import (
    data_path_values,
    listing,
    offload_values,
    plan_values,
    run_values,
    transformers,
)
from memlab.claims.table import Claim, OwnFigure, TableRow
from memlab.claims.verdicts import SCALES, as_printed, beside, verdict
from tests.rows import every_row

TABLE, OWN = claims.table(), claims.figures()
PLANNED = [claim.id for claim in TABLE if not claim.runs]
RUN = [claim.id for claim in TABLE if claim.runs]

DIFFERS = {
    "A1.label",
    "A1.sign",
    "A4.resnet50.parameters_25m",
    "A4.resnet50.parameter_bytes",
    "A4.resnet50.together_exact",
    "A5.resnet50.together",
    "A6.resnet50.same_batch",
    "A6.resnet50.columns",
    "A7.resnet50.lowered",
    "A7.resnet50.in_use",
    "A8.resnet50.conv1",
    "A9.resnet50.shared_factor",
    "A10.resnet50.mxnet",
    "A11.time",
    "A12.batch.fp32",
    "A12.copies",
    "A12.doubling",
    "A14.lowered",
    "B1.adam.copies",
    "B1.resnet50.maps_bound",
    "B2.total",
    "B3.vgg16.values",
    "B3.vgg16.bytes",
    "C2.alexnet.batch128",
    "C2.vgg16.batch128",
    "C2.vgg16.batch256",
    "C2.alexnet.linear_layers",
    "C2.vgg16.conv_layers",
    "C3.alexnet.average",
    "C3.overfeat.average",
    "C3.googlenet.average",
    "C4.vgg16.loss",
    "C9.deeper",
    "D2.resnet50.training",
    "D3.resnet1000.shared",
    "D3.resnet1000.sublinear",
    "F2.gpt2_xl.activations",
    "F5.s2k",
    "F5.s4k",
    "H.gpt2.paper",
}
"""What the facts call a slip, or a figure that its counting does not reach."""
BINARY = {
    "A2.image.uint8",
    "A3.mnist_cnn.bytes",
    "A4.resnet50.rounded_parameter_bytes",
    "B2.rounded",
    *(f"B6.{name}.parameters" for name in ("vgg16", "vgg19", "resnet50", "alexnet")),
    *(f"B6.{name}.feature_maps" for name in ("vgg16", "vgg19", "resnet50")),
    "F7.eager.again",
    "F9.opt13b.token",
    "F9.opt13b.text",
}
"""What is right if a decimal unit means a binary one."""
SAID_BY = {
    "A1": "chinese", "A2": "chinese", "A3": "chinese", "A4": "graphcore hanlon chinese",
    "A5": "graphcore hanlon chinese", "A6": "chinese micikevicius2018", "A7": "hanlon chinese",
    "A8": "chinese", "A9": "hanlon chinese", "A10": "hanlon chinese",
    "A11": "hanlon chinese gruslys2016", "A12": "blog", "A13": "graphcore", "A14": "chinese",
    "A15": "chinese cs231n gradients", "B1": "cs231n gradients answer", "B2": "answer",
    "B3": "cs231n", "B4": "cs231n", "B6": "albanie",
    "C1": "vdnn", "C2": "vdnn synced", "C3": "vdnn", "C4": "vdnn", "C5": "vdnn", "C6": "vdnn",
    "C8": "vdnn", "C9": "vdnn", "C10": "vdnn", "D1": "chen2016", "D2": "mxnet", "D3": "chen2016",
    "E1": "chen2016", "F1": "rajbhandari2020", "F2": "rajbhandari2020", "F3": "dettmers2022",
    "F4": "korthikanti2022",
    "F5": "dao2022", "F6": "jain2018", "F7": "liger", "F8": "cs336",
    "F9": "kwon2023", "F10": "dettmers2023", "F11": "hu2021",
    "H": "torchvision dlbs imgclsmob openai radford2019 touvron2021",
}  # fmt: skip
"""Which texts the claims of a row may name: what the facts say of who says what."""


def only(id: str) -> Claim | OwnFigure:
    (row,) = claims.find(id)
    return row


def claim_of(id: str) -> Claim:
    row = only(id)
    assert isinstance(row, Claim)
    return row


def head(row: TableRow) -> str:
    return row.id.partition(".")[0]


# -- verdicts and figures -----------------------------------------------------------------------


def expected(id: str) -> str:
    return "differs" if id in DIFFERS else "right if" if id in BINARY else "right"


@pytest.mark.table
@pytest.mark.parametrize("id", PLANNED)
def test_every_verdict_is_the_one_of_the_facts(id: str) -> None:
    claim = claim_of(id)
    assert claim.verdict.startswith(expected(id))
    assert (claim.verdict == "right") is (expected(id) == "right")
    assert claim.note or claim.verdict == "right"


@pytest.mark.measures
@pytest.mark.parametrize("id", [id for id in RUN if not claim_of(id).here])
def test_every_verdict_of_a_run_is_the_one_of_the_facts(id: str) -> None:
    assert claim_of(id).verdict == expected(id)


@pytest.mark.measures
@pytest.mark.parametrize("side", ["host", "device"])
def test_buffers_that_were_measured_are_those_of_the_plan(side: str) -> None:
    assert only(f"B7.{side}_measured").computed == 0


@pytest.mark.measures
@pytest.mark.parametrize("other", ["im2col-image", "offsets"])
def test_ways_to_convolve_are_timed_in_turns(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A14, on a layer that takes no time."""
    monkeypatch.setattr(run_values, "SAMPLES", 1)
    assert claims.seconds_over("direct", other, "mnist_cnn", "conv1", batch=1) > 0


@every_row(
    ("id", "computed"),
    [
        ("A1.kept", 4),
        ("A2.image.uint8", 192 * 1024),
        ("A2.image.fp32", 768 * 1024),
        ("A3.mnist_cnn.parameters", 6_640_394),
        ("A4.resnet50.parameters", 25_557_032),
        ("A4.resnet50.feature_map_values", 10_587_136 + 5_519_360),
        ("A4.resnet50.together", 168_000_000),
        ("A4.resnet50.together_exact", 4 * (25_557_032 + 16_106_496)),
        ("A4.resnet50.conv_only", 10_587_136),
        ("A5.resnet50.batch32", 2_061_631_488),
        ("A5.resnet50.batch32_exact", 2_061_631_488),
        ("A5.resnet50.all_times_32", 32 * 4 * (25_557_032 + 16_106_496)),
        ("A6.lanes.fp16", 64),
        ("A6.resnet50.batch64_fp16", 2_061_631_488),
        ("A6.resnet50.same_batch", 0.5),
        ("A6.resnet50.columns", 7 * 7),
        ("A8.resnet50.conv1", 12.25),
        ("A9.resnet50.arena", 0),
        ("A12.batch.fp32", 32 * 4 * 3 * 224 * 224),
        ("A12.batch.uint8", 32 * 3 * 224 * 224),
        ("A12.copies", 40_036 + 1),
        ("A13.fp16", 84_000_000),
        ("A13.int8", 42_000_000),
        ("B1.sgd.copies", 2),
        ("B1.adagrad.copies", 3),
        ("B1.rmsprop.copies", 3),
        ("B1.adam.copies", 4),
        ("B2.exact", 779_021_856),
        ("B3.vgg16.values", 15_237_608),
        ("B4.vgg16.parameters", 138_357_544),
        ("B5.gradient_copies", 1),
        ("B6.resnet50.values", 27_048_912),
        ("B7.host", 32 * 4 * 3 * 224 * 224),
        ("B7.device", 32 * 5 * 3 * 224 * 224),
        ("B7.ahead", 32 * 8 * 3 * 224 * 224),
        ("A12.epoch.disk", 1_281_167 * 3 * 224 * 224),
        ("A12.epoch.link", 1_281_167 * 4 * 3 * 224 * 224),
        ("D1.resnet.walk", 1),
        ("D1.resnet50.relu", 1 + 3 * 16),
        ("E1.slots.n100", 10 + 10),
        ("C1.kinds", 4),
        ("C4.vgg16.fits", 12 * 10**9 - 687_036),
        ("C8.vgg16.batch", 174),
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
        ("F1.adam.saved", 0),
        ("F2.gpt2_xl.weights", 2 * 1_557_611_200),
        ("F3.adam.fp32", 8),
        ("F4.gpt3.layer", 2048 * 12288 * (34 + 80)),
        ("F4.gpt3.attention", 5 * 96 * 2048 / 12288),
        ("F4.mt_nlg.attention", 5 * 128 * 2048 / 20480),
        ("F4.gpt3.saving", 80 / (34 + 80)),
        ("F5.s2k", (4 * 64 + 2048) / (4 * 64 + 1)),
        ("F5.s4k", (4 * 64 + 4096) / (4 * 64 + 1)),
        ("F6.vgg16.conv1_2", 1 / 32),
        ("F7.eager.again", 5 * 8 * 2048 * 4096 * 4 + 8 * 2048 * 8 + 2 * 512),
        ("F7.eager.first", 4 * 8 * 2048 * 4096 * 4 + 8 * 2048 * 8 + 2 * 4),
        ("F7.own", 2),
        (
            "F8.xl.block",
            4 * (4 * 2048 * 2560 * 20 + 4 * 32 * 2048 * (2048 + 2) + 2 * 4 * 2048 + 4 * 2048 * 40),
        ),
        ("G1.vgg16.workspace", 0),
        ("G2.vgg16.conv1_2", 128 * 64 * 9 * 224 * 224 * 4),
        ("G3.vgg16.conv1_2", 64 * 9 * 224 * 224 * 4),
        ("G4.vgg16.conv1_2", 48 * 64 * 9 * 4),
        ("G5.vgg16.conv1_2", 16 * 64 * 64 * 4),
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


@pytest.mark.table
@pytest.mark.parametrize(
    ("id", "printed"),
    [
        ("A4.resnet50.everything", "37.7 M"),
        ("A8.resnet50.all", "2.05"),
        ("A9.resnet50.no_reuse", "9170 MiB"),
        ("A9.resnet50.in_place", "4120 MiB"),
        ("A9.resnet50.shared", "2585 MiB"),
        ("A9.resnet50.shared_maps", "2567 MiB"),
        ("A9.resnet50.in_place_factor", "2.22"),
        ("A9.resnet50.shared_factor", "3.55"),
        ("A9.resnet50.own_no_reuse", "8147 MiB"),
        ("A9.resnet50.own_in_place", "4444 MiB"),
        ("A9.resnet50.own_shared", "2794 MiB"),
        ("A10.resnet50.greedy", "3.4"),
        ("A10.resnet101.greedy", "4.5"),
        ("A10.resnet200.greedy", "6.9"),
        ("A10.resnet50.own", "2.7"),
        ("A11.formula", "31.7 %"),
        ("A11.time", "34.8 %"),
        ("A13.step", "0.577"),
        ("B1.resnet50.maps_bound", "0.278"),
        ("B1.resnet50.maps_table", "0.920"),
        ("B2.adam", "815.69 MiB"),
        ("B4.vgg16.fc6_share", "74 %"),
        ("C2.alexnet.batch128_counted", "1.04 GB"),
        ("C2.vgg16.batch128_counted", "12.20 GB"),
        ("C2.vgg16.batch256_counted", "23.29 GB"),
        *((f"C3.{name}.{figure}", share) for name, shares in (
            ("alexnet", ("74 %", "51 %", "43 %")), ("overfeat", ("68 %", "42 %", "40 %")),
            ("googlenet", ("89 %", "89 %", "74 %")), ("vgg16", ("82 %", "79 %", "51 %")))
          for figure, share in zip(("average", "average_of_all", "peak"), shares, strict=True)),
        *((f"C4.vgg16.{figure}", share) for figure, share in
          (("loss", "5.8 %"), ("more_time", "6.1 %"), ("less_speed_twice", "20.1 %"),
           ("more_time_twice", "25.2 %"), ("less_speed_winograd", "11.6 %"))),
        *((f"C7.vgg16.{figure}", printed) for figure, printed in
          (("conv", "9.30 GB"), ("conv_pool", "15.57 GB"), ("conv_seconds", "0.73"),
           ("conv_pool_seconds", "1.22"))),
        *((f"C8.{name}.{way}", share) for name, shares in
          (("vgg16", ("under 0.1 %", "3.0 %", "6.8 %", "10.8 %")),
           ("resnet50", ("under 0.1 %", "6.1 %", "71.8 %", "47.7 %")))
          for way, share in zip(("accumulation", "recompute", "offload", "precision"), shares,
                                strict=True)),
        *((f"C10.{name}.idle", share) for name, share in
          (("vgg16", "88 %"), ("alexnet", "82 %"), ("overfeat", "79 %"), ("googlenet", "93 %"))),
        *((f"C9.vgg16.{part}", share) for part, share in
          (("weights", "9 %"), ("maps", "64 %"), ("gradient_maps", "27 %"))),
        *((f"C9.alexnet.{part}", share) for part, share in
          (("weights", "47 %"), ("maps", "36 %"), ("gradient_maps", "17 %"))),
        ("C9.overfeat.maps", "29 %"),
        ("C9.resnet152.maps", "95 %"),
        ("D3.resnet1000.shared", "48.6 GB"),
        ("E1.time", "33 %"),
        ("E1.resnet50.work", "33.5 %"),
        ("E2.t1000.m10.time", "88.0 %"),
        ("E2.t1000.m50.time", "31.7 %"),
        ("E2.t1000.m100.time", "30.0 %"),
        ("E3.t1000.m50.time", "64.9 %"),
        ("E5.resnet50.optimum", "1.05"),
        ("F2.gpt2_xl.activations", "248 GB"),
        ("F2.gpt2_xl.fused", "87.4 GB"),
        ("F8.xl.plain", "3328.125 MiB"),
        ("G3.resnet50.conv1", "7.4 MB"),
        ("G4.vgg16.conv3_2", "under 128 KiB"),
        ("G6.vgg16.conv1_2", "7.40 GB"),
        ("G7.vgg16.conv1_2", "4.76 GB"),
        ("G8.vgg16.conv1_2", "4.98 GB"),
    ],
)  # fmt: skip
def test_the_digits_of_the_facts_come_out(id: str, printed: str) -> None:
    assert verdict(printed, only(id).computed) == "right"


def test_scales_of_eight_bit_states_add_what_the_formula_says() -> None:
    """Each array has a block of its own at its end, so that it is a little more."""
    formula = 2 + 2 * 4 / 2048
    assert formula <= only("F3.adam.int8").computed < 1.0001 * formula


# -- who says what, and how it is computed ------------------------------------------------------


def test_ids_are_unique_and_sorted_by_row() -> None:
    ids = [row.id for row in (*TABLE, *OWN)]
    assert len(set(ids)) == len(ids)
    for rows in (TABLE, OWN):
        keys = [(head(row)[0], int(head(row)[1:] or 0)) for row in rows]
        assert keys == sorted(keys)


def test_every_row_that_should_be_published_is() -> None:
    assert {head(row) for row in TABLE} == set(SAID_BY)
    assert {head(row) for row in OWN} >= {"B5", *(f"E{n}" for n in range(1, 7)),
                                          *(f"G{n}" for n in range(1, 10))}  # fmt: skip


def test_the_zoo_is_published_whole() -> None:
    published = {row.id.split(".")[1] for row in claims.find("H")}
    assert published == set(memlab.zoo.ZOO) - {"linear1", "rnn", "lstm", "gpt_small"}


@every_row("claim", TABLE)
def test_a_claim_names_texts_that_say_it(claim: Claim) -> None:
    assert claim.text
    assert len(set(claim.text)) == len(claim.text)
    assert set(claim.text) <= set(SAID_BY[head(claim)].split())
    assert set(claim.sure) <= set(claims.SURE) - {"recall"}, "what is recalled is not printed"
    assert "memlab's" not in claim.claim
    assert claim.how in claims.HOW


def test_every_text_is_named_and_known() -> None:
    named = {name for row in (*TABLE, *OWN) for name in row.named}
    assert named == set(claims.texts())
    assert set(" ".join(SAID_BY.values()).split()) <= named


COMPUTES = ("memlab.plan", "memlab.data_path", "memlab.feed", "memlab.remedies", "memlab.run",
            "memlab.place", "memlab.training_step", "memlab.inference_step", "memlab.counting.",
            "memlab.zoo.", "LanguageModel", "Session", "convolution.measure")  # fmt: skip
"""What plans, runs or counts, or makes a network of the zoo."""
SMALL = 100
"""A number of a helper up to this is a tile, a pointer, a fit; above it one may be a figure."""


def typed(row: TableRow) -> list[str]:
    """What of a row's call is typed in instead of computed."""
    tree = ast.parse(row.call, mode="eval")
    allowed = set(row.given.values())
    faults = [f"{text} is typed" for text in _numbers(tree) - {str(each) for each in allowed}]
    faults += [f"{ast.unparse(each)} is a figure" for each in ast.walk(tree) if _figure(each)]
    named = {str(each.value) for each in ast.walk(tree) if isinstance(each, ast.Constant)}
    faults += [f"{n} is given and not used" for n in row.given.values() if str(n) not in named]
    return faults + ([] if _computes(tree) else ["nothing is planned, run or counted"])


def _numbers(tree: ast.AST) -> set[str]:
    """The numbers that stand neither as an argument with a name nor in a list's place."""
    keywords = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.keyword)}
    return {
        str(each.value)
        for each in ast.walk(tree)
        if isinstance(each, ast.Constant)
        and isinstance(each.value, int | float)
        and not isinstance(each.value, bool)
        and id(each) not in keywords
    }


def _figure(each: ast.AST) -> bool:
    """Whether a text is a number with a unit."""
    if not isinstance(each, ast.Constant) or not isinstance(each.value, str):
        return False
    found = re.fullmatch(r"[\d.,_]+ ?([A-Za-z%]*)", each.value)
    return bool(found) and found is not None and found[1] in SCALES


def _computes(tree: ast.AST) -> bool:
    """Whether something is planned, run or counted in a call, or in a helper that it calls."""
    return any(map(_calls, _names(tree)))


def _calls(name: str) -> bool:
    if name.startswith(COMPUTES):
        return True
    helper = name.removeprefix("memlab.claims.").removeprefix("transformers.")
    for module in (plan_values, data_path_values, offload_values, run_values, transformers):
        found = inspect.unwrap(getattr(module, helper, Path))
        if inspect.isfunction(found):
            return name != helper and _computes(ast.parse(inspect.getsource(found)))
    return False


def _names(tree: ast.AST) -> Iterator[str]:
    """The dotted names that are called, those of helpers as a call of the table has them."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Call):
            name = ast.unparse(each.func)
            if name == "memlab.claims.as_printed":
                yield from _names(ast.parse(claim_of(ast.literal_eval(each.args[0])).call))
            yield name if name.startswith(COMPUTES) or "." in name else f"memlab.claims.{name}"


@every_row("claim", TABLE)
def test_every_claim_is_computed_and_says_how(claim: Claim) -> None:
    assert typed(claim) == []
    runs = {f"memlab.claims.{name}" for name in ("single_layer", "seconds_over")}
    assert claim.runs is bool(runs & set(_names(ast.parse(claim.call))))
    assert claim.here is ("seconds_over" in claim.call)


@every_row("figure", OWN)
def test_every_figure_is_computed_and_says_how(figure: OwnFigure) -> None:
    if figure.how == claims.FORMULA:
        assert figure.after
        assert "memlab.claims.revolve." in figure.call
    else:
        assert figure.how in claims.HOW
        assert _computes(ast.parse(figure.call))


@every_row(
    "call",
    [
        "168_000_000",
        "4 * 26_000_000",
        "26_000_000 + 16_000_000",
        "1 - 50 / 1000",
        "memlab.formats.find('uint8').nbytes(3 * 256 * 256)",
        "memlab.formats.find('fp32').nbytes(count=42_000_000)",
        "32 * memlab.counting.find('conv-sums').values(memlab.zoo.resnet50())",
        "memlab.zoo.resnet50().parameters * 0 + 26_000_000",
        "memlab.units.parse('168 MB') + 0 * memlab.zoo.resnet50().parameters",
        "sum(memlab.counting.bound_parts(532_752, 19_072_984, 9_000, 128, 3).values())",
    ],
)
def test_a_typed_row_is_found(call: str) -> None:
    assert typed(TableRow(id="X", call=call, unit="B", how="plan"))


def test_a_number_that_is_given_has_to_be_used() -> None:
    call = "memlab.zoo.resnet50(image=64).parameters"
    assert not typed(TableRow(id="X", call=call, unit="values", how="plan", given={"image": 64}))
    assert typed(TableRow(id="X", call=call, unit="values", how="plan", given={"image": 32}))


@every_row("module", [plan_values, data_path_values, run_values, transformers])
def test_no_figure_hides_in_a_helper(module: object) -> None:
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]  # a module
    assert [text for text in _numbers(tree) if float(text) > SMALL] == []


# -- verdicts -----------------------------------------------------------------------------------


@every_row(
    ("claimed", "computed", "expected"),
    [
        ("25 MB", 26_561_576, "right if MB means MiB"),
        ("2.062 GB", 2_061_631_488, "right"),
        ("2.061 GB", 2_061_631_488, "differs"),
        ("over 2 GiB", 2_061_631_488, "differs"),
        ("under 1 %", 0.004, "right"),
        ("74 %", 0.7427, "right"),
        ("16 M", 16_106_496, "right"),
        ("25 M", 25_557_032, "differs"),
        ("about 30 %", 0.322, "right"),
        ("about 30 %", 0.331, "differs"),
        ("2 to 3", 2.22, "right"),
        ("2 to 3", 3.55, "differs"),
        ("61,100,840", 61_100_840, "right"),
        ("3", 4, "differs"),
    ],
)
def test_verdicts_follow_the_printed_digits(claimed: str, computed: float, expected: str) -> None:
    assert verdict(claimed, computed) == expected


@every_row("claimed", ["", "many", "2 apples", "some 3 GB", "2 GB or so"])
def test_what_is_no_figure_is_refused(claimed: str) -> None:
    with pytest.raises(InputError, match="is no claimed figure"):
        verdict(claimed, 1)


def test_a_text_that_rounds_first_goes_on_with_its_digits() -> None:
    assert as_printed("26 M", 25_557_032) == claims.as_printed("A4.resnet50.parameters") == 26e6
    assert as_printed("4.8 MB", 4_816_896) == 4_800_000


@every_row(
    ("claimed", "computed", "expected"),
    [
        ("99 MB", 104_000_000, "99.2 MiB"),
        ("over 2 GB", 19_267_584, "0.0193 GB"),
        ("93 MB", 60_950_432, "61.0 MB"),
        ("1.0", 1, "1"),
        ("61,100,840", 61_100_840, "61,100,840"),
    ],
)
def test_ours_stands_in_the_unit_of_the_claim(claimed: str, computed: float, expected: str) -> None:
    assert beside(claimed, computed) == expected


# -- what is asked for and shown ----------------------------------------------------------------


def test_an_unknown_claim_names_the_rows() -> None:
    with pytest.raises(InputError, match=r"no claim 'Z9'; the rows are A1, A2, A3, A4"):
        claims.find("Z9")


def test_rows_are_picked_by_text_and_verdict() -> None:
    assert {row.id for row in listing.rows(text="synced", verdict="differs").rows} == {
        "C2.alexnet.linear_layers", "C2.vgg16.conv_layers",
    }  # fmt: skip
    assert all(isinstance(row, OwnFigure) for row in listing.rows("A4", own=True).rows)
    assert {type(row) for row in listing.rows("A4").rows} == {Claim, OwnFigure}


@every_row(
    ("given", "said"),
    [
        ({"text": "hanlom"}, "did you mean 'hanlon'"),
        ({"verdict": "wrong"}, "Known: right, right if"),
        ({"own": True, "verdict": "right"}, "have no verdict"),
        ({"id": "B5", "text": "answer"}, "no row is all of id 'B5' and --text 'answer'"),
    ],
)
def test_what_is_none_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        listing.rows(**given)  # type: ignore[arg-type]  # wrong on purpose


def test_the_list_runs_nothing_unless_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [claim for claim in TABLE if claim.runs]
    monkeypatch.setattr("builtins.eval", lambda call, names: pytest.fail(f"{call} is run"))
    assert listing.listing(runs, 80).count(listing.LATER) == len(runs) + 1
    assert [claim.as_dict(run=False)["verdict"] for claim in runs] == [None] * len(runs)


@pytest.mark.measures
@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits(width: int) -> None:
    """Every line, and what "sure" means is said."""
    quick = [only(id) for id in (*PLANNED, *(figure.id for figure in OWN))]
    listed = listing.listing(TABLE, width)
    told = [listed, listing.own(OWN, width), listing.paragraphs(quick, width)]
    lines = [line for text in told for line in text.splitlines()]
    assert [line for line in lines if len(line) > width] == []
    assert all(claims.SURE[word] in " ".join(text.split()) for word in ("read", "quoted")
               for text in (told[0], told[2]))  # fmt: skip
    assert all(row.id in listed for row in TABLE)


def test_claims_are_listed_below_their_text() -> None:
    lines = listing.listing([claim_of("C2.vgg16.conv_layers"), claim_of("B3.vgg16.values")], 80)
    heads = [line.partition(":")[0] for line in lines.splitlines() if ": " in line[:12]]
    assert heads[:2] == ["synced", "cs231n"]
    assert all(before != "" or after != "" for before, after in pairwise(lines.splitlines()))


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
    numbers = {"A": 15, "B": 7, "C": 10, "D": 3, "E": 6, "F": 11, "G": 9}
    for id in (single for each in cited for single in each.split(", ")):
        assert 1 <= int(id[1:]) <= numbers[id[0]], id

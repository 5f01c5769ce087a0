"""The lecture file: traced from the index map, computed from the layer, whole in itself."""

import json
import re
from collections import Counter
from fractions import Fraction
from html import unescape
from math import prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memlab
from lessons import build
from memlab import cli, strings, units
from memlab.course.lecture import page as written
from memlab.course.lecture import slides as facts
from memlab.course.lecture.page import SHORT
from memlab.course.lecture.page import html as page
from memlab.course.lecture.scenes import scenes
from memlab.course.lecture.slides import RecordedCopy
from memlab.errors import InputError
from memlab.lesson.material import quantities
from memlab.pictures.draw.svg import Box
from memlab.pictures.shifted_copies import lowering as convs
from memlab.pictures.shifted_copies import small_picture as windows
from memlab.pictures.shifted_copies.lowering import amount, convolutions, factor
from tests.lessons import instructed
from tests.lessons import test_instructor as pages
from tests.lessons.structure import FORBIDDEN
from tests.lessons.test_sources import LINK

COMMITTED = build.LESSONS / "lecture" / "k2.html"
LIMIT = 350_000
RECORDED = RecordedCopy(115_605_504, 115_605_504, 0.0093, "Linux x86_64, 2 cores, 2026-11-21")
MAKE = "memlab lecture k2 --no-run -o lessons/lecture/k2.html"


@pytest.fixture(scope="module")
def planned():
    return page()


def numbers(text):
    return [int(word.replace(",", "")) for word in re.findall(r"\d[\d,]*", text)]


def data(text):
    match = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert match
    return json.loads(match[1])


# -- the figures are computed -------------------------------------------------------------------


def test_bytes_are_those_of_the_plan():
    node = memlab.zoo.vgg16().by_name["conv1_2"]
    assert facts.layer() == node
    assert facts.lowered(facts.layer()) == quantities.lowered(node, 128).nbytes == 14_797_504_512
    sizes = [facts.way(name).size.at(128) for name in facts.WAYS]
    assert sizes[:2] == [facts.lowered(facts.layer()), facts.lowered(facts.layer(), 1)]
    assert sizes == sorted(sizes, reverse=True)
    assert facts.lowered(facts.layer(1)) == 0
    assert factor(facts.layer(3, 2)) == Fraction(9, 4)
    assert facts.answers()[2] == facts.lowered(facts.layer())
    fits = facts.fits(facts.layer())
    assert facts.lowered(facts.layer(), fits) <= facts.CARD.memory.value
    assert facts.lowered(facts.layer(), fits + 1) > facts.CARD.memory.value


@settings(deadline=None, max_examples=40)
@given(lowered=st.sampled_from(windows.every()), index=st.integers(0, len(facts.BATCHES) - 1))
def test_the_bench_multiplies_out(lowered, index):
    words, batch = written._texts(lowered)["batches"][index], facts.BATCHES[index]
    node = facts.layer(lowered.k, lowered.stride, lowered.pad)
    size = facts.lowered(node, batch)
    assert words["bytes"] == amount(size)
    if size:
        left, _, right = words["formula"].replace("²", "**2").replace("·", "*").partition(" = ")
        assert eval(left.removesuffix(" B")) == size == numbers(right)[0]
        assert size == batch * prod(node.input_shapes[0]) * 4 * factor(node)
        assert bool(words["over"]) == (size > facts.CARD.memory.value)
        assert size in numbers(words["twin"])


def forget():
    facts.network.cache_clear()
    facts.layer.cache_clear()


def test_the_truth_stands_between_the_edges_of_its_column():
    """At the place of its logarithm: 9 is nearer to 10 than 7 is."""
    wide = 100
    at = {times: written._x_of_factor(times, wide) for times in (5, 7, 9, 49)}
    assert at[5] == facts.LEFT + 3 * wide
    assert at[5] < at[7] < at[9] < facts.LEFT + 4 * wide
    assert facts.LEFT + 5 * wide < at[49] < facts.LEFT + 6 * wide


def test_another_layer_changes_every_figure(monkeypatch):
    """No figure stands in a text: with a layer of AlexNet nothing is left of VGG-16."""
    old = unescape(page(RECORDED))
    with monkeypatch.context() as patch:
        patch.setattr(facts, "NETWORK", "alexnet")
        patch.setattr(facts, "LAYER", "conv3")
        forget()
        facts.rivals.cache_clear()
        new = unescape(page())
    facts.rivals.cache_clear()
    forget()
    said = "VGG-16|conv1_2|1.64 GB|4.93 GB|14.80 GB|133 GB|115.6 MB|14,797,504,512|1,644,167,168"
    gone = f"{said}|41.10 GB|80.56 GB|115,605,504|largest batch: 103|224·224".split("|")
    assert [text for text in gone if text not in old] == []
    assert [text for text in gone if re.search(rf"(?<![\d.,]){text}(?![\d.,])", new)] == []


def test_texts_hold_no_figure():
    """Numerals in the strings file are keys, the 1 of 1 x 1, and small counts."""
    words = {key: text for key, text in strings.table().items() if key.startswith("lecture.")}
    for key, text in words.items():
        if key.startswith(("lecture.help.", "lecture.bench.keys")):
            continue
        said = set(re.findall(r"\d+", re.sub(r"\{\w+\}|im2col|k2", "", text)))
        allowed = {"1", "0", "4", "00"} | (
            {"3", "5", "7"} if key == "lecture.formula.notes" else set()
        )
        assert said <= allowed, key


def test_a_text_twin_says_what_its_step_shows():
    for scene in scenes(RECORDED):
        assert len(scene.twins) == len(scene.slides)
        assert len(set(scene.twins)) == len(scene.twins), scene.name
        assert scene.notes
    copies = next(scene for scene in scenes() if scene.name == "copies")
    whole, input_bytes = facts.lowered(facts.layer()), facts.source()
    for step, twin in enumerate(copies.twins[:-1], 1):
        assert {step * input_bytes, whole, input_bytes} <= set(numbers(twin))
    assert copies.twins[4].startswith("Step 5 of 9: copy (ky=1, kx=1) written, the unshifted")
    sizes = [units.exact(size) for size in facts.answers()]
    assert all(size in scenes()[0].twins[0] for size in sizes)


# -- laid out -------------------------------------------------------------------------------------

SHEETS = {
    f"{scene.name} {step}": slide
    for scene in scenes(RECORDED)
    for step, slide in enumerate(scene.slides)
}
SHEETS |= {"run": written._run(RECORDED), "no run": written._run(None), "room": written._room()}
PAGE = Box(64, 0, 1216, 708)


@pytest.mark.parametrize("scene", [*dict.fromkeys(name.partition(" ")[0] for name in SHEETS)])
def test_texts_are_large_apart_and_on_the_page(scene):
    for name, sheet in SHEETS.items():
        if name.startswith(scene):
            large_and_apart(sheet)


def large_and_apart(sheet):
    assert sheet.collisions() == []
    for label in sheet.labels:
        assert label.size >= 28 or label.content == "", label
        assert PAGE.left - 0.5 <= label.box.left, label
        assert label.box.right <= PAGE.right + 0.5, label
        assert label.box.bottom <= PAGE.bottom, label


def test_a_slide_has_at_most_six_amounts():
    for name, sheet in SHEETS.items():
        shown = " | ".join(label.content for label in sheet.labels if "·" not in label.content)
        amount = r"(?<![\w.])[\d.,]*\d(?= (?:[GM]B|KiB|B|ms|times|values|zeros)\b)"
        assert len(set(re.findall(amount, shown))) <= 6, name


# -- one file, whole in itself --------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [None, RECORDED])
def test_it_is_small_and_needs_nothing_else(recorded):
    text = page(recorded)
    assert len(text.encode()) < LIMIT
    assert set(re.findall(r'\b(?:src|href|xlink:href|action)="([^"]?)', text)) == {"#"}
    assert set(re.findall(r"url\((.)", text)) == {"#"}
    for word in ("@import", "fetch(", "XMLHttpRequest", "WebSocket", "import(", "<link", "<iframe"):
        assert word not in text
    assert not re.search(r"https?://", text)


def test_every_part_that_is_used_is_there_once(planned):
    ids = Counter(re.findall(r'\bid="([^"]+)"', planned))
    assert [name for name, count in ids.items() if count > 1] == []
    used = set(re.findall(r'href="#([^"]+)"', planned)) | set(re.findall(r"url\(#(\w+)\)", planned))
    assert used <= set(ids)


def test_it_says_what_was_recorded_and_where(planned):
    recorded, kept = page(RECORDED), RecordedCopy.kept()
    assert kept
    assert RECORDED.where not in planned
    assert planned.count(f"recorded: {kept.where}") >= 4  # the run, 1 image, and both races
    assert recorded.count(f"recorded: {RECORDED.where}") >= 2
    assert "not measured" not in recorded + planned
    assert RECORDED.text() == data(recorded)["run"]
    assert data(planned)["run"] == kept.text()
    assert re.fullmatch(r".+, \d+ cores, .+, \d{4}-\d\d-\d\d", kept.where)


def test_without_a_recorded_run_it_says_so(monkeypatch):
    monkeypatch.setattr(facts, "rivals", lambda: None)
    text = page()
    assert "not measured: this page was written with --no-run" in text
    assert "Not measured" in data(text)["run"]
    assert [len(scene["twins"]) for scene in data(text)["scenes"]][8:10] == [2, 4]


def test_the_bars_are_those_of_the_record():
    recorded = facts.rivals()
    assert recorded
    lines = {line.name: line.value for line in recorded.result.lines}
    assert set(recorded.result.machine.versions) >= {"memlab", "torch", "numpy"}
    raced = ["im2col-image", "im2col-tile", "offsets", "PyTorch"]
    for scene, names in (("product", ["direct", "im2col-image"]), ("need", raced)):
        slide = next(each for each in scenes() if each.name == scene).slides[-1]
        bars = [part for part in slide.parts if 'class="timed"' in part or 'class="on"' in part]
        wide = [float(number) for part in bars for number in re.findall(r' width="([\d.]+)"', part)]
        times, slowest = [lines[name] for name in names], max(lines[name] for name in names)
        assert wide[1::2] == pytest.approx([230 * each / slowest for each in times], abs=0.01)
        needs = [facts.taken(recorded, name) for name in names]
        assert wide[0::2] == pytest.approx(
            [max(250 * each / max(needs), 1) for each in needs], abs=0.01
        )
    node = facts.layer()
    for name in ("im2col-image", "im2col-tile", "offsets"):  # planned here as where it was timed
        assert lines[f"{name}, workspace"] == convs.workspace(node, name).size.at(1)
    assert lines["copy, measured"] == facts.lowered(node, 1)


def test_the_rows_of_the_product_are_those_of_the_convolution():
    from memlab.course.lecture.scenes import WEIGHTS, _output

    small = windows.lower(3)
    image = np.array([[kind == "#" for kind in row] for row in windows.LETTER], np.float32)
    padded = np.pad(image, 1)
    for weights in WEIGHTS:
        kernel = np.array(weights).reshape(3, 3)
        whole = [
            [float((padded[y : y + 3, x : x + 3] * kernel).sum()) for x in range(8)]
            for y in range(8)
        ]
        most = kernel[kernel > 0].sum()
        assert _output(small, weights) == "".join(
            ".#"[int(2 * v > most)] for row in whole for v in row
        )


@pytest.mark.measures
def test_the_run_is_measured():
    done = written.record()
    assert done.planned == done.measured == facts.lowered(facts.layer(), 1) == 115_605_504
    assert done.residual == 0
    assert 0 < done.seconds < 10
    assert re.search(r"\d{4}-\d\d-\d\d$", done.where)


def test_a_run_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("memlab.free_memory.free_memory", lambda: 10**8)
    with pytest.raises(InputError, match=r"^the run needs 128 MB and 100 MB are free; .*--no-run"):
        written.LECTURES["k2"]()


def test_the_committed_file_is_up_to_date(planned):
    assert COMMITTED.read_text(encoding="utf-8") == planned + "\n", f"run: {MAKE}"
    assert COMMITTED.stat().st_size < LIMIT


# -- the command ----------------------------------------------------------------------------------


def test_the_command_writes_the_file(tmp_path, capsys, planned, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lecture", "k2", "--no-run"]) == 0
    assert Path("k2.html").read_text(encoding="utf-8") == planned + "\n"
    assert capsys.readouterr().out.startswith("k2.html: ")
    assert cli.main(["lecture", "k2", "-o", "other.html", "--no-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["file"], said["recorded"]) == ("other.html", None)
    assert said["bytes"] == Path("other.html").stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k2.html", "other.html"]


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch, capsys):
    target = tmp_path / "k2.html"
    target.write_text("old", encoding="utf-8")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "no")))
    assert cli.main(["lecture", "k2", "-o", str(target), "--no-run"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["k3"], "unknown lecture 'k3'. Known: k2."),
        (["k2", "-o", "no/such.html"], "cannot write 'no/such.html'"),
        (["k2", "-o", ""], "cannot write ''"),
        ([], "arguments are required: NAME; try: memlab lecture k2 -o k2.html"),
    ],
)
def test_a_mistake_gets_one_sentence(words, sentence, capsys):
    assert cli.main(["lecture", *words]) == 2
    assert sentence in capsys.readouterr().err


# -- what instructors read ------------------------------------------------------------------------


def test_lecturers_find_the_command_and_the_file():
    readme, page = (
        (build.LESSONS.parent / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/teach.md")
    )
    assert "memlab lecture k2 -o k2.html" in page
    assert "(../lessons/lecture/k2.html)" in page
    assert "(lessons/lecture/k2.html)" in readme


GUIDE = build.LESSONS / "instructor" / "k2.md"


def blow_up(network):
    """All convolutions of a network lowered at once, relative to their inputs (A8)."""
    nodes = convolutions(network)
    values = [(quantities.lowered(node, 1).nbytes, prod(node.input_shapes[0])) for node in nodes]
    return Fraction(sum(low for low, _ in values), 4 * sum(size for _, size in values))


@pytest.fixture
def guide(monkeypatch):
    """The instructor page, whose expressions may use the figures of the lecture."""
    figures = SimpleNamespace(**{**vars(convs), **vars(facts)})
    known = {"facts": figures, "windows": windows, "blow_up": blow_up, "Fraction": Fraction,
             "scenes": scenes}  # fmt: skip
    for name, value in known.items():
        monkeypatch.setitem(instructed.NAMES, name, value)
    return GUIDE.read_text(encoding="utf-8")


def test_every_figure_of_the_instructor_page_is_computed(guide):
    assert pages.figures("k2", guide) == []
    assert "This page holds the answers" in guide.partition("## ")[0]
    assert not FORBIDDEN.search(guide)
    links = [link for link in LINK.findall(guide) if not (GUIDE.parent / link).exists()]
    assert links == []


@pytest.mark.parametrize("minutes", [6, 20])
def test_a_script_has_its_minutes_and_its_scenes(guide, minutes):
    script = pages.parts(guide)[f"{minutes} minutes"]
    assert pages.adds_up(minutes, script)
    played = [int(row[1]) for row in pages.rows(script)]
    every = enumerate(scenes(), 1)
    assert played == [i for i, scene in every if minutes == 20 or scene.name in SHORT]


def test_a_wrong_figure_of_the_instructor_page_is_seen(guide):
    assert pages.figures("k2", guide.replace("of 92 zeros", "of 93 zeros")) != []
    assert pages.figures("k2", guide.replace("115.6 MB = ", "115.7 MB = ")) != []

"""`memlab plan --picture`: a file of each kind, whole or not at all."""

import re
import xml.etree.ElementTree as ET

import pytest

import memlab
from memlab import units, views
from memlab.pictures.draw.files import drawn

PLAN = "plan", "mnist_cnn", "--batch", "32"
HEADS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}


def frames(page):
    """Of a page with a slider: what each frame says it is, and its text."""
    found = re.findall(
        r'<div data-says="([^"]*)"( hidden)?>.*?<pre>(.*?)</pre></details></div>', page, re.S
    )
    return {said: (not hidden, text) for said, hidden, text in found}


def peak(batch, **techniques):
    step = memlab.training_step(memlab.zoo.build("mnist_cnn"))
    if techniques.get("in_place"):
        step = memlab.in_place(step)
    return units.exact(memlab.plan(step).peak(batch))


@pytest.mark.measures
@pytest.mark.parametrize("kind", HEADS)
def test_a_picture_is_of_the_kind_that_its_name_says(run, tmp_path, kind):
    target = tmp_path / f"out.{kind.upper()}"
    plain, drawn = run(*PLAN), run(*PLAN, "--picture", target)
    assert plain == drawn
    first = target.read_bytes()
    assert first.startswith(HEADS[kind])
    assert run(*PLAN, "--picture", target)[0] == 0  # takes the place of the old one
    assert target.read_bytes() == first
    assert list(tmp_path.iterdir()) == [target]


def test_a_vector_picture_says_the_peak_of_its_plan(run, tmp_path):
    target = tmp_path / "out.svg"
    run(*PLAN, "--picture", target)
    root = ET.fromstring(target.read_text(encoding="utf-8"))
    texts = " ".join("".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))
    assert f"{float(peak(32).split()[0].replace(',', '')) / 1e6:.3g}" in texts
    assert any(each.tag.endswith("title") for each in root.iter())  # on hover


@pytest.mark.parametrize("options", [{}, {"in_place": True}])
def test_a_page_has_a_frame_for_each_batch_and_asks_nobody(run, tmp_path, options):
    target = tmp_path / "out.html"
    run(*PLAN, *(["--in-place"] if options else []), "--picture", target)
    page = target.read_text(encoding="utf-8")
    found = frames(page)
    batches = [1, 2, 4, 8, 16, 32, 64]
    assert list(found) == [f"batch {batch}" for batch in batches]
    assert [said for said, (seen, _) in found.items() if seen] == ["batch 32"]
    for batch, (_, text) in zip(batches, found.values(), strict=True):
        assert peak(batch, **options) in text
    assert f'min="0" max="{len(batches) - 1}" value="5"' in page
    assert not re.search(r"https?://(?!www\.w3\.org)|@import|<link|src=", page)
    assert len(set(re.findall(r' id="([^"]*)"', page))) == len(re.findall(r' id="', page))


def test_the_axis_of_a_page_is_the_same_in_every_frame(run, tmp_path):
    target = tmp_path / "out.html"
    run(*PLAN, "--picture", target)
    ends = re.findall(r">([\d.]+ [kMG]B)</text>", target.read_text(encoding="utf-8"))
    assert ends.count(ends[0]) >= 7


def test_a_step_that_holds_for_one_batch_has_one_frame_and_no_slider():
    step = memlab.training_step(memlab.zoo.build("mnist_cnn"))
    chosen = memlab.lowering(step, batch=32, limit="1 MiB")
    page = drawn(views.memory(chosen, 32, free=False), "html").decode()
    assert (list(frames(page)), "<input" in page) == (["batch 32"], False)


def test_nothing_is_left_of_a_picture_that_cannot_be_drawn(run, tmp_path, monkeypatch):
    target, plan = tmp_path / "out.svg", tmp_path / "plan.json"
    target.write_text("old", encoding="utf-8")
    monkeypatch.setattr(
        "memlab.pictures.draw.files.drawn", lambda *_: (_ for _ in ()).throw(OSError(28, "no"))
    )
    code, out, err = run(*PLAN, "--picture", target, "--save", plan)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]

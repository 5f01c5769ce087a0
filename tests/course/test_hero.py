"""The README's moving picture: copies from the index map, figures from the recording, and a still
state in its attributes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from lessons import build
from memlab.course.hero import figures, motion, picture
from memlab.course.hero.figures import HeroFigures
from memlab.course.hero.picture import FILES, SCREENS, HeroPicture, hero
from memlab.errors import InputError
from memlab.pictures.shifted_copies.small_picture import LETTER
from tests.rows import every_row

LIMIT = 20_000
NAMED = "{http://www.w3.org/2000/svg}"
RECORDING = json.loads(figures.FILE.read_text(encoding="utf-8"))


def drawn(screen: str) -> ElementTree.Element:
    return ElementTree.fromstring(hero(screen))


def still(root: ElementTree.Element) -> list[str]:
    """The texts that are seen without any style."""
    hidden = {
        text
        for parent in root.iter()
        if parent.get("opacity") == "0"
        for text in parent.iter(f"{NAMED}text")
    }
    return ["".join(text.itertext()) for text in root.iter(f"{NAMED}text") if text not in hidden]


def style(screen: str) -> str:
    return drawn(screen).findtext(f"{NAMED}style") or ""


def frames(screen: str) -> dict[str, dict[float, str]]:
    """The declarations of each animation, by percent."""
    return {
        name: {float(at): what for at, what in re.findall(r"([\d.]+)%\{([^}]*)\}", body)}
        for name, body in re.findall(
            r"@keyframes ([\w-]+)\{((?:[\d.]+%\{[^}]*\})+)\}", style(screen)
        )
    }


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.measures
@every_row(("name", "screen"), FILES.items())
def test_the_stored_picture_is_what_memlab_writes(name: str, screen: str) -> None:
    stored = build.LESSONS / "images" / name
    assert build.pages(build.LESSONS)[stored] == hero(screen)
    assert stored.read_text(encoding="utf-8") == hero(screen), "run `make lessons`"
    assert stored.stat().st_size <= LIMIT
    assert stored not in build.orphans(build.LESSONS)


def test_another_folder_of_lessons_gets_no_picture(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "glossary.toml").write_text("term = []", encoding="utf-8")
    assert [path.name for path in build.pages(tmp_path)] == ["glossary.md"]


def test_an_unknown_screen_is_refused() -> None:
    with pytest.raises(InputError, match=r"'tall'.*wide, narrow"):
        hero("tall")


# -- figures --------------------------------------------------------------------------------------


def test_bytes_are_planned_and_recorded_alike() -> None:
    kept = HeroFigures.kept()
    lines = {line["name"]: line["value"] for line in RECORDING["lines"]}
    for way, name in figures.WAYS.items():
        assert kept.workspace(way) == lines[f"{kept.network.label} 1.1.conv2: {name}, workspace"]
    assert kept.workspace("copies") == 9 * kept.input() == kept.input(9)


def test_the_recording_is_of_this_layer_and_batch() -> None:
    said = RECORDING["picture"]["text"]
    assert f"ResNet-50 v1.5 {figures.LAYER}: 3x3" in said
    assert f"batch {figures.BATCH}, fp32, 1 thread" in said


@every_row(("way", "name"), {"tile": "im2col-tile", "none": "offsets"}.items())
def test_times_are_compared_by_the_recording(way: str, name: str) -> None:
    lines = {line["name"]: line["value"] for line in RECORDING["lines"]}
    kept = HeroFigures.kept()
    copies, other = (lines[f"{kept.network.label} 1.1.conv2: {n}"] for n in ("im2col-batch", name))
    assert kept.faster(way) == f"{copies / other:.1f}"
    assert f"{copies / other:.1f} times faster" in " ".join(still(drawn("wide")))


def test_another_recording_changes_the_times() -> None:
    kept = HeroFigures.kept()
    lines = tuple(
        replace(line, value=line.value / (2 if line.unit == "s" and "offsets" in line.name else 1))
        for line in kept.recorded.result.lines
    )
    machine = replace(kept.recorded.result.machine, processor="Another CPU")
    result = replace(kept.recorded.result, lines=lines, machine=machine)
    other = replace(kept, recorded=replace(kept.recorded, result=result), threads=2)
    text = HeroPicture(figures=other).document()
    assert f"{2 * float(kept.seconds('copies') / kept.seconds('none')):.1f} times faster" in text
    assert "2 threads of an Another CPU" in text
    assert "AMD EPYC" not in text


# -- cells ----------------------------------------------------------------------------------------


def copies() -> np.ndarray:
    """The kinds of the matrix's cells by copy, row and column, padded by NumPy."""
    pixels = np.pad(np.array([list(row) for row in LETTER]), 1, constant_values="0")
    return np.array([pixels[y : y + 8, x : x + 8] for y, x in product(range(3), repeat=2)])


def strip(root: ElementTree.Element, link: str, cell: int) -> str:
    """The kinds of the cells of a strip, read from its paths."""
    (group,) = (each for each in root.iter(f"{NAMED}g") if each.get("id") == link.strip("#"))
    kinds, found = {"on": "#", "pale": ".", None: "0"}, [""] * 8
    for path in group:
        for x, long in re.findall(r"M(\d+) [\d.]+h(\d+)", path.get("d") or ""):
            for at in range(int(x) // cell, (int(x) + int(long) + 1) // cell):
                found[at] += kinds[path.get("class")]
    return "".join(found)


def tiles(root: ElementTree.Element) -> dict[int, ElementTree.Element]:
    """The strips of each row of the output."""
    groups = {each.get("class"): each for each in root.iter(f"{NAMED}g")}
    return {row: groups[f"k t{row}"] for row in range(8)}


@every_row("screen", SCREENS)
def test_each_strip_holds_what_the_padded_input_holds(screen: str) -> None:
    root, expected, cell = drawn(screen), copies(), SCREENS[screen].cell
    for row, tile in tiles(root).items():
        found = [strip(root, use.get("href") or "", cell) for use in tile]
        assert found == ["".join(cells) for cells in expected[:, row]]


@every_row("screen", SCREENS)
def test_a_copy_starts_on_the_pixels_that_it_reads(screen: str) -> None:
    root, sizes = drawn(screen), SCREENS[screen]
    cell = sizes.cell
    place = re.compile(r"calc\(var\(--r\)\*(-?\d+)px - (-?\d+)px\)")
    for row, tile in tiles(root).items():
        left, top = map(int, re.findall(r"\d+", tile.get("transform") or ""))
        for index, use in enumerate(tile):
            ky, kx = divmod(index, 3)
            first = frames(screen)[f"c{index}"][0]
            (across, far), (down, deep) = (map(int, found) for found in place.findall(first))
            x = left + across * row - far
            y = top + int(use.get("y") or 0) + down * row - deep
            assert x == sizes.input + (kx - 1) * cell
            assert y == sizes.top + (row + ky - 1) * cell


def test_the_window_walks_over_every_row_twice() -> None:
    at = re.findall(r"translate\((-?\d+)px,(-?\d+)px\)", " ".join(frames("wide")["w"].values()))
    walk = [(x, y) for y in range(-1, 7) for x in (-1, 6)]
    assert [(int(x) // 9, int(y) // 9) for x, y in at] == [*walk, *walk, walk[-1]]


# -- the still state, the motion, and who cannot see it -------------------------------------------


@every_row("screen", SCREENS)
def test_without_style_the_question_and_the_answer_are_seen(screen: str) -> None:
    texts = still(drawn(screen))
    assert "9 × the input. Must it? No." in texts
    assert "57.8 MB = 9 ×" in texts
    for said in ("111 kB", "144 B", "ResNet-50, layer 1.1.conv2, 8 images"):
        assert [text for text in texts if said in text], said
    assert not [text for text in texts if "A 3 × 3" in text or "never" in text or "= 4 ×" in text]


@every_row("screen", SCREENS)
def test_every_look_is_an_attribute_too(screen: str) -> None:
    for each in drawn(screen).iter():
        for name in (each.get("class") or "").split():
            if name in motion.LOOKS:
                attribute, light, _ = motion.LOOKS[name]
                assert each.get(attribute) == light


@every_row("screen", SCREENS)
def test_motion_is_css_for_those_who_want_it_and_stops(screen: str) -> None:
    text = hero(screen)
    dark, _, moved = style(screen).partition("@media(prefers-reduced-motion:no-preference){")
    assert "animation" not in dark
    assert "@keyframes" not in dark
    assert ".k{animation:11s linear 2 both}" in moved
    assert not re.search(
        r"<script|<animate|<image|javascript|url\((?!#z)|@import|http(?!://www.w3.org/2000/svg)",
        text,
    )


@every_row("screen", SCREENS)
def test_the_last_frame_is_the_answer(screen: str) -> None:
    last = {name: steps[100] for name, steps in frames(screen).items()}
    shown = {name for name, what in last.items() if "opacity:1" in what}
    hidden = {name for name, what in last.items() if "opacity:0" in what}
    assert {"h-none", "none-row", "tile-row", "never", "n8", "out", "w"} <= shown
    heads = {"h-copies", "h-question", "h-tile"}
    assert heads | {f"t{row}" for row in range(8)} | {f"n{i}" for i in range(8)} <= hidden
    for steps in frames(screen).values():
        assert list(steps) == sorted(steps)
        assert {0, 100} <= set(steps)


def test_every_animation_is_used_and_there() -> None:
    for screen in SCREENS:
        used = " ".join(each.get("class") or "" for each in drawn(screen).iter())
        names = set(re.findall(r"\bk ([\w-]+)", used))
        assert names == set(frames(screen))
        assert "none" not in names  # a name that CSS gives another meaning


@every_row("screen", SCREENS)
def test_it_is_told_in_words(screen: str) -> None:
    root = drawn(screen)
    ids = {each.get("id"): "".join(each.itertext()) for each in root.iter()}
    assert root.get("role") == "img"
    title, desc = (ids[name] for name in (root.get("aria-labelledby") or "").split())
    assert title == "9 × the input. Must it?"
    for said in ("3 by 3", "9 times", "6.4 MB", "57.8 MB", "111 kB", "144 B", "measured"):
        assert said in desc


@every_row("screen", SCREENS)
def test_no_text_of_the_still_state_meets_another_or_an_edge(screen: str) -> None:
    found = HeroPicture(screen=SCREENS[screen])
    assert found.labels
    assert found.collisions() == []
    assert found.outside() == []


def test_texts_are_escaped() -> None:
    assert picture._pieces([("a < b", True), (" & c", False)]) == (
        '<tspan font-weight="700">a &lt; b</tspan> &amp; c'
    )

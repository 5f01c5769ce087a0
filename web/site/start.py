"""Start page: the question, three doors, a mountain that follows a slider, and the lessons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from memlab.course.hero.figures import HeroFigures
from web.pyodide import ROOT
from web.site import lessons, mountain
from web.site.frame import SitePage
from web.site.lessons import Lesson
from web.site.notebook import TITLE

ABOUT = (
    "memlab plans one training step to the byte, shows which operation still needs each byte, then "
    "runs the step and measures it."
)
HEADLINE = "Where does the memory go while a neural network trains?"
LECTURE = re.compile(r"^## (\d+) minutes$", re.MULTILINE)
VIEW_BOX = re.compile(r'viewBox="\S+ \S+ (\S+) (\S+)"')


def page() -> SitePage:
    """Return the start page."""
    return SitePage(
        place="index.html",
        title=f"memlab: {HEADLINE[0].lower()}{HEADLINE[1:]}",
        about=ABOUT,
        body=f"{_head()}{_doors()}{_live()}{_lists()}",
        kind="start",
        scripts=("states.js",),
    )


def _head() -> str:
    alt = escape(HeroFigures.kept().sentence("desc", caption="").strip())
    return (
        f'<section class="top"><div><h1>{HEADLINE}</h1><p class="lead">{ABOUT}</p></div>'
        '<div class="hero"><a href="lessons/03_lowering.html"><picture>'
        '<source media="(max-width: 900px)" srcset="lessons/images/hero-narrow.svg" width="390" '
        'height="350"><img src="lessons/images/hero.svg" width="840" height="392" '
        f'alt="Lesson 03. {alt}"></picture></a></div></section>\n'
    )


def _doors() -> str:
    doors = (
        ("Learn", "#lessons", "Guess first, then move the picture. "
         f"{len(lessons.lessons())} lessons.<br>In your browser, or with <code>make lab</code>"),
        ("Teach", "teach.html", "Per lesson: cards, minutes, wrong guesses.<br>A lecture of "
         f"{' or '.join(lecture_minutes())} minutes, in one file."),
        ("Your own model", "docs/your_model.html", "Its peak, the batch that fits, the cheapest "
         "change.<br>No GPU needed: <code>memlab explain train:model</code>"),
    )  # fmt: skip
    links = "".join(
        f'<a class="door" href="{link}"><b>{name}</b>{text}</a>' for name, link, text in doors
    )
    return f'<section class="doors" aria-label="Three doors">{links}</section>\n'


def lecture_minutes() -> Sequence[str]:
    """Return the minutes of the forms of the lecture, the short one first."""
    text = (ROOT / "lessons" / "instructor" / "k2.md").read_text(encoding="utf-8")
    return sorted(LECTURE.findall(text), key=int)


# -- the mountain ----------------------------------------------------------------------------------


def _live() -> str:
    """Return the picture of the first state with its slider, which a script connects; without one
    the slider is not there."""
    state = mountain.states()[mountain.FIRST, mountain.BEFORE]
    at = mountain.BATCHES.index(mountain.FIRST)
    return (
        '<section class="move"><div><h2>Move Batch. Which part stays?</h2>'
        '<div class="control" hidden><label for="batch">Batch</label>'
        f'<input id="batch" type="range" min="0" max="{len(mountain.BATCHES) - 1}" value="{at}" '
        f'aria-valuetext="{mountain.FIRST} images"><output for="batch">{mountain.FIRST}</output>'
        f'</div><p class="peak">{escape(state.peak)}</p><p class="sum">{escape(state.sum)}</p>'
        f'<p class="news" aria-live="polite">{escape(state.news)}</p>'
        '<p class="on"><a href="playground.html">Any network, any technique</a></p></div><div>'
        f"{''.join(_picture(name, state.pictures[name]) for name in mountain.WIDTHS)}</div>"
        "</section>\n"
    )


def _picture(name: str, svg: str) -> str:
    """Return a picture in a frame as high as the highest of all states."""
    drawn = (state.pictures[name] for state in mountain.states().values())
    boxes = [VIEW_BOX.search(picture) for picture in drawn]
    highest = max(float(box[2]) for box in boxes if box)
    width = VIEW_BOX.search(svg)
    ratio = f"{width[1] if width else 1} / {highest:g}"
    title = TITLE.search(svg)
    told = title[1] if title else ""
    return (
        f'<div class="mountain {name}" data-picture="{name}" style="aspect-ratio: {ratio}" '
        f'role="group" aria-label="{told}">{svg}</div>'
    )


# -- the lessons -----------------------------------------------------------------------------------


def _lists() -> str:
    side = lessons.side_roads()
    left = sorted({need for lesson in side for need in lesson.needs if need not in _numbers(side)})
    after = " or ".join(filter(None, [", ".join(left[:-1]), left[-1]]))
    return (
        '<section class="lessons" id="lessons"><div><h2>The story, in order</h2>'
        "<p>One case: ResNet-50, 256 images, a card of 12 GB.</p>"
        f"{_list(lessons.spine())}</div><div><h2>Side roads</h2>"
        f"<p>They leave the story after {after}, and come back.</p>{_list(side)}</div></section>\n"
        '<p class="more"><a href="docs/lessons.html#appendices">Appendices</a>, each of one idea '
        'that a lesson leaves out · <a href="lessons/zh/01_linear.html" lang="zh">01 一个线性层</a>'
        " in Chinese · all bytes on this page are planned</p>\n"
    )


def _numbers(rows: Iterable[Lesson]) -> set[str]:
    return {lesson.number for lesson in rows}


def _list(rows: Iterable[Lesson]) -> str:
    items = "".join(
        f'<li><a href="{lesson.place}"><b class="number">{lesson.number}</b> '
        f'<span class="question">{escape(lesson.question)}</span> '
        f'<span class="title">{escape(lesson.title)}</span> '
        f'<span class="minutes">{lesson.minutes} min</span></a></li>'
        for lesson in rows
    )
    return f"<ol>{items}</ol>"

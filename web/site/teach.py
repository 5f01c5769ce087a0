"""Page for instructors: each lesson with its minutes, its page for instructors and its solutions,
and the lecture."""

from __future__ import annotations

from html import escape
from pathlib import PurePosixPath

from web.pyodide import ROOT
from web.site import lessons, markdown
from web.site.frame import SitePage
from web.site.lessons import Lesson
from web.site.markdown import Headings
from web.site.places import Places, relative
from web.site.start import lecture_minutes

PLACE = "teach.html"


def page(known: Places) -> SitePage:
    """Return the page for instructors."""
    headings = Headings()
    file = "docs/teach.md"
    text = (ROOT / file).read_text(encoding="utf-8").partition("\n")[2]

    def resolve(link: str) -> str:
        found = known.resolve(link, file)
        inside = found and not found.startswith("#") and "//" not in found
        return relative(f"docs/{found}", PLACE) if inside else found

    name = headings.add(2, "The lessons")
    body = (
        "<h1>For instructors</h1>\n<p>Every lesson has a page with a minute plan, the answers of "
        "its cards, what each wrong guess shows, a board sketch, and what to cut for 25 or 10 "
        "minutes. These pages give answers away: do not project them.</p>\n"
        f'<h2 id="{name}">The lessons</h2>\n{_table(known)}'
        f'<p><a href="lessons/lecture/k2.html">The lecture on the k² of lowering</a>: one file, '
        f"{' or '.join(lecture_minutes())} minutes, no network; "
        '<a href="lessons/instructor/k2.html">what to say</a>. '
        '<a href="docs/lessons_cost.html">What a lesson costs</a>: seconds and memory, for a class '
        "or a hub.</p>\n"
        f"{markdown.html(text, resolve, headings)}"
    )
    about = "For each lesson of memlab: minute plan, answers, wrong guesses, solutions; a lecture."
    return SitePage(PLACE, "For instructors – memlab", about, body, kind="teach", headings=headings)


def _table(known: Places) -> str:
    rows = "".join(_row(lesson, known) for lesson in lessons.lessons())
    heads = ("lesson", "its question", "minutes", "for instructors", "solutions")
    return markdown.table("Lessons", heads, f"<tbody>{rows}</tbody>")


def _row(lesson: Lesson, known: Places) -> str:
    guide = known.of[lesson.guide]
    solved = known.of[f"lessons/solutions/{PurePosixPath(lesson.file).name}"]
    number = lesson.number
    return (
        f'<tr><th scope="row"><a href="{lesson.place}">{escape(lesson.name)}</a></th>'
        f'<td>{escape(lesson.question)}</td><td data-label="minutes">{lesson.minutes}</td>'
        f'<td data-label=""><a href="{guide}" aria-label="Lesson {number} for instructors">plan '
        f'and answers</a></td><td data-label=""><a href="{solved}" aria-label="Solutions of lesson '
        f'{number}">solutions</a></td></tr>\n'
    )

"""Every instructor page keeps its form, and every figure on it is computed."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

import memlab
from lessons import build
from memlab import claims, zoo
from memlab.errors import InputError
from memlab.layers import Conv2d
from memlab.lesson import exercise_check, sentences
from memlab.lesson.card_question import AnswerKind, Attempt, Purpose, topics
from memlab.lesson.exercise_task import tasks
from memlab.lesson.misconceptions import judge
from tests.lessons import numerals
from tests.lessons.instructed import NAMES, UNIT, at_peak, plan, revealed
from tests.lessons.structure import FORBIDDEN
from tests.lessons.structure import words as words_of
from tests.lessons.test_sources import LINK
from tests.quick import apart

GLANCE, LONGEST = "At a glance", 250
"""The first section, which fits on a screen: so many words."""
HEADINGS = (
    GLANCE,
    "Goal",
    "Minute plan",
    "Board sketch",
    "Wrong predictions",
    "Questions",
    "What to cut",
)
PAGES = sorted((build.LESSONS / "instructor").glob("[0-9][0-9].md"))
LESSONS = sorted((build.LESSONS / "source").glob("[0-9][0-9]_*.py"))
NUMBERS = re.compile(r"<!-- numbers\n(.*)-->\s*\Z", re.DOTALL)
NO_FIGURE = re.compile(r"^\| \d+-\d+ \||\d+ minutes\b|\bminute \d+", re.MULTILINE)
QUOTED = re.compile(r"`(\w+)`")


# -- a page -------------------------------------------------------------------------------------


def parts(page):
    """Text under each heading."""
    pieces = re.split(r"^## (.+)\n", NUMBERS.sub("", page), flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def rows(text):
    """The cells of the rows of tables, without their heads."""
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in line.split(" | ")] for line in lines]
    return [row for row in cells if row[0] not in ("minute", "guess", "result")]


def asked_of(page):
    """The cards and exercises below Wrong predictions: name, truth as printed, rows."""
    text = parts(page).get("Wrong predictions", "")
    pieces = re.split(r"^### `([\d.\w]+)`(?:: (.+))?\n", text, flags=re.MULTILINE)
    return [
        (n, t or "", rows(r)) for n, t, r in zip(*(pieces[i::3] for i in (1, 2, 3)), strict=True)
    ]


def source(number):
    """The source of the lesson."""
    return next(path for path in LESSONS if path.name.startswith(number)).read_text("utf-8")


def of_lesson(number, known):
    return {name: one for name, one in known.items() if name.startswith(f"{number}.")}


# -- the rules: each takes the number and the text of a page, and returns what breaks it --------


def form(number, page):
    """Its first line, its headings, its warning, its words, its links."""
    title = re.findall(r"^# # (\d\d [^:\n]+):", source(number), re.MULTILINE)[0]
    breaks = [] if page.startswith(f"# {title}: for instructors\n") else ["the first line"]
    headings = tuple(re.findall(r"^## (.+)$", page, re.MULTILINE))
    breaks += [] if headings == HEADINGS else [f"its headings are {headings}"]
    head = page.partition("## ")[0]
    breaks += [] if "This page holds the answers" in head else ["no warning on top"]
    breaks += [f"it says {word!r}" for word in FORBIDDEN.findall(page)]
    here = build.LESSONS / "instructor"
    links = [link for link in LINK.findall(page) if not (here / link).exists()]
    return breaks + [f"{link} leads nowhere" for link in links]


def glance(number, page):
    """One screen: a sentence, 3 cards with their answers, 2 pictures, what goes wrong, what to
    expect of measured cells."""
    text = parts(page).get(GLANCE, "")
    if not text:
        return [f"no section is called {GLANCE}"]
    breaks = [] if len(words_of(text)) <= LONGEST else [f"{len(words_of(text))} words at a glance"]
    lines = [row for row in rows(text) if len(row) == 2 and row[0] != "card"]
    due = min(3, len(of_lesson(number, predictions())))
    breaks += [] if len(lines) == due else [f"{len(lines)} cards at a glance are not {due}"]
    for ask, answer in lines:
        name = next(iter(re.findall(r"^`([\d.\w]+)`", ask)), "")
        known = name in of_lesson(number, predictions())
        breaks += [] if known and verdict(name, answer)[0] else [f"{name} is not {answer!r}"]
    pictures = re.findall(r"!\[\w[^]]*\]\(\.\./images/(\d\d)-\w+\.svg\)", text)
    breaks += [] if pictures == [number] * 2 else [f"2 pictures are due: {pictures}"]
    paragraphs = text.strip().split("\n\n")
    breaks += [] if re.match(r"[A-Z\d]", paragraphs[0]) else ["no sentence at a glance"]
    begin = ("**What goes wrong.** ", "**Measured cells.** ")
    told = [
        beginning for beginning in begin if any(part.startswith(beginning) for part in paragraphs)
    ]
    return breaks + [f"no paragraph {beginning}" for beginning in begin if beginning not in told]


def predictions():
    """The questions that are guessed before they are shown."""
    return {name: topic for name, topic in topics().items() if topic.part is Purpose.PREDICT}


def minutes(number, page):
    """Its plan has the minutes of the lesson, and each short plan has its own."""
    begins = r"^# (\d+) minutes\. (?:Needs:|Click a cell)"
    whole = re.findall(begins, source(number), re.MULTILINE)[0]
    text = parts(page)
    short = re.split(r"^\*\*(\d+) minutes\b", text.get("What to cut", ""), flags=re.MULTILINE)
    plans = [(whole, text.get("Minute plan", "")), *zip(short[1::2], short[2::2], strict=True)]
    breaks = [] if short[1::2] == ["25", "10"] else [f"short plans for {short[1::2]}"]
    return breaks + [f"the plan of {n} minutes breaks off" for n, t in plans if not adds_up(n, t)]


def adds_up(whole, text):
    """True if each line begins where the one before ended, from 0 to the end."""
    times = [tuple(map(int, re.findall(r"\d+", row[0]))) for row in rows(text)]
    begins, ends = [time[0] for time in times], [time[-1] for time in times]
    rises = all(begin < end for begin, end in zip(begins, ends, strict=True))
    return rises and begins == [0, *ends[:-1]] and ends[-1:] == [int(whole)]


def names(number, page):
    """Every card and exercise of the lesson is in the minute plan; they and the exercises of its
    appendices have their tables."""
    every = set(of_lesson(number, predictions())) | set(of_lesson(number, tasks()))
    due = {name for name in every if f'"{name}"' in source(number)}  # the others are an appendix's
    planned = set(re.findall(rf"`({number}\.\w+)`", parts(page).get("Minute plan", "")))
    tables = [name for name, _, _ in asked_of(page)]
    breaks = [f"{name} is not in the minute plan" for name in due - planned]
    breaks += [f"{name} is none of its cards and exercises" for name in planned - due]
    return breaks if sorted(tables) == sorted(every) else [*breaks, f"its tables are {tables}"]


def guesses(number, page):
    """A card says to each guess what the page says, and each of its causes has a row."""
    breaks = []
    for name, printed, lines in asked_of(page):
        topic = topics().get(name)
        if topic is None:
            continue
        breaks += [] if verdict(name, printed)[0] else [f"{name} is not {printed!r}"]
        for guess, shows, *_ in lines:
            judged = (False, named(shows))
            if verdict(name, guess) != judged:
                breaks.append(f"{name} says {verdict(name, guess)} to {guess}, not {judged}")
        choice = topic.kind is AnswerKind.CHOICE
        due = {*topic.options} - {printed} if choice else {c.name for c in revealed(name).causes}
        told = {guess if choice else verdict(name, guess)[1] for guess, *_ in lines}
        breaks += [f"{name} has no row for {missing}" for missing in due - told]
    return breaks


def verdict(name, guess):
    """Verdict on a guess: whether it is right, and the cause that the card names, or nothing."""
    topic, truth = topics()[name], revealed(name)
    try:
        read = topic.read(guess)
    except InputError:
        return False, ""
    if isinstance(read, str):
        return read == truth.value, ""
    judged = judge(read, truth.value, truth.causes)
    return judged.right, judged.cause.name if judged.cause else ""


def named(text):
    """The cause or slip that a cell begins with."""
    match = QUOTED.match(text)
    return match[1] if match else ""


def slips(number, page):
    """Answers of an exercise to results of learners, which must be those on the page."""
    breaks = []
    for name, _, lines in asked_of(page):
        if name not in tasks():
            continue
        task = tasks()[name]
        for result, shows, *_ in lines:
            slip = named(shows)
            if slip and slip not in task.slips:
                breaks.append(f"{name} has no slip {slip}")
            if result.startswith("`"):
                code = f"lambda {', '.join(task.parameters)}: {result.strip('`')}"
                slip_name = exercise_check.check(task, eval(code), seed=1).slip
                breaks += [] if slip_name == slip else [f"{name} names {slip_name!r} for {result}"]
    return breaks


def changes(number, page):
    """Every question for recall and every change has its row with the answer."""
    text = parts(page).get("Questions", "").partition("### Recall and change\n")[2]
    told = {row[0].strip("`"): row[1] for row in rows(text) if row[0].startswith(f"`{number}.")}
    due = of_lesson(number, topics()).keys() - predictions().keys()
    breaks = [f"{name} has no row with its answer" for name in due - told.keys()]
    breaks += [f"{name} is no question for recall or change" for name in told.keys() - due]
    wrong = [name for name in due & told.keys() if not verdict(name, told[name])[0]]
    return breaks + [f"{name} is not {told[name]!r}" for name in wrong]


def cited(number, page):
    """Every claim that is named is in a lesson or in the published table."""
    known = {row.id.partition(".")[0] for row in (*claims.table(), *claims.figures())}
    ids = set(re.findall(r"\b[A-H]\d{1,2}\b", NUMBERS.sub("", page)))
    known |= set(re.findall(r"\b[A-H]\d{1,2}\b", source(number)))
    return [f"{id} is no claim" for id in sorted(ids - known)]


def figures(number, page):
    """Every figure is in the table at the end, or in a question or its reveal."""
    given = table(page)
    breaks = [fault for text, expression in given for fault in faults(text, expression)]
    texts = [text for text, _ in given]
    breaks += [f"{text} is checked twice" for text in set(texts) if texts.count(text) > 1]
    shown = stated(page)
    known = keys("\n".join([*texts, *map(told, of_lesson(number, topics()))]))
    breaks += [f"{n.text} is not computed" for n in shown if n.counts and key(n) not in known]
    used = {key(numeral) for numeral in shown}
    unused = [text for text in texts if key(numerals.find(text)[0]) not in used]
    return breaks + [f"{text} is checked and not said" for text in unused]


def table(page):
    """Numeral and expression of each line of the table at the end."""
    match = NUMBERS.search(page)
    lines = match[1].splitlines() if match else []
    return [tuple(line.split(" = ", 1)) for line in lines]


def faults(text, expression):
    numbers = numerals.find(text)
    if [numeral.text for numeral in numbers] != [text]:
        return [f"{text!r} is not one numeral"]
    value = Fraction(eval(expression, dict(NAMES)))
    return [] if numbers[0].fits(value) else [f"{text} is {float(value)}: {expression}"]


def stated(page):
    """The numerals that a class may hear: prose, tables and sketches, not code or minutes."""
    text = NUMBERS.sub("", page)
    text = NO_FIGURE.sub("| ", re.sub(r"^```$", "", text, flags=re.MULTILINE))
    return numerals.find(numerals.prose(text))


def told(name):
    """A question and what its reveal says."""
    asked = Attempt(topics()[name], topics()[name].first, truth=revealed(name))
    return "\n".join([sentences.question(asked), *sentences.said(asked)])


def key(numeral):
    """5 samples are no 5 B."""
    return numeral.value, numeral.unit


def keys(text):
    """Numbers for which a text is evidence: each numeral, with and without its unit."""
    numbers = numerals.find(text)
    return {key(numeral) for numeral in numbers} | {(numeral.value, "") for numeral in numbers}


RULES = (form, glance, minutes, names, guesses, slips, changes, cited, figures)


# -- the pages ----------------------------------------------------------------------------------


def test_every_lesson_has_its_page():
    assert [path.stem for path in PAGES] == [path.name[:2] for path in LESSONS]


MEASURING = (cited, figures, guesses, glance, changes)
"""Rules that plan and run what a page says."""


@pytest.mark.table
@pytest.mark.parametrize("rule", apart(RULES, MEASURING.__contains__), ids=lambda r: r.__name__)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_keeps_the_rules(path, rule):
    assert rule(path.stem, path.read_text(encoding="utf-8")) == []


def read(number):
    return Path(build.LESSONS / "instructor" / f"{number}.md").read_text(encoding="utf-8")


def test_the_bars_are_the_plan():
    bars = []
    for label, network, optimizer, batches in (
        ("VGG-16, Adam", "vgg16", "adam", (8, 4)),
        ("ResNet-50, momentum", "resnet50", "momentum", (32, 16)),
    ):
        for batch in batches:
            low, high = at_peak(network, batch, optimizer)
            bar = "=" * round(low / UNIT) + "^" * round(high / UNIT)
            name = label if batch == batches[0] else ""
            bars.append(f"{name:20}{batch:3}  {bar:30}{(low + high) / 1e9:.3f} GB")
    assert [bar for bar in bars if bar not in read("02").splitlines()] == []


def test_the_operations_at_the_peak_are_the_plans():
    page = read("02")
    for batch, said in ((8, "At batch 8 it is {},"), (4, "At batch 4 it is {},")):
        assert said.format(plan("vgg16", "adam").peak_at(batch).row.name) in page


def test_the_copies_by_window_are_the_plan():
    network = zoo.build("resnet50")
    ledger = memlab.plan(memlab.inference_step(network, algorithm="im2col-batch"))
    copies = {entry.name: entry.size.at(32) for entry in ledger.entries}
    lines = []
    for k, stride in ((7, 2), (3, 2), (3, 1), (1, 2), (1, 1)):
        nodes = [
            node
            for node in network.nodes
            if isinstance(node.layer, Conv2d)
            and (node.layer.kernel, node.layer.stride) == (k, stride)
        ]
        inputs = sum(4 * 32 * math.prod(node.input_shapes[0]) for node in nodes) / 1e9
        planned = sum(copies.get(f"{node.name}.workspace", 0) for node in nodes) / 1e9
        copied = f"{planned:.2f}" if planned else "0"
        lines.append(f"{k}x{k}, stride {stride}{len(nodes):11}{inputs:13.2f}         {copied}")
    assert [line for line in lines if line not in read("03").splitlines()] == []


# -- the rules see what breaks them -------------------------------------------------------------


PLANTED = [
    (form, r"\A# \d\d .*", "# 99 Begin: for instructors"),
    (form, "## Goal", "## Aims"),
    (form, "This page holds the answers", "A page"),
    (form, "Do not project it.", "Just do not project it."),
    (form, r"\]\(\.\./", "](../gone/"),
    (glance, "## At a glance", "## At a look"),
    (glance, r"!\[\w", "[x"),
    (glance, r"\*\*What goes wrong\.\*\*", "**What is wrong.**"),
    (glance, r"\*\*Measured cells\.\*\*", "**Cells.**"),
    (glance, r"(?m)^(\| `\d\d\.\w+`.*\|) .* \|$", r"\1 999 kB |"),
    (glance, r"## At a glance\n", "## At a glance\n" + "word " * 250),
    (minutes, r"(?m)^\| (\d+)-(\d+) \|", r"| \g<1>-90\2 |"),
    (minutes, r"\*\*25 minutes", "**20 minutes"),
    (names, r"(?m)^### `(\d\d)\.\w+`", r"### `\1.gone`"),
    (names, r"(?s)(## Minute plan.*?)`(\d\d)\.\w+`", r"\1`\2.gone`"),
    (guesses, r"(?m)^### (`\d\d\.\w+`): .*", r"### \1: 999 kB"),
    (changes, r"### Recall and change", "### Changes"),
    (changes, r"(?s)(### Recall and change.*?`\d\d\.)\w+`", r"\1gone`"),
    (cited, "## Goal", "(A99)\n\n## Goal"),
    (figures, "## Goal", "It takes 98.7654 MB.\n\n## Goal"),
    (figures, r"<!-- numbers\n", "<!-- numbers\n98.7654 MB = 5\n"),
    (figures, r"(<!-- numbers\n[^\n]* = )", r"\g<1>1 + "),
]


@pytest.mark.measures
@pytest.mark.parametrize(("rule", "said", "wrong"), PLANTED)
@pytest.mark.parametrize("path", PAGES[1:3], ids=lambda path: path.stem)
def test_a_rule_sees_what_breaks_it(path, rule, said, wrong):
    page = path.read_text("utf-8")
    planted, count = re.subn(said, wrong, page, count=1)
    assert count == 1
    assert len(rule(path.stem, planted)) > len(rule(path.stem, page))

"""Every question of the lessons: its texts, its numbers, its causes, its truth."""

import random
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import prod
from string import Formatter

import pytest

import memlab
from memlab import lesson, strings, zoo
from memlab.errors import InputError
from memlab.lesson import sentences
from memlab.lesson.card import Card
from memlab.lesson.card_question import AnswerKind, Attempt, Purpose, topics
from memlab.lesson.exercise_task import tasks
from memlab.lesson.misconceptions import GuessVerdict, confusable_pairs, judge
from memlab.lesson.typed_guess import Guess
from memlab.pictures.values.number_text import three_digits
from memlab.step.tensor import Role
from tests.lessons import truths
from tests.quick import apart
from tests.rows import every_row

TOPICS = sorted(topics())
PREDICTIONS = [name for name in TOPICS if topics()[name].part is Purpose.PREDICT]
LONGEST = {Purpose.PREDICT: 45, Purpose.RECALL: 35, Purpose.CHANGE: 45}
"""Words of a question with its numbers filled in."""
FINDING = 80
"""Words of what explains an answer."""
LABELS = {
    "02.accumulate": {"why.moved", "why.stays", "why.same"},
    "03.whole": {"windows.first", "windows.next", "windows.stride"},
    "06.state": {"mixed", "alone"},
    "08.half": {"again.one", "again.several", "again.range"},
    "07.in_place": {
        "training",
        "inference",
        "plain",
        "shortcut",
        "why.conv",
        "why.norm",
        "why.act",
    },
    "07.address": {"onto", "above", "loss_same", "loss_other"},
    "10.slowest": {"worker", "workers"},
    "11.both": {"first.chain", "first.every", "first.cheap", "first.half"},
    "11.time": {"longer", "shorter"},
}
"""What the bars of a question are called, where plan and measurement are no names for them; the
sentences of which it says one."""
UNFILLED = re.compile(r"\{\w*(:[^{}]*)?\}")
"""A value that nothing was put in for; {n // 8 for n in codes} is Python."""
RUNS = {
    *("01.gradients", "01.peak", "01.prediction", "02.output"),
    *("03.stride", "03.whole", "04.copies", "04.left", "05.columns", "05.quarter"),
    *("06.dark", "06.state", "07.address", "08.best", "08.fault"),
}
"""Questions whose truth is measured: a step is run for it."""
by_topic = pytest.mark.parametrize("name", apart(TOPICS, RUNS.__contains__))
by_prediction = pytest.mark.parametrize("name", apart(PREDICTIONS, RUNS.__contains__))


def askings(name, more=12):
    """The numbers of the lesson, and others that learners get on a retry."""
    topic = topics()[name]
    chance = random.Random(name)
    draw = topic.draw
    return [topic.first, *(draw(chance) for _ in range(more))] if draw else [topic.first]


@cache
def known(name):
    """A question that looks for each of its truths once: that may take a whole plan."""
    topic, truths = topics()[name], {}

    def truth(numbers):
        key = repr(sorted(numbers.items()))
        if key not in truths:
            truths[key] = topic.truth(numbers)
        return truths[key]

    return replace(topic, truth=truth)


@cache
def answered(name):
    """The numbers of a question with the truth."""
    return [(numbers, known(name).truth(numbers)) for numbers in askings(name)]


@pytest.mark.table
@by_topic
def test_its_name_is_a_lesson_and_a_variable(name):
    assert re.fullmatch(r"\d\d\.[a-z]\w*", name)


@pytest.mark.table
@by_topic
def test_its_texts_are_there_and_no_others(name):
    topic = known(name)
    options = {f"{kind}.{option}" for option in topic.options for kind in ("option", "wrong")}
    finding = {Purpose.PREDICT: {"finding"}, Purpose.RECALL: set()}
    wanted = {"question", "seen", *options, *finding.get(topic.part, set())}
    keys = {key.removeprefix(f"ask.{name}.") for key in strings.table() if f"ask.{name}." in key}
    keys -= LABELS.get(name, set())
    keys -= {"finding"} if topic.part is Purpose.CHANGE else set()  # beside a picture
    if topic.kind is not AnswerKind.CHOICE:  # a wrong option has words of its own
        keys -= {"far"}
    right = {f"wrong.{topic.truth(topic.first).value}"}  # no number may make it wrong
    assert wanted - right <= keys <= wanted


def test_every_text_has_its_question():
    asked = {".".join(key.split(".")[1:3]) for key in strings.table() if key.startswith("ask.")}
    assert asked == set(TOPICS)


@pytest.mark.table
@by_topic
def test_its_truth_is_told_with_its_causes(name):
    topic = known(name)
    for numbers, truth in answered(name)[:5]:
        card = Card(topic)
        card.rounds[0] = card.rounds[0].__class__(topic, numbers)
        card.skip().reveal()
        assert "{" not in card.text()
        if topic.kind is AnswerKind.CHOICE:
            assert truth.value in topic.options
            continue
        assert isinstance(truth.value, Fraction)
        assert truth.value > 0
        assert [figure.value for figure in truth.figures] == [truth.value] * len(truth.figures)
        for cause in truth.causes:
            text = strings.get(f"cause.{cause.name}")
            assert {n for _, n, _, _ in Formatter().parse(text) if n} <= set(cause.values)


@pytest.mark.table
@by_topic
def test_its_causes_differ_by_more_than_3_percent(name):
    for numbers, truth in answered(name):
        if not isinstance(truth.value, str):
            assert confusable_pairs(truth.value, truth.causes) == [], dict(numbers)


@pytest.mark.table
@by_topic
def test_a_ratio_is_a_count_where_it_is_whole_on_all_its_numbers(name):
    topic = known(name)
    if topic.kind is AnswerKind.TIMES:
        whole = all(truth.value.denominator == 1 for _, truth in answered(name))
        assert topic.counted is whole
    if topic.kind is AnswerKind.COUNT:
        assert all(truth.value.denominator == 1 for _, truth in answered(name))


@pytest.mark.measures
def test_causes_that_are_alike_are_seen():
    truth = topics()["01.prediction"].truth(topics()["01.prediction"].first)
    assert isinstance(truth.value, Fraction)
    near = truth.causes[2].value * Fraction(102, 100)
    other = truth.causes[2].__class__("other", near)
    assert confusable_pairs(truth.value, [*truth.causes, other]) == [("half", "other")]


@pytest.mark.table
@pytest.mark.parametrize(
    "name", apart([name for name in TOPICS if topics()[name].draw], RUNS.__contains__)
)
def test_a_retry_asks_the_same_on_new_numbers(name):
    topic = known(name)
    if topic.draw is None:
        return
    used = [topic.first]
    for turn in range(3):
        numbers = topic.again(f"7 {name} {turn}", used)
        assert numbers not in used
        assert numbers == topic.again(f"7 {name} {turn}", used)
        used.append(numbers)
    others = [topic.again(f"{seed} {name} 1", [topic.first]) for seed in range(12)]
    assert len({repr(sorted(n.items())) for n in others}) >= 3  # neighbours differ


def typed(kind, value):
    """A value as somebody types it who has worked it out."""
    if kind is AnswerKind.COUNT:
        return f"{round(value)}"
    return f"{float(value):.0f} B" if kind is AnswerKind.AMOUNT else f"{float(value):.6g}"


@pytest.mark.table
@by_topic
def test_a_wrong_guess_of_each_cause_gets_its_question(name):
    topic = known(name)
    truth = topic.truth(topic.first)
    for cause in truth.causes:
        text = typed(topic.kind, cause.value)
        guess = topic.read(text)
        assert isinstance(guess, Guess)
        assert isinstance(truth.value, Fraction)
        verdict = judge(guess, truth.value, truth.causes)
        assert verdict.cause is not None
        assert verdict.cause.name == cause.name
        card = Card(topic).guess(text).reveal()
        assert strings.get(f"cause.{cause.name}", **cause.values) in card.text()


def wrong_answers(topic, truth):
    """One of each cause, far too little, far too much, nearly right; or every wrong option."""
    if topic.kind is AnswerKind.CHOICE:
        return [option for option in topic.options if option != truth.value]
    others = [truth.value / 1000, truth.value * 1000, truth.value * Fraction(9, 8)]
    return [typed(topic.kind, value) for value in (*(c.value for c in truth.causes), *others)]


@pytest.mark.table
@by_topic
def test_no_diagnosis_gives_the_answer_away(name):
    topic = known(name)
    for numbers, truth in answered(name)[:4]:
        asked = replace(topic, first=numbers)
        written = truths.forms(asked)
        for given in wrong_answers(topic, truth):
            card = Card(asked).guess(given)
            if card.now.revealed:  # nearly right is right, to the digits that were typed
                continue
            hint = sentences.hint(card.now)
            assert not [form for form in written if truths.holds(hint, form)], hint
            assert not re.search(r"\d times too|Exactly|within \d", hint)
            if topic.kind is AnswerKind.CHOICE:
                right = sentences.option(card.now, truth.value).rstrip(".")
                assert right.casefold() not in hint.casefold(), hint


@pytest.mark.table
@by_prediction
def test_two_wrong_answers_have_their_cause(name):
    topic = known(name)
    truth = answered(name)[0][1]
    causes = topic.options[1:] if topic.kind is AnswerKind.CHOICE else truth.causes
    assert len(causes) >= 2


@pytest.mark.table
@by_topic
def test_a_question_is_short(name):
    for numbers in askings(name, 4):
        asked = sentences.question(Attempt(known(name), numbers))
        assert len(asked.split()) <= LONGEST[known(name).part], asked


@pytest.mark.table
@by_topic
def test_a_choice_says_what_would_give_it_away(name):
    if known(name).kind is AnswerKind.CHOICE:
        assert known(name).gives


@pytest.mark.table
@by_prediction
def test_a_prediction_is_explained_by_its_finding(name):
    for numbers, truth in answered(name)[:3]:
        paragraphs = sentences.finding(Attempt(known(name), numbers, truth=truth))
        assert paragraphs
        assert len(" ".join(paragraphs).split()) <= FINDING


@pytest.mark.table
@by_topic
def test_its_texts_are_filled_in(name):
    topic = known(name)
    for numbers, truth in answered(name)[:5]:
        turn = Attempt(topic, numbers, truth=truth)
        shown = [sentences.question(turn), *sentences.said(turn)]
        for option in topic.options:
            shown += [sentences.option(turn, option), *sentences.said(replace(turn, guess=option))]
        if not topic.options:  # a guess that no cause explains, then one of each cause
            verdicts = [
                GuessVerdict(False, ratio=Fraction(2), cause=c) for c in (None, *truth.causes)
            ]
            shown += [sentences.diagnosis(turn, verdict) for verdict in verdicts]
        shown += sentences.finding(turn)
        assert not [text for text in shown if UNFILLED.search(text)]


@pytest.mark.table
@by_topic
def test_no_text_has_a_raw_mark(name):
    topic, (numbers, truth) = known(name), answered(name)[0]
    turn = Attempt(topic, numbers, truth=truth)
    shown = [sentences.question(turn), sentences.seen(turn), *sentences.finding(turn)]
    shown += [sentences.option(turn, option) for option in topic.options]
    assert not [text for text in shown if "`" in text or "**" in text or "^" in text]


def test_the_options_of_a_chain_are_three_numbers():
    depth = topics()["07.waiting"].first["depth"]
    assert len({2, depth // 2, depth}) == 3


def test_lesson_06_asks_what_lesson_02_found():
    """The output of a convolution is freed in forward; its input waits."""
    for name, array in (("06.kept", "input"), ("02.output", "output")):
        asked = sentences.question(Attempt(topics()[name], topics()[name].first))
        assert array in asked
    step = memlab.training_step(zoo.mnist_cnn(), "sgd")
    backward = next(op for op in step.ops if op.name == "backward of conv2")
    read = {tensor.name for tensor in backward.reads.values()}
    assert "pool1" in read
    assert "conv2" not in read


@every_row("name", sorted(tasks()))
def test_no_text_of_an_exercise_names_a_value(name):
    texts = [text for key, text in strings.table().items() if key.startswith(f"task.{name}.")]
    assert texts
    assert not [text for text in texts if UNFILLED.search(text)]


@pytest.mark.table
@by_topic
def test_every_option_can_be_taken(name):
    topic = known(name)
    for option in topic.options:
        card = Card(topic).guess(option).reveal()
        assert card.now.truth
        assert card.now.verdict
        right = option == card.now.truth.value
        assert sentences.said(card.now)[0] in card.text()
        assert sentences.said(card.now)[0].startswith("Right") is right
        assert card.now.verdict.right is right


@pytest.mark.measures
def test_the_bar_that_says_measured_follows_the_run(monkeypatch):
    from memlab.runtime import run as running

    plain = running.run

    def doubled(*args, **kwargs):
        done = plain(*args, **kwargs)
        blocks = tuple(replace(e, size=2 * e.size) for e in done.measured.entries)
        inside = [2 * nbytes for nbytes in done.inside]
        return replace(done, measured=replace(done.measured, entries=blocks), inside=inside)

    monkeypatch.setattr(running, "run", doubled)
    for name in ("01.peak",):
        planned, measured = topics()[name].truth(topics()[name].first).figures
        assert (planned.origin, measured.origin) == ("planned", "measured")
        assert measured.value == 2 * planned.value


def test_the_gradients_of_the_first_part_raise_the_beginning_of_backward():
    """Or its end, where the small step holds nearly all gradients itself."""
    topic = topics()["02.accumulate"]
    drawn = {repr(numbers): numbers for numbers in askings("02.accumulate", 60)}
    assert len(drawn) == 7
    for n in drawn.values():
        network, half = zoo.build(n["network"]), n["batch"] // 2
        step = memlab.training_step(network, n["optimizer"])
        small, parts = memlab.plan(step), memlab.plan(memlab.accumulate(step, 2))
        truth, peak = topic.truth(n), small.peak_at(half)
        why = str(truth.seen["why"])
        gradients = 4 * network.parameters
        if truth.value == "same":
            held = small.roles(half)[Role.PARAMETER_GRADIENT]
            assert held > 0.99 * gradients
            continue
        rows = [row for row in small.rows if row.phase == "backward"]
        (at,) = (row for row in rows if f"{row.name} in part 2" == parts.peak_at(half).row.name)
        assert rows.index(at) < 0.2 * len(rows)
        place = small.rows.index(at)
        held = small.roles(half, place)[Role.PARAMETER_GRADIENT]
        assert parts.peak(half) == small.timeline(half)[place] + gradients - held
        rise = gradients - held - (peak.nbytes - small.timeline(half)[place])
        said = [three_digits(nbytes) for nbytes in (held, gradients - held, rise)]
        shown = said if place != peak.index else said[:2]
        assert all(figure in why for figure in shown)
        assert ("the peak moves there" in why) == (place != peak.index)


@pytest.mark.parametrize(("name", "count"), [("02.halve", 3), ("02.resnet", 1)])
def test_the_networks_of_a_retry_end_as_the_lesson_says(name, count):
    """In 3 large linear layers, as VGG-16, or in a small one, as ResNet-50."""
    drawn = [topics()[name].again(str(seed), []) for seed in range(40)]
    for network in {numbers["network"] for numbers in (topics()[name].first, *drawn)}:
        net = zoo.build(network)
        linear = [node for node in net.nodes if node.kind == "linear"]
        assert len(linear) == count
        weights = sum(node.shape[0] * prod(node.input_shapes[0]) for node in linear)
        assert (weights > net.parameters / 2) == (count == 3)


def test_the_peak_of_a_retry_does_not_always_grow_alike():
    topic = topics()["00.double"]
    answers: Counter[object] = Counter()
    for numbers in {repr(n): n for n in askings("00.double", 60)[1:]}.values():
        step = memlab.training_step(zoo.build(numbers["network"]), numbers["optimizer"])
        small, large = (memlab.plan(step).peak(k * numbers["batch"]) for k in (1, 2))
        assert abs(large / small - 1.5) > 0.1
        assert topic.truth(numbers).value == ("little" if large < 1.5 * small else "less")
        answers[topic.truth(numbers).value] += 1
    assert answers == {"little": 4, "less": 4}


def test_what_is_freed_in_the_case_is_nearly_all_that_is_saved():
    truth = topics()["02.case"].truth(topics()["02.case"].first)
    step = memlab.training_step(zoo.resnet50())
    kept, freed = (memlab.plan(each) for each in (memlab.no_reuse(step), step))
    saved = kept.peak(256) - freed.peak(256)
    both = 0
    for role in (Role.GRADIENT_MAP, Role.FEATURE_MAP):
        less = kept.roles(256)[role] - freed.roles(256)[role]
        assert truth.seen[f"{role}s"] == three_digits(less)
        both += less
    assert 0.98 * saved < both <= saved
    alive = {entry.name for entry in freed.alive(freed.peak_at(256).index)}
    assert {"2.1.norm1", "2.1.relu1"} & alive == {"2.1.relu1"}


def test_some_retry_has_a_stride():
    drawn = [topics()["02.output"].again(str(seed), []) for seed in range(20)]
    assert {numbers["stride"] for numbers in drawn} == {1, 2}


def test_an_unknown_question_gets_one_sentence():
    with pytest.raises(
        InputError, match=r"unknown question '02\.outpt'; did you mean '02\.output'"
    ):
        lesson.predict("02.outpt")


@pytest.mark.measures
def test_the_slider_of_a_number_reaches_over_its_truth_and_its_causes():
    for topic in topics().values():
        if topic.kind not in (AnswerKind.TIMES, AnswerKind.COUNT):
            continue
        stops = [Fraction(stop) for stop in topic.stops]
        assert stops == sorted(stops)
        others = range(5) if topic.draw else ()
        for numbers in [topic.first, *(topic.again(str(i), [topic.first]) for i in others)]:
            truth = topic.truth(numbers)
            assert isinstance(truth.value, Fraction)
            assert stops[0] <= truth.value <= stops[-1]


@pytest.mark.measures
@pytest.mark.parametrize(
    ("fault", "found"), [("backward", "gradients"), ("forward", "loss"), ("above", "same")]
)
@pytest.mark.parametrize("batch", [2, 4, 8])
def test_a_wrong_address_is_silent_where_it_is_used_after_the_loss(fault, batch, found):
    assert topics()["07.address"].truth({"fault": fault, "batch": batch}).value == found


@every_row(
    ("training", "shortcut", "found"),
    [(True, False, "act"), (True, True, "none"), (False, False, "both")],
)
@every_row("act", ["ReLU", "tanh"])
def test_what_may_overwrite_its_input_depends_on_who_reads_it_later(act, training, shortcut, found):
    numbers = {"act": act, "training": training, "shortcut": shortcut}
    assert topics()["07.in_place"].truth(numbers).value == found


def test_a_third_and_a_fourth_buffer_change_nothing():
    """The finding of 10.buffers says so."""
    topic = topics()["10.buffers"]
    told = topic.truth(topic.first).seen
    assert told["four"] == told["two"] != told["one"]


def test_compute_waits_between_two_bounds_for_a_slow_link():
    """All that compute can hide is hidden, or no more than over the fast link."""
    topic = topics()["09.link"]
    truth, words = topic.truth(topic.first), topic.words(topic.first)
    works, copied, fast = (float(str(words[key])) for key in ("works", "copied", "waits"))
    copies = copied * topic.first["fast"] / topic.first["slow"]
    least, most = (float(str(truth.seen[key])) for key in ("least", "most"))
    assert least == pytest.approx((copies - works) / fast, rel=0.05)
    assert most == pytest.approx((copies - copied + fast) / fast, rel=0.05)
    assert least < float(truth.value) < most

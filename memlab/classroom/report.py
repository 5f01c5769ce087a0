"""The report on a graded class: marks per question, what looped, what a person should look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memlab import units
from memlab.classroom.batch import Batch
from memlab.classroom.roster import Roster
from memlab.classroom.submissions import Handed, Submission
from memlab.classroom.tables import Row
from memlab.errors import visible

NAMED = 8
"""The most learners, or questions, that a line of the report names."""


def facts(
    handed: Handed, batch: Batch, table: Sequence[Row], sentences: Sequence[str]
) -> dict[str, Any]:
    """Return the figures of a graded class, for JSON."""
    return {
        "learners": len(handed.learners),
        "submissions": len(handed.submissions),
        "graded": len(batch.graded) - batch.kept,
        "kept": batch.kept,
        "seconds": round(batch.seconds, 1),
        "largest_worker_bytes": _largest(batch),
        "largest_judge_bytes": batch.judge_memory,
        "questions": {name: dict(states) for name, states in _states(table).items()},
        "looped": _who(table, "looped"),
        "review": [
            {"learner": row.learner, "question": row.question, "why": row.review}
            for row in table
            if row.points is None
        ],
        "sentences": [*handed.sentences, *sentences, *_ended(handed, batch)],
    }


def text(facts: Mapping[str, Any]) -> str:
    """Return the report on the figures of ``facts``, to which were added: ``at_once``, the number
    of notebooks that were graded at once, and ``why_so_many``; ``confinement``, a sentence on how
    they were run; ``files``, those that were written."""
    kept = f", {facts['kept']} kept from an earlier call" if facts["kept"] else ""
    counts = f"Learners: {facts['learners']}. Submissions: {facts['submissions']}"
    lines = [f"{counts}, {facts['graded']} graded{kept}."]
    lines += [_cost(facts), facts["confinement"]] if facts["graded"] else []
    lines += ["", *_questions(facts["questions"]), ""]
    lines += [f"Looped: {_named(who)} in {name}." for name, who in facts["looped"].items()]
    lines += _to_look_at(facts["review"])
    return "\n".join([*lines, *facts["sentences"], f"Written: {', '.join(facts['files'])}"])


def _to_look_at(rows: Iterable[Mapping[str, str]]) -> list[str]:
    """Return a sentence for each learner and reason, with the questions that a person decides."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        names.setdefault((row["learner"], row["why"]), []).append(row["question"])
    return [f"Look at {who} in {_named(which)}: {why}." for (who, why), which in names.items()]


def missing(handed: Handed, roster: Roster | None) -> list[str]:
    """Return a sentence about each learner that a roster lacks, and about those that handed in
    nothing."""
    if roster is None:
        return []
    known = [(learner, roster.find(learner)) for learner in handed.learners]
    said = [
        f"{handed.label(learner)} is not in the roster, or there more than once, and has no row "
        "in the file to import."
        for learner, person in known
        if person is None
    ]
    left = len(roster.people) - sum(person is not None for _, person in known)
    if left:
        said.append(f"Of the roster, {left} have no folder here, and no row in the file to import.")
    return said


def progress(done: int, total: int, running: Iterable[Submission], wide: int) -> str:
    """Return the line of progress, at most so many characters wide: how many are done, and what is
    running."""
    names = ", ".join(visible(f"{one.learner.name} {one.lesson[:2]}") for one in running)
    return f"{done} of {total} graded; running: {names}"[:wide]


def _cost(facts: Mapping[str, Any]) -> str:
    worker, judge = facts["largest_worker_bytes"], facts["largest_judge_bytes"]
    held = f"; the largest submission held {units.short(worker)}" if worker else ""
    held += f", the process that marks it {units.short(judge)}" if judge else ""
    return f"{facts['seconds']} s, {facts['at_once']} at once ({facts['why_so_many']}){held}."


def _questions(states: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a table of how many passed each question, and what became of the others."""
    wide = max(map(len, states), default=0)
    for name, counts in states.items():
        others = [f"{count} {state}" for state, count in counts.items() if state != "passed"]
        passed, asked = counts.get("passed", 0), sum(counts.values())
        yield f"{name:{wide}}  {passed:4} of {asked} passed  {', '.join(others)}".rstrip()


def _states(table: Iterable[Row]) -> dict[str, Counter[str]]:
    """Return how often each state occurs, by question. Who handed in nothing is a state too."""
    states: dict[str, Counter[str]] = {}
    for row in table:
        if row.question:
            states.setdefault(row.question, Counter())[row.state] += 1
    return states


def _who(table: Iterable[Row], state: str) -> dict[str, list[str]]:
    """Return the learners whose answer is in a state, by question."""
    who: dict[str, list[str]] = {}
    for row in table:
        if row.state == state:
            who.setdefault(row.question, []).append(row.learner)
    return who


def _named(names: Sequence[str]) -> str:
    others = f" and {len(names) - NAMED} others" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + others


def _ended(handed: Handed, batch: Batch) -> list[str]:
    """Return the sentences about notebooks that did not end as they should."""
    return [
        f"{handed.label(one.submission.learner)}, {one.submission.lesson}: {one.marks.ended}"
        for one in batch.graded
        if one.marks.ended
    ]


def _largest(batch: Batch) -> int:
    return max((one.marks.peak_memory or 0 for one in batch.graded), default=0)

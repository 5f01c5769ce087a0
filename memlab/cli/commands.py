"""The commands of the command line, a function each.

Each imports what it needs, so that ``memlab --help`` answers at once. The figures of a table and of
its JSON are the same values.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from errno import EISDIR
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab import atomic_files, units
from memlab.cli.options import Options as Options
from memlab.cli.options import asked, built, count, fed, planned, rate, timed, ways_out
from memlab.errors import InputError, known, one_option, real_number, shorten, visible
from memlab.step.storage import HOST

if TYPE_CHECKING:
    from memlab.classroom.limits import Limits
    from memlab.classroom.submissions import Submission
    from memlab.ledger.ledger import Ledger
    from memlab.networks.graph import Network
    from memlab.step.step import Step

OUTPUT = "the standard output"
LEAST_MEMORY, TOO_LONG = 200 * 10**6, 86_401
"""Fewest bytes of a submission, and the seconds from which on a limit is refused: over a day."""
PICTURES = ("svg", "png", "pdf", "html")
"""What a picture can be; an html page has a slider over the batch."""


def plan(options: Options) -> int:
    """Plan one step, and show its peak and what is alive there."""
    from memlab.ledger import files
    from memlab.networks import counting

    batch, rule = count("batch", options.batch), counting.find(options.convention)
    save, trace, picture = _targets(options.save, options.trace, options.picture)
    kind = _kind(picture)
    network, step, ledger = planned(options, batch)
    facts = facts_of(network, step, ledger, batch) | asked(options, batch)
    facts |= placed(step, ledger, batch, options.place) | {"convention": rule.name}
    facts["feature_map_values"] = rule.values(network)
    time, said = timed(options, step, batch)
    facts |= time
    if picture:
        from memlab import views
        from memlab.pictures.draw.files import drawn

        atomic_files.write(picture, drawn(views.memory(step, batch, free=False), kind))
    if save:
        files.save(ledger, save)
    if trace:
        atomic_files.write(trace, json.dumps(files.trace(ledger, batch)) + "\n")
    _show(options, facts, f"{table(facts)}\n{rule.description}{said}")
    return 0


def run(options: Options) -> int:
    """Run one step on real arrays, on this machine or a GPU, and compare the measured bytes with
    the plan."""
    import memlab

    batch = count("batch", options.batch)
    network, step, ledger = planned(options, batch)
    facts = facts_of(network, step, ledger, batch) | asked(options, batch)
    facts["schema"] = "memlab.run/2"
    done = memlab.run(
        step,
        batch,
        progress=_watched(),
        device=options.device,
        placement=options.place,
        host=options.host,
    )
    _show(options, facts | done.as_dict(), done.text())
    return 1 if done.residual or done.nan else 0


def fit(options: Options) -> int:
    """Find the largest batch that fits into a memory, and the tensor that limits it."""
    nbytes = units.parse(options.memory)
    network, step, ledger = planned(options)
    largest = ledger.fit(nbytes)
    facts = {"schema": "memlab.fit/2", **identity(network, step), **asked(options)}
    facts |= largest.as_dict()
    _show(options, facts, f"{step.describe()}\n{largest}")
    return 0


def compare(options: Options) -> int:
    """Compare techniques on one step in bytes and time, and list the remedies for a small card."""
    from memlab.pictures.techniques.compare import compare_techniques

    batch = count("batch", options.batch)
    network, step = built(options)
    technique_study = compare_techniques(
        step, batch, options.budget, options.measure, progress=_watched(), device=options.machine
    )
    facts = {"schema": "memlab.compare/2", **identity(network, step)}
    facts |= asked(options) | technique_study.as_dict()
    out = ways_out(options, network, batch)
    facts |= {"ways": out.as_dict() if out else None}
    _show(options, facts, f"{technique_study.text()}\n\n{out}" if out else technique_study.text())
    return 0 if technique_study.held else 1


def path(options: Options) -> int:
    """Plan the path of images from a disk to the device, and how long compute waits for them."""
    import memlab

    batch = count("batch", options.batch)
    network, step = fed(options)
    buffers = count("buffers", options.buffers, least=0)
    link = None if options.link is None else rate(options.link)
    path_plan = memlab.data_path(
        step, batch, buffers, options.augment, rate(options.disk), rate(options.host), link,
        options.machine,
    )  # fmt: skip
    facts = {"schema": "memlab.path/1", **identity(network, step)} | path_plan.as_dict()
    _show(options, facts, str(path_plan))
    return 0


def diff(options: Options) -> int:
    """Compare two saved plans: what changed the peak, and what waits in host memory."""
    from memlab.ledger import files
    from memlab.ledger.diff import diff as compare
    from memlab.step.storage import HOST

    batch = count("batch", options.batch)
    sides = files.load(options.before), files.load(options.after)
    differences = [compare(*sides, batch)]
    if any(entry.memory == HOST for side in sides for entry in side.entries):
        differences.append(compare(*sides, batch, memory=HOST))
    facts = differences[0].as_dict() | {
        "host": differences[1].as_dict() if differences[1:] else None
    }
    _show(options, facts, "\n\n".join(map(str, differences)))
    return 0


def explain(options: Options) -> int:
    """Explain the memory of your own PyTorch model or training script: its peak, whether it fits a
    card, and what makes it fit."""
    from memlab.frontends.torch import OPTIMIZERS
    from memlab.pictures.explain import report
    from memlab.placement.cuda_cards import chosen

    if is_script(options.place):
        return _explain_script(options)
    if options.limit is not None:
        raise InputError("--limit is of a script; leave it out, or try memlab explain train.py.")
    (picture,) = _targets(options.picture)
    kind = _kind(picture)
    asked: dict[str, Any] = {
        "optimizer": options.optimizer,
        "memory": None if options.memory is None else units.parse(options.memory),
        "batch": None if options.batch is None else count("batch", options.batch),
        "card": options.card,
        "device": options.device,
    }
    if options.optimizer is not None:
        known("optimizer", options.optimizer, OPTIMIZERS)
    chosen("cuda" if options.device is None else options.device, options.card)
    given = _given(options.place) | {key: one for key, one in asked.items() if one is not None}
    given.setdefault("progress", _watched())
    if picture:
        from memlab.pictures.draw.files import drawn

        view = report.explain(**given)
        atomic_files.write(picture, drawn(view, kind))
        rows, text = view.rows, view.text()
    else:
        rows, text = report.told(**given)
    _show(options, {"schema": "memlab.explain/1"} | rows.as_dict(), text)
    return 0


def is_script(place: str) -> bool:
    """Return whether a place is a file to run, and not the name of a function."""
    return place.endswith(".py") or os.path.isfile(place)


def _explain_script(options: Options) -> int:
    """Run a script in another process and explain the step that it trains."""
    from memlab.frontends.torch.script.watched_script import LIMIT, ScriptRequest
    from memlab.pictures.explain import report
    from memlab.pictures.explain.script_model import ScriptModel
    from memlab.placement.cuda_cards import chosen

    (picture,) = _targets(options.picture)
    kind = _kind(picture)
    for name in ("batch", "optimizer"):
        if getattr(options, name) is not None:
            raise InputError(f"a script decides about its {name} itself; leave out --{name}, or "
                             "give the script's own argument after --.")  # fmt: skip
    memory = None if options.memory is None else units.parse(options.memory)
    limit = LIMIT if options.limit is None else count("limit", options.limit)
    card = chosen("cuda" if options.device is None else options.device, options.card)
    script = ScriptModel(ScriptRequest(options.place, options.rest, card, limit, _say))
    if picture:
        from memlab.pictures.draw.files import drawn

        view = report.view_of(script, script.samples, memory)
        atomic_files.write(picture, drawn(view, kind))
        rows, text = view.rows, view.text()
    else:
        rows, text = report.told_of(script, script.samples, memory)
    facts = {"schema": "memlab.explain/1"} | rows.as_dict() | {"script": script.as_dict()}
    _show(options, facts, f"{text}\n\n{script.text}")
    return 0


def _say(sentence: str) -> None:
    """Print a sentence before the answer, where it is in nobody's way."""
    if sys.stderr is not None:
        print("memlab:", visible(sentence), file=sys.stderr, flush=True)


def claims(options: Options) -> int:
    """List the claims of published texts, each recomputed, with a verdict."""
    from memlab.claims import listing

    width = shutil.get_terminal_size().columns
    rows = listing.rows(options.id, options.text, options.verdict, options.own, options.measure)
    _show(options, [row.as_dict(rows.run) for row in rows.rows], rows.printed(width))
    return 0


def bench(options: Options) -> int:
    """Run a benchmark on this machine. Without a name, list the benchmarks."""
    from memlab.bench import BENCHMARKS, listing

    if options.name is None:
        if options.plot is not None:
            raise InputError("a plot is of one benchmark; try memlab bench accuracy --plot FILE.")
        _show(options, list(BENCHMARKS), listing(BENCHMARKS))
        return 0
    benchmark = one_option("benchmark", options.name, BENCHMARKS)
    (target,) = _targets(options.plot)
    if target and options.name != "accuracy":
        raise InputError(f"{options.name} has no plot; leave out --plot, or try one of accuracy.")
    if options.model is not None and options.name != "accuracy":
        raise InputError(f"{options.name} takes no model, got {shorten(options.model)}; leave it "
                         "out, or try accuracy.")  # fmt: skip
    given = () if options.model is None else (_own(options.model), options.model)
    result = benchmark(*given)
    if target:
        from memlab.bench.accuracy.table import Accuracy
        from memlab.pictures.explain.accuracy import AccuracyOfEstimates

        assert isinstance(result, Accuracy)
        atomic_files.write(target, AccuracyOfEstimates(result).svg() + "\n")
    _show(options, result.as_dict(), str(result))
    return 0


def _given(place: str) -> dict[str, Any]:
    """Arguments of ``explain`` from a function of the user, which may lie in the folder that the
    shell is in."""
    from memlab.pictures.explain.report import given_by

    sys.path.insert(0, os.getcwd())
    return given_by(place)


def _own(place: str) -> dict[str, Any]:
    """Return a user's model with all arguments of ``memlab.explain``."""
    from memlab.pictures.explain.own_model import builder, usual_loss

    given = _given(place)
    loss_fn = given.get("loss_fn") or usual_loss
    return given | {"build": builder(given["build"]), "loss_fn": loss_fn}


def doctor(options: Options) -> int:
    """Check this machine, and say how to fix each problem."""
    from memlab import setup_checks

    checks = setup_checks.examine()
    _show(options, [asdict(check) for check in checks], setup_checks.report(checks))
    return setup_checks.exit_code(checks)


def lab(options: Options) -> int:
    """Open the lessons in JupyterLab. Further arguments go to JupyterLab."""
    from memlab.cli.lessons import lab as open_lessons

    with printing():
        return open_lessons(options.rest)


def lecture(options: Options) -> int:
    """Write a lecture as one page that needs no kernel and no network: k2, the k² of lowering."""
    from memlab.course.lecture.page import LECTURES

    write = one_option("lecture", options.name, LECTURES)
    target = _target(f"{options.name}.html" if options.output is None else options.output)
    page, recorded = write(not options.no_run)
    content = f"{page}\n".encode()
    size = len(content)
    atomic_files.write(target, content)
    facts = {"schema": "memlab.lecture/1", "file": str(target), "bytes": size}
    facts["recorded"] = recorded and asdict(recorded)
    lines = [f"{target}: {units.exact(size)}. Open it in a browser; ? shows its keys."]
    _show(options, facts, "\n".join(lines + ([recorded.text()] if recorded else [])))
    return 0


def slides(options: Options) -> int:
    """Write slides of a lesson, or of a notebook of yours: one page that needs no network."""
    from memlab.classroom.slides.page import notebook_of, page

    file = notebook_of(options.lesson, options.solved)
    target = _target(f"{file.stem}.html" if options.output is None else options.output)
    written, count = page(file, options.dark)
    content = f"{written}\n".encode()
    atomic_files.write(target, content)
    facts = {"schema": "memlab.slides/1", "file": str(target), "slides": count}
    facts["bytes"] = len(content)
    told = f"{target}: {count} slides, {units.exact(len(content))}."
    _show(options, facts, f"{told} Open it in a browser; ? shows its keys.")
    return 0


def progress(options: Options) -> int:
    """Show which cards and exercises of the lessons you have done. A guess is never a mark."""
    from memlab import strings
    from memlab.cli.lessons import progress_file
    from memlab.lesson import progress as record
    from memlab.lesson.card_question import topics
    from memlab.lesson.exercise_task import tasks

    beside = Path("progress.json")  # of a released notebook
    usual = beside if beside.exists() else progress_file()
    path = record.file() if record.FILE in os.environ else usual
    if path is None:
        _show(options, None, strings.get("progress.off"))
        return 0
    try:
        kept = record.read(path)
    except FileNotFoundError:
        _show(options, None, strings.get("progress.missing", path=path))
    else:
        _show(options, kept, record.text(kept, path, {*topics(), *tasks()}))
    return 0


def release(options: Options) -> int:
    """Write lessons for learners: notebooks without anything that solves them, and what they link
    to."""
    from memlab.classroom.release import release as write

    folder = _folder(options.output)
    done = write(options.lessons, folder, options.language, options.force)
    groups = {name: [path.relative_to(folder).as_posix() for path in paths]
              for name, paths in vars(done).items()}  # fmt: skip
    lines = [f"{folder}: {len(done.new)} new files, {len(done.replaced)} replaced, "
             f"{len(done.same)} were there already."]  # fmt: skip
    lines += [f"  {name}" for name in groups["new"] + groups["replaced"]]
    facts = {"schema": "memlab.release/1", "folder": str(folder), **groups}
    _show(options, facts, "\n".join(lines))
    return 0


def grade(options: Options) -> int:
    """Grade what learners handed in, notebook by notebook, each in a confined process."""
    from memlab.classroom import files, report, roster, submissions, tables
    from memlab.classroom.batch import Batch, Terms, grade_class, jobs_here
    from memlab.classroom.confinement import confined
    from memlab.classroom.marking import grade_notebook

    if sys.platform == "win32":
        raise InputError("submissions are graded on Linux, or on macOS with --trusted; on Windows, "
                         "grade in the Windows Subsystem for Linux or a container.")  # fmt: skip
    target, limits, folder = _target(options.csv), _limits(options), Path(options.folder)
    listed = None if options.roster is None else Path(options.roster)
    people = None if listed is None else roster.read(listed)
    handed, batch = submissions.handed_in(folder), Batch()
    files.keep_apart(target, folder, listed)
    jobs, why = jobs_here(limits)
    if options.jobs is not None:
        jobs, why = count("jobs", options.jobs), "as --jobs says"
    parts = files.parts(target)
    try:
        with confined(limits, trusted=options.trusted) as confinement, _line() as tell:
            terms = Terms(grade_notebook, confinement, limits, jobs)
            grade_class(batch, handed, parts, terms, tell)
    except KeyboardInterrupt:
        left = len(handed.submissions) - len(batch.graded)
        print(f"memlab: {len(batch.graded)} graded and kept in {shorten(str(parts))}, {left} are "
              "left; the same command goes on.", file=sys.stderr)  # fmt: skip
        raise
    table = tables.rows(handed, batch.graded, options.trusted)
    written = files.write(target, handed, batch, table, people)
    facts = report.facts(handed, batch, table, report.missing(handed, people))
    facts |= {"at_once": jobs, "why_so_many": why, "confinement": confinement.said}
    facts |= {"schema": "memlab.grade/1", "files": [*map(str, written)], "trusted": options.trusted}
    _show(options, facts, report.text(facts))
    return 1 if any(one.lost for one in batch.graded) else 0


def _limits(options: Options) -> Limits:
    """Return the limits of each submission that were asked for."""
    from memlab.classroom.limits import Limits

    usual = Limits()
    memory = usual.memory if options.memory is None else units.parse(options.memory)
    seconds: Any = usual.seconds if options.seconds is None else options.seconds
    with suppress(ValueError):  # the error below says it
        seconds = float(seconds)
    if memory < LEAST_MEMORY:
        raise InputError(f"a submission needs at least {units.short(LEAST_MEMORY)} for Python and "
                         f"NumPy, got --memory {options.memory}; try 2GiB.")  # fmt: skip
    seconds = real_number("seconds", seconds, usual.seconds, above=0, below=TOO_LONG)
    return Limits(seconds=seconds, memory=memory)


@contextmanager
def _line() -> Iterator[Callable[[int, int, Sequence[Submission]], None]]:
    """Give a function that shows the progress of a batch on one line, where a person watches."""
    from memlab.classroom import report

    def tell(done: int, total: int, running: Sequence[Submission]) -> None:
        if _watched():
            line = report.progress(done, total, running, shutil.get_terminal_size().columns - 1)
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if _watched():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def guesses(options: Options) -> int:
    """Count the guesses of a class at the cards of the lessons, from its progress files."""
    from memlab.classroom import guesses as room
    from memlab.lesson import class_files
    from memlab.lesson.card_question import topics

    if options.reveal and options.card is None:
        raise InputError("the answer of a card may take seconds to compute; name the card, such as "
                         "--card 03.stride --reveal.")  # fmt: skip
    questions = topics()
    if options.card is not None:
        known("card", options.card, questions)
    files = class_files.read(options.folder)
    for sentence in files.broken:
        _say(sentence)
    cards = room.of_class(files, questions, options.card, options.reveal)
    _show(options, room.as_dict(cards, files), room.text(cards, files, questions))
    return 0


# -- writing ------------------------------------------------------------------------------------


@contextmanager
def printing() -> Iterator[None]:
    """Turn a failure of the standard output, as on a full disk, into an error with the name
    ``OUTPUT``."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = OUTPUT
        raise


def _watched() -> bool:
    """True if the standard error is a terminal, so that progress can be shown there."""
    return sys.stderr is not None and sys.stderr.isatty()


def show(text: str) -> None:
    """Print a text at once. Control characters that come from a file or a model are made visible.

    Raises:
        OSError: the output takes no more; see ``printing``.
    """
    with printing():
        print(visible(text, "\n"), flush=True)


def _show(options: Options, facts: object, text: str) -> None:
    show(json.dumps(facts, indent=2, default=str) if options.json else text)


def _targets(*paths: str | None) -> list[Path | None]:
    """Return the paths of files to be written, each a file of its own; refuse them before the work
    begins."""
    targets = [None if path is None else _target(path) for path in paths]
    for one, other in combinations(filter(None, targets), 2):
        if _same(one, other):
            both = f"{shorten(str(one))} and {shorten(str(other))}"
            raise InputError(f"{both} are one file; give each output its own.")
    return targets


def _target(path: str) -> Path:
    target = Path(path)
    try:
        if not path:
            raise ValueError
        atomic_files.place(target)
        os.stat(os.path.dirname(path) or ".")  # a Path drops a / at the end, realpath no/..
        if os.path.basename(path) in ("", "."):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    except OSError as error:
        raise _unwritable(path, f"{error.strerror}") from None
    except ValueError:  # nothing, a NUL or half a character
        raise _unwritable(path, "no file has such a name") from None
    if target.is_file() and any(_is_stream(target, number) for number in (1, 2)):
        raise _unwritable(path, "what this command prints goes there already")
    return target


def _folder(path: str) -> Path:
    """Return the path of a folder that is there, or can be made."""
    try:
        if not path:
            raise ValueError
        why = "" if stat.S_ISDIR(os.stat(path).st_mode) else "it is no folder"
    except FileNotFoundError:
        why = ""
    except OSError as error:
        why = f"{error.strerror}"
    except ValueError:  # nothing, a NUL or half a character
        why = "no folder has such a name"
    if why:
        raise InputError(f"cannot write into {shorten(path)}: {why}; give a folder that is there, "
                         "or the name of a new one.")  # fmt: skip
    return Path(path)


def _kind(picture: Path | None) -> str:
    """Format of a picture, by the end of its file's name."""
    kind = picture.suffix.removeprefix(".").lower() if picture else PICTURES[0]
    if kind not in PICTURES:
        raise InputError(f"a picture ends in .{', .'.join(PICTURES[:-1])} or .{PICTURES[-1]}, got "
                         f"{shorten(str(picture))}; try out.{PICTURES[0]}.")  # fmt: skip
    return kind


def _is_stream(target: Path, number: int) -> bool:
    """True if a file is the target of the standard output (1) or the standard error (2)."""
    try:
        return os.path.samefile(target, number)
    except OSError:  # closed
        return False


def _same(one: Path, other: Path) -> bool:
    """True if two paths are the same file. On Windows and macOS, capitals and small letters may be
    the same."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one).casefold() == os.path.realpath(other).casefold()


def _unwritable(path: str, why: str) -> InputError:
    return InputError(
        f"cannot write {shorten(path)}: {why}; give a file in a folder that is there."
    )


# -- what is said of a plan: figures for JSON, and the same as text ------------------------------


LARGEST = 5
"""Number of blocks alive at the peak that ``memlab plan`` lists, and of maps on the host."""


def identity(network: Network, step: Step) -> dict[str, Any]:
    """Return the names of the network and of the plan, for JSON."""
    return {
        "network": network.name,
        "variant": network.variant or None,
        "input": list(network.input_shape),
        "format": step.format,
        "optimizer": step.optimizer or None,
    }


def facts_of(network: Network, step: Step, ledger: Ledger, batch: int) -> dict[str, Any]:
    """Return the figures of a plan. JSON prints them, and the table is made from them."""
    why = ledger.why(batch)
    peak, roles = why.peak, ledger.roles(batch, why.peak.index)
    per_sample = dict.fromkeys(roles, 0)
    for block in why.blocks:
        per_sample[block.entry.role] += block.entry.size.per_sample
    label, _, settings = step.describe().partition(", ")
    return {
        "schema": "memlab.plan/2",
        "title": f"{label}, batch {batch}, {settings}",
        **identity(network, step),
        "batch": batch,
        "parameters": network.parameters,
        "peak_bytes": peak.nbytes,
        "peak_at": {"index": peak.index, "op": peak.row.name, "phase": str(peak.row.phase)},
        "host_bytes": ledger.peak(batch, HOST),
        "host_maps": list(_waiting(step)),
        "operations": len(ledger.rows),
        "roles": {str(role): nbytes for role, nbytes in roles.items()},
        "roles_per_sample": {str(role): nbytes for role, nbytes in per_sample.items()},
        "alive": len(why.blocks),
        "largest": [
            {
                "name": block.entry.name,
                "role": str(block.entry.role),
                "bytes": block.nbytes,
                "formula": block.entry.formula(batch),
                "made_by": block.made_by,
                "needed_by": block.needed_by,
            }
            for block in why.blocks[:LARGEST]
        ],
    }


def placed(step: Step, ledger: Ledger, batch: int, how: str | None) -> dict[str, Any]:
    """Return the figures of a placement: the arena, and the peak with everything that exists before
    the step."""
    from memlab.placement.placement import booked, place

    if how is None:
        return {"placement": None, "placed_peak_bytes": None}
    placement = place(step, batch, how)
    return {
        "placement": placement.as_dict(),
        "placed_peak_bytes": booked(ledger, placement, batch).peak(batch),
    }


def table(facts: Mapping[str, Any]) -> str:
    """Return the figures of a plan as a text table."""
    peak, at, largest = facts["peak_bytes"], facts["peak_at"], facts["largest"]
    slopes = facts["roles_per_sample"]
    rows = [(_words(role), size, slopes[role]) for role, size in facts["roles"].items()]
    rows.append(("total", peak, sum(slopes.values())))
    width = max(len(block["name"]) for block in largest)
    others = facts["alive"] - len(largest)
    rest = peak - sum(block["bytes"] for block in largest)
    lines = [
        facts["title"],
        f"Peak {units.both(peak)} = {units.exact(peak)}",
        f"at operation {at['index'] + 1} of {facts['operations']}, {at['op']} ({at['phase']})",
        *_on_host(facts),
        *_arena(facts),
        f"\n{'at the peak':20}{'bytes':>18}{'share':>9}{'bytes per sample':>19}",
        *(
            f"{name:20}{size:18,}{100 * size / peak:7.1f} %{nbytes:19,}"
            for name, size, nbytes in rows
        ),
        f"\n{len(largest)} largest of {facts['alive']} blocks alive there",
        *(f"{b['name']:{width}}  {_words(b['role']):18}  {b['formula']}" for b in largest),
        *([f"{others} others: {units.exact(rest)}"] if others else []),
        f"\n{facts['parameters']:,} parameters",
        f"{facts['feature_map_values']:,} feature-map values per sample, "
        f"by the counting rule {facts['convention']!r}:",
    ]
    return "\n".join(lines)


def _waiting(step: Step) -> Iterator[str]:
    """Yield the maps that wait in host memory, in the order in which they are copied there."""
    for op in step.ops:
        if any(tensor.storage.memory == HOST for tensor in op.writes.values()):
            yield from (tensor.name for tensor in op.reads.values())


def _on_host(facts: Mapping[str, Any]) -> list[str]:
    """Return the lines about the maps in host memory: their bytes, and the first of them."""
    names = facts["host_maps"]
    if not facts["host_bytes"]:
        return []
    others = f" and {len(names) - LARGEST} others" if len(names) > LARGEST else ""
    bytes_ = units.exact(facts["host_bytes"])
    return [f"and {bytes_} wait on the host: {', '.join(names[:LARGEST])}{others}"]


def _arena(facts: Mapping[str, Any]) -> list[str]:
    """Return the line about the bytes of the arena, beside the peak."""
    placement, peak = facts["placement"], facts["placed_peak_bytes"]
    if placement is None:
        return []
    arena, bound, waste = (placement[f"{what}_bytes"] for what in ("arena", "lower_bound", "waste"))
    at = f"at operation {placement['busiest_index'] + 1} of {facts['operations']}"
    return [
        f"\nArena {units.both(arena)} = {units.exact(arena)}, placed: {placement['how']}",
        f"lower bound {units.exact(bound)} {at}; waste {units.exact(waste)}",
        f"with all that is there before the step: {units.exact(peak)}",
    ]


def _words(name: str) -> str:
    return name.replace("_", " ")

"""Small faults drawn by seed over the package, and which tests catch each; run by hand:

    nice python -m tests.mutants --seed 7 --of 200 --save before.json
    nice python -m tests.mutants --same before.json --save after.json --measures 300

The second line finds the mutants of the first one in another version, by function and by the text
of their line, wherever the file went; one whose line was changed is gone. A run that is begun again
with the same file of results goes on where it was, then gives more time to what time was over for.

A mutant is first shown to the quick tests that execute its line, those that execute least first,
then to the other cases of these, then to the others that execute its file. What they do not catch
can be shown to the tests that measure, of the room of its module or that import it, and to the
lessons (``--measures``, ``--notebooks``: seconds of a processor for each mutant). Which quick test
executes which line is found once for a version, and kept beside the results; ``--each 4`` looks at
so many cases of a test. Everything runs in a copy of the folder that the command is run in.

A quick test runs in a fork that has the mutated function, so that nothing is imported twice. For
what is executed at import, and for what measures, it is a new process on the mutated file.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
NOT_RUN = ("annotation", "returns", "decorator_list", "type_comment")
"""Fields of a node that no test can see."""
PYTEST = ("-q", "-p", "no:nbval", "-p", "no:cacheprovider")
PROCESS = ("-m", "pytest", *PYTEST, "-x", "--tb=no", "-m")
_QUICK = Path(__file__).with_name("quick.py").read_text("utf-8")
FOLDERS = ast.literal_eval(re.findall(r"^FOLDERS = (.*)$", _QUICK, re.MULTILINE)[0])
"""Where every test measures; to import it would be too early."""
QUICK = (*PYTEST, "-s", "-m", "not (measures)", *(f"--ignore=tests/{name}" for name in FOLDERS))
"""The quick tests; by these words they may fork."""
OVER = "time is over"
"""Of a trial in which the tests passed so far; the next run begins it again."""
PASSED = (None, "", "uncovered", OVER)
MOST = 400
"""Arguments of a new process."""
LEFT_OUT = (".git", ".venv*", "my", ".*_cache", ".hypothesis")


# -- mutants ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One change of a file: ``old``, at ``start`` to ``stop`` in its bytes, becomes ``new``.

    ``function`` is qualified and empty where the line is executed at import; ``nth`` counts the
    same change on the same line of the same function.
    """

    path: str
    function: str
    operator: str
    line: str
    old: str
    new: str
    nth: int = 0
    number: int = 0
    statement: int = 0
    start: int = 0
    stop: int = 0

    @property
    def name(self) -> tuple[str, ...]:
        """The same in every version in which this line is the same, wherever it went."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return str(self.nth), self.operator, self.line, old, new, self.function

    @property
    def short(self) -> tuple[str, ...]:
        """The same without the class of a method."""
        return *self.name[:-1], self.function.rpartition(".")[2]

    def source(self) -> bytes:
        """The file with the change."""
        data = Path(self.path).read_bytes()
        return data[: self.start] + self.new.encode() + data[self.stop :]


def mutants(path: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    data = Path(path).read_bytes()
    starts = [0]
    for row in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    same = Counter[tuple[str, ...]]()
    made = []
    for function, statement, operator, old, new in _changes(ast.parse(data)):
        start = starts[old.lineno - 1] + old.col_offset
        stop = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
        line = data[starts[old.lineno - 1] : starts[old.lineno]].decode().strip()
        was = data[start:stop].decode()
        mutant = Mutant(path, function, operator, line, was, new,
                        0, old.lineno, statement, start, stop)  # fmt: skip
        made.append(replace(mutant, nth=same[mutant.name]))
        same[mutant.name] += 1
    return sorted(made, key=lambda mutant: (mutant.number, mutant.start, mutant.operator))


Change = tuple[str, int, str, Any, str]
"""The function, the line of its statement, the operator, the part and what stands in its place."""


def _changes(node: ast.AST, function: str = "", scope: str = "", line: int = 0) -> Iterator[Change]:
    """Every change of a part of the code and of the parts in it."""
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ):
        return
    if isinstance(node, ast.stmt):
        line = node.lineno
    yield from ((function, line, *edit) for edit in _edits(node))
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if name in NOT_RUN or not isinstance(part, ast.AST):
                continue
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and name == "body":
                full = f"{scope}.{node.name}".lstrip(".")
                defined = function or (full if isinstance(node, ast.FunctionDef) else "")
                yield from _changes(part, defined, full, line)
            else:
                yield from _changes(part, function, scope, line)


def _edits(node: ast.AST) -> Iterator[tuple[str, Any, str]]:
    """The changes of one part."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in OPERATORS:
            yield "comparison", node, _with(node, ops=[OPERATORS[type(op)]()])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OPERATORS:
            yield type(op).__name__, node, _with(node, op=OPERATORS[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign", node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(flag)):
            yield "constant", node, str(not flag)
        case ast.Constant(value=int(number)):
            yield "constant", node, str(number + 1)
        case ast.Constant(value=float(number)):
            yield "constant", node, repr(2 * number or 1.0)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "negated", test, f"(not ({ast.unparse(test)}))"
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return", node, "return None"
        case (
            ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom())
            | ast.AugAssign()
            | ast.Raise()
        ):
            yield "removed", node, "pass"
        case ast.comprehension(ifs=[condition, *_]):
            yield "filter", condition, "True"
        case ast.Call():
            yield from _calls(node)


def _calls(node: ast.Call) -> Iterator[tuple[str, Any, str]]:
    if isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield "call", node.func, CALLS[node.func.id]
    if len(node.args) > 1 and alike(*node.args[:2]):
        first, second, *rest = node.args
        yield "arguments", node, _with(node, args=[second, first, *rest])
    if len(node.keywords) > 1 and all(keyword.arg for keyword in node.keywords[:2]):
        one, other, *more = node.keywords
        pair = ast.keyword(one.arg, other.value), ast.keyword(other.arg, one.value)
        yield "keywords", node, _with(node, keywords=[*pair, *more])


def alike(one: ast.expr, other: ast.expr) -> bool:
    """Whether two arguments could be taken for each other."""
    return type(one) is type(other) and not isinstance(one, ast.Starred | ast.JoinedStr)


def _with(node: ast.AST, **fields: Any) -> str:
    """The code of a part with other fields."""
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})"


def files() -> list[str]:
    """The modules of the package."""
    return sorted(str(path) for path in Path("memlab").rglob("*.py"))


def drawn(seed: int, count: int) -> list[Mutant]:
    """One mutant for each of so many lines."""
    lines = defaultdict[tuple[str, int], list[Mutant]](list)
    for path in files():
        for mutant in mutants(path):
            lines[path, mutant.number].append(mutant)
    draw = random.Random(seed)
    return [draw.choice(lines[line]) for line in draw.sample(sorted(lines), count)]


def again(mutants_before: Iterable[Mutant]) -> list[Mutant | None]:
    """The same mutants in this version, ``None`` where there is none."""
    known = defaultdict[tuple[str, ...], list[Mutant]](list)
    for path in files():
        for mutant in mutants(path):
            for name in {mutant.name, mutant.short}:
                known[name].append(mutant)
    return [_nearest(old, known) for old in mutants_before]


def _nearest(old: Mutant, known: dict[tuple[str, ...], list[Mutant]]) -> Mutant | None:
    """The one of the same file, else of a file of the same name, else the only one."""
    for name in (old.name, old.short):
        near = known.get(name, [])
        for end in (old.path, Path(old.path).name, ""):
            same = [mutant for mutant in near if mutant.path.endswith(end)]
            if len(same) == 1:
                return same[0]
    return None


# -- which test executes which line ----------------------------------------------------------------


class Lines:
    """A plugin of pytest that writes which lines of the package each test executes."""

    def __init__(self, path: str, each: int) -> None:
        self.cover = coverage.Coverage(path, include=[f"{os.getcwd()}/memlab/*"], config_file=False)
        self.path, self.each, self.failed = path, each, set[str]()
        self.cover.start()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep so many cases of a test, evenly spaced, and every golden page."""
        groups = defaultdict[str, list[pytest.Item]](list)
        for item in items:
            if not item.get_closest_marker("measures"):
                groups[item.nodeid.partition("[")[0]].append(item)
        items[:] = []
        for name, group in groups.items():
            items += group[:: 1 if "golden" in name else -(-len(group) // self.each)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.cover.switch_context(item.nodeid)
        result = yield
        self.cover.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_unconfigure(self) -> None:
        self.cover.stop()
        self.cover.save()
        Path(f"{self.path}.failed").write_text(json.dumps(sorted(self.failed)))


class Known:
    """The quick tests that execute a line, or a file; those that fail without a mutant left out."""

    def __init__(self, path: str) -> None:
        self.data = coverage.CoverageData(path)
        self.data.read()
        failed = Path(f"{path}.failed")
        self.failed = set(json.loads(failed.read_text()) if failed.exists() else ())
        self.paths = {re.sub(r".*?/(?=memlab/)", "", file): file
                      for file in sorted(self.data.measured_files(), key=len)}  # fmt: skip
        self.lines = Counter[str]()
        for file in self.paths:
            self.lines.update(test for tests in self.of(file).values() for test in tests)

    @cache  # noqa: B019  # one object
    def of(self, path: str) -> dict[int, set[str]]:
        """The tests of every line of a file."""
        lines = self.data.contexts_by_lineno(self.paths[path]) if path in self.paths else {}
        return {number: {*tests} - {""} - self.failed for number, tests in lines.items()}

    def at_import(self, mutant: Mutant) -> bool:
        """Whether a line is executed before any test is, where a fork may come too late."""
        lines = self.data.contexts_by_lineno(self.paths[mutant.path])
        return "" in lines.get(mutant.number, ())

    def tests(self, mutant: Mutant) -> list[list[str]]:
        """Those of the line, and the others of the file."""
        of = self.of(mutant.path)
        near = of.get(mutant.number) or of.get(mutant.statement) or set()
        near = near if mutant.function else set()
        every = {test for tests in of.values() for test in tests}
        return [self.ordered(near), self.ordered(every - near)]

    def ordered(self, tests: Iterable[str]) -> list[str]:
        """Those that execute few lines first, module by module, so that fixtures are made once."""
        least = dict[str, int]()
        for test in tests:
            module = test.partition("::")[0]
            least[module] = min(self.lines[test], least.get(module, self.lines[test]))

        def place(test: str) -> tuple[int, str, int, str]:
            module = test.partition("::")[0]
            return least[module], module, self.lines[test], test

        return sorted(tests, key=place)


# -- trials ----------------------------------------------------------------------------------------


@dataclass
class Trial:
    """What the tests say to a mutant: the first that fails; ``"stops"`` where the process ends by
    itself or does not end; one of ``PASSED``; ``None``: not tried, or gone."""

    mutant: Mutant
    quick: str | None = None
    measures: str | None = None
    notebooks: str | None = None
    seconds: float = 0
    gone: bool = False

    @property
    def verdict(self) -> str:
        """By whom it is caught."""
        if self.gone:
            return "gone"
        if self.quick is None:
            return "not tried"
        parts = ("quick", *SLOW)
        return next((part for part in parts if getattr(self, part) not in PASSED), "none")


@dataclass
class Results:
    """The trials of a run, saved after each."""

    path: Path
    trials: list[Trial] = field(default_factory=list)

    def save(self) -> None:
        """Write them."""
        rows = [asdict(trial) | {"verdict": trial.verdict} for trial in self.trials]
        self.path.write_text(json.dumps(rows, indent=1, ensure_ascii=False), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Those that a run saved."""
        rows = json.loads(path.read_text("utf-8"))
        for row in rows:
            del row["verdict"]
        return cls(path, [Trial(**row | {"mutant": Mutant(**row["mutant"])}) for row in rows])


class Trials:
    """A plugin of pytest that shows each mutant to the quick tests, in a fork."""

    def __init__(self, results: Results, known: Known, limit: int, until: float) -> None:
        self.results, self.known, self.limit, self.until = results, known, limit, until
        self.failed = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.functions = functions(
            {trial.mutant.path for trial in self.results.trials} & {*self.known.paths}
        )
        for trial in sorted(self.results.trials, key=lambda trial: trial.quick == OVER):
            if trial.quick in (None, OVER) and not trial.gone and time.time() < self.until:
                start = time.monotonic()
                trial.quick = self.quick(trial.mutant)
                trial.seconds = round(time.monotonic() - start, 1)
                print(f"\n{trial.verdict:10}{trial.seconds:6} s  {trial.mutant.path}:"
                      f"{trial.mutant.number} {trial.mutant.old!r} -> {trial.mutant.new!r}"
                      f"  {trial.quick}", flush=True)  # fmt: skip
                self.results.save()
        return True

    def quick(self, mutant: Mutant) -> str:
        """The quick test that fails."""
        near, far = self.known.tests(mutant)
        called = {name.partition("[")[0] for name in near}
        cases = [name for name in self.items if name.partition("[")[0] in called]
        tests = [name for name in dict.fromkeys((*near, *cases, *far)) if name in self.items]
        if not tests:
            return "uncovered"
        here = (mutant.path, mutant.function) in self.functions
        said = self.forked(mutant, tests) if here else OVER
        if said not in PASSED or (here and not self.known.at_import(mutant)):
            return said
        every_case = dict.fromkeys(name.partition("[")[0] for name in tests)
        return in_process(mutant, [*PROCESS, "not measures", *every_case][:MOST], self.limit)

    def forked(self, mutant: Mutant, tests: list[str]) -> str:
        """The first of these tests that fails in a fork with the mutated function."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            self.child(mutant, tests, writer)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            failed = pipe.read()
        _, status = os.waitpid(child, 0)
        ended = {0: "", signal.SIGALRM: OVER}
        return failed or ended.get(status, "stops")

    def child(self, mutant: Mutant, tests: list[str], writer: int) -> None:
        """Run the tests until one fails, or until the time is over; then end the process."""
        nothing = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        start = time.process_time()
        limit_processor(int(start) + self.limit + 30)
        signal.alarm(30 * self.limit)
        said = ""
        try:
            plant(mutant, self.functions[mutant.path, mutant.function])
            for name, following in zip(tests, [*tests[1:], ""], strict=True):
                item, nextitem = self.items[name], self.items.get(following)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
                over = time.process_time() - start > self.limit
                if said := self.failed or (OVER if over else ""):
                    break
            os.write(writer, said.encode())
            os._exit(0)
        finally:
            os._exit(1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


Functions = dict[tuple[str, str], list[FunctionType]]


def functions(paths: Iterable[str]) -> Functions:
    """The functions of some files, and of all that is loaded, by file and qualified name."""
    for path in paths:
        try:
            importlib.import_module(dotted(path))
        except Exception as error:  # a library that is missing
            print(f"{path}: {error}")
    found: Functions = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType:  # to ask for the class warns in some of PyTorch's
            path = thing.__code__.co_filename.removeprefix(f"{os.getcwd()}/")
            found[path, thing.__code__.co_qualname].append(thing)
    return dict(found)


def plant(mutant: Mutant, planted: list[FunctionType]) -> None:
    """Give the functions the code of the mutant."""
    code = compile(mutant.source(), os.path.abspath(mutant.path), "exec", dont_inherit=True)
    for function in planted:
        old = function.__code__
        same = [new for new in _codes(code) if new.co_qualname == old.co_qualname]
        line = old.co_firstlineno
        function.__code__ = min(same, key=lambda new: abs(new.co_firstlineno - line))


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


# -- new processes ---------------------------------------------------------------------------------


def in_process(mutant: Mutant, command: Sequence[str], limit: int) -> str:
    """The first test that fails where a command runs on the mutated file."""
    path, before = Path(mutant.path), Path(mutant.path).stat()
    original, mutated = path.read_bytes(), mutant.source()
    path.write_bytes(mutated)
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=20 * limit,
            preexec_fn=partial(limit_processor, limit),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return OVER
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    if failed := re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE):
        return failed[1]
    over = done.returncode in (-signal.SIGKILL, -signal.SIGXCPU)
    return "" if done.returncode in (0, 5) else OVER if over else "stops"


def limit_processor(seconds: int) -> None:
    """End this process after so many seconds of a processor."""
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def by_measures(mutant: Mutant, limit: int, broken: list[str]) -> str:
    """The first test that measures and fails; one that fails without the mutant too joins the
    ``broken`` ones, which are left out."""
    while True:
        left_out = [f"--deselect={test}" for test in broken]
        said = in_process(mutant, [*PROCESS, "measures", *left_out, *measuring(mutant)], limit)
        if said in (*PASSED, "stops"):
            return said
        right = replace(mutant, new=mutant.old)
        if in_process(right, [*PROCESS, "measures", said], limit) in PASSED:
            return said
        broken.append(said)


def by_notebooks(mutant: Mutant, limit: int, broken: list[str]) -> str:
    """The first cell of a lesson that fails."""
    return in_process(mutant, ["tests/run.py", "notebooks"], limit)


SLOW = {"measures": by_measures, "notebooks": by_notebooks}
"""The parts that are shown what no quick test catches."""


def measuring(mutant: Mutant) -> list[str]:
    """The files of tests of a mutant's module, nearest first: of its name, those that import it,
    those of its room."""
    path, name = Path(mutant.path), dotted(mutant.path)
    parent, _, last = map(re.escape, name.rpartition("."))
    imported = re.compile(rf"\b{parent}\.{last}\b|from {parent} import .*\b{last}\b")
    places = []
    for file in sorted(Path("tests").rglob("test_*.py")):
        here = file.stem == f"test_{path.stem}"
        near = (
            here,
            bool(imported.search(file.read_text("utf-8"))),
            file.parts[1] == path.parts[1],
        )
        if any(near) and file.parts[1] != "browser":
            places.append((*(not one for one in near), str(file)))
    return [str(place[-1]) for place in sorted(places)]


def dotted(path: str) -> str:
    """The name by which a module is imported."""
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def report(trials: list[Trial]) -> None:
    """Print how many are caught by which tests."""
    for verdict, count in Counter(trial.verdict for trial in trials).most_common():
        print(f"{verdict:10}{count:5}")


def main(arguments: list[str]) -> None:
    """Draw mutants, or find those of another run, and show them to the tests."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--of", type=int, default=200)
    parser.add_argument("--same", type=absolute, help="results of another version")
    parser.add_argument(
        "--save",
        type=absolute,
        default=Path(tempfile.gettempdir()) / "mutants.json",
        help="results",
    )
    parser.add_argument("--lines", type=absolute, help="which test executes which line")
    parser.add_argument("--each", type=int, default=1000, help="cases of a test that are looked at")
    parser.add_argument("--limit", type=int, default=60, help="seconds of quick tests")
    for part in SLOW:
        parser.add_argument(f"--{part}", type=int, default=0, help=f"seconds of the {part}")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which nothing is begun")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        ignored = shutil.ignore_patterns(*LEFT_OUT)
        shutil.copytree(".", folder, ignore=ignored, symlinks=True, dirs_exist_ok=True)
        os.chdir(folder)
        sys.path[0] = os.environ["PYTHONPATH"] = folder
        show(given)


def absolute(path: str) -> Path:
    """A path that stays where it is when the folder changes."""
    return Path(path).resolve()


def show(given: argparse.Namespace) -> None:
    """Show mutants to the tests, the quick ones first."""
    results, until = begun(given), time.time() + 60 * given.minutes
    report(results.trials)
    lines = given.lines or given.save.with_suffix(".lines")
    if not lines.exists():
        if os.fork() == 0:  # here no module is loaded, so that the lines of imports are seen
            os._exit(pytest.main([*QUICK, "tests"], [Lines(str(lines), given.each)]))
        os.wait()
    pytest.main([*QUICK, "tests"], [Trials(results, Known(str(lines)), given.limit, until)])
    for part in SLOW:
        if limit := getattr(given, part):
            slowly(results, part, limit, until)
    report(results.trials)


def begun(given: argparse.Namespace) -> Results:
    """The trials that an earlier run has left, else those to be done."""
    if given.save.exists():
        return Results.read(given.save)
    if not given.same:
        return Results(given.save, [Trial(mutant) for mutant in drawn(given.seed, given.of)])
    old = [trial.mutant for trial in Results.read(given.same).trials]
    pairs = zip(old, again(old), strict=True)
    return Results(given.save, [Trial(new or mutant, gone=not new) for mutant, new in pairs])


def slowly(results: Results, part: str, limit: int, until: float) -> None:
    """Show what nothing has caught to a slow part of the tests."""
    broken: list[str] = []
    for trial in results.trials:
        if trial.verdict == "none" and getattr(trial, part) in (None, OVER) and time.time() < until:
            mutant = trial.mutant
            said = SLOW[part](mutant, limit, broken)
            setattr(trial, part, said)
            print(f"{trial.verdict:10}{mutant.path}:{mutant.number}  {said}", flush=True)
            results.save()


if __name__ == "__main__":
    main(sys.argv[1:])

"""Run every check and every test, print the seconds of each part, and fail if any failed.

`make test` calls this and `make check` the parts of a minute: `python tests/run.py check`.
`python tests/run.py types quick` runs the named parts only. Of a test function with many cases a
part runs a few, drawn by tests/drawn.py; the part `crosses`, of `make full`, runs all of them.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sysconfig.get_path("scripts"))
PYTEST = "pytest -q -n 2"
TESTS = f"{PYTEST} -p no:nbval --dist worksteal"
NOTEBOOKS = (
    f"{PYTEST} -p tests.notebooks --nbval --nbval-current-env --nbval-cell-timeout 120"
    " --dist loadfile"
)
PARTS = {
    "lint": "ruff check",
    "format": "ruff format --check",
    "types": "mypy",
    "imports": "lint-imports --no-logo",
    "quick": f"{TESTS} --cases 2 -m 'not measures'",
    "cases": f"{TESTS} --cases 8 -m 'not measures'",
    "measures": f"{TESTS} --cases 3 -m measures --ignore tests/browser --ignore tests/web",
    "notebooks": f"{NOTEBOOKS} lessons/*.ipynb lessons/solutions/*.ipynb lessons/appendix/*.ipynb"
    " lessons/??/*.ipynb lessons/??/solutions/*.ipynb",
    "browser": f"{TESTS} --cases 3 --reruns 1 -r R tests/browser",
    "web": f"{TESTS} --reruns 1 -r R -m measures tests/web",
    "crosses": f"{TESTS} --reruns 1",
}
"""A machine that others share may stall for longer than a browser waits: there, a test that failed
is tried once more, and named."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
TOOLS_ALONE = ("lint", "format", "types", "imports")
TARGETS = {
    "check": (*TOOLS_ALONE, "quick"),
    "test": (*TOOLS_ALONE, "cases", "measures", "notebooks", "browser", "web"),
}
"""What takes a minute and measures, compiles and opens nothing; and everything, once."""


def command(line: str) -> list[str]:
    """Split a line of the table; a pattern stands for the files that match it."""
    tool, *rest = shlex.split(line)
    words = [shutil.which(tool, path=TOOLS) or tool]
    for word in rest:
        matches = sorted(ROOT.glob(word)) if "*" in word else []
        words += [str(path.relative_to(ROOT)) for path in matches] or [word]
    return words


def environment() -> dict[str, str]:
    """That of the tools: pytest finds its plugins among the tests before it knows the folder, and
    every process finds the bytecode of those before it."""
    kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    return kept | {"PYTHONPATH": str(ROOT)}


def run(name: str) -> tuple[str, float, bool]:
    """Run one part; return its name, its seconds and whether it passed."""
    print(f"\n== {name}: {PARTS[name]}", flush=True)
    start = time.monotonic()
    done = subprocess.run(command(PARTS[name]), cwd=ROOT, env=environment())
    return name, time.monotonic() - start, done.returncode == 0


def main(names: list[str]) -> int:
    """Run the named parts, or those of `make test`, each whatever the others did."""
    names = [part for name in names or ["test"] for part in TARGETS.get(name, [name])]
    if unknown := set(names) - set(PARTS):
        known = ", ".join([*TARGETS, *PARTS])
        print(f"No part is called {' or '.join(sorted(unknown))}; there are: {known}.")
        return 2
    results = [run(name) for name in names]
    print(f"\n{'part':12}seconds")
    for name, seconds, passed in results:
        print(f"{name:12}{seconds:7.1f}  {'passed' if passed else 'FAILED'}")
    print(f"{'all':12}{sum(seconds for _, seconds, _ in results):7.1f}")
    return 0 if all(passed for *_, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

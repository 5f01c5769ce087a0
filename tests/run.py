"""Run every check and every test, print the minutes of each, and fail if any failed.

`make test` calls this; `python tests/run.py types units` runs the named parts only.
"""

import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sysconfig.get_path("scripts"))
PYTEST = "pytest -q"
NOTEBOOKS = f"{PYTEST} --nbval --nbval-current-env --nbval-cell-timeout 120 -n 2 --dist loadfile"
PARTS = {
    "lint": "ruff check",
    "format": "ruff format --check",
    "types": "mypy",
    "imports": "lint-imports --no-logo",
    "units": f"{PYTEST} -n 2 --ignore tests/browser",
    "notebooks": f"{NOTEBOOKS} lessons/*.ipynb lessons/solutions/*.ipynb",
    "browser": f"{PYTEST} -n 2 --dist loadfile tests/browser",
}


def command(line: str) -> list[str]:
    """Split a line of the table; a pattern stands for the files that match it."""
    tool, *rest = line.split()
    words = [shutil.which(tool, path=TOOLS) or tool]
    for word in rest:
        matches = sorted(ROOT.glob(word)) if "*" in word else []
        words += [str(path.relative_to(ROOT)) for path in matches] or [word]
    return words


def run(name: str) -> tuple[str, float, bool]:
    """Run one part; return its name, its minutes and whether it passed."""
    print(f"\n== {name}: {PARTS[name]}", flush=True)
    start = time.monotonic()
    passed = subprocess.run(command(PARTS[name]), cwd=ROOT).returncode == 0
    return name, (time.monotonic() - start) / 60, passed


def main(names: list[str]) -> int:
    """Run the named parts, or all of them, each whatever the others did."""
    if unknown := set(names) - set(PARTS):
        print(f"No part is called {' or '.join(sorted(unknown))}; there are: {', '.join(PARTS)}.")
        return 2
    results = [run(name) for name in names or PARTS]
    print(f"\n{'part':12}minutes")
    for name, minutes, passed in results:
        print(f"{name:12}{minutes:7.2f}  {'passed' if passed else 'FAILED'}")
    print(f"{'all':12}{sum(minutes for _, minutes, _ in results):7.2f}")
    return 0 if all(passed for *_, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

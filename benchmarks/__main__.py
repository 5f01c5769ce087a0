"""``python -m benchmarks NAME [--json] [--plot FILE]``; without a name, a list of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import benchmarks
from benchmarks.plot import BenchmarkTimes
from memlab import atomic_files
from memlab.bench import listing
from memlab.errors import InputError, one_option


def main(words: Sequence[str] | None = None) -> int:
    """Run a benchmark and print its figures; 2 where the arguments make no sense."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("name", nargs="?", help="such as plan; without one they are listed")
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the timings: an SVG file")
    options = parser.parse_args(words)
    try:
        print(_run(options.name, options.json, options.plot))
    except (InputError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    return 0


def _run(name: str | None, as_json: bool, plot: Path | None) -> str:
    """The figures of a benchmark in words or as JSON, after its plot was written."""
    if plot is not None and name not in benchmarks.PLOTTED:
        known = ", ".join(benchmarks.PLOTTED)
        raise InputError(f"--plot draws one of {known}, got {name}; leave it out.")
    if name is None:
        listed = list(benchmarks.BENCHMARKS)
        return json.dumps(listed) if as_json else listing(benchmarks.BENCHMARKS)
    benchmark = one_option("benchmark", name, benchmarks.BENCHMARKS)
    if plot is not None:
        atomic_files.place(plot)  # what cannot be written is refused before the run
    result = benchmark()
    if plot is not None:
        atomic_files.write(plot, BenchmarkTimes(result).svg() + "\n")
    return json.dumps(result.as_dict(), indent=1) if as_json else str(result)


if __name__ == "__main__":
    sys.exit(main())

"""Build the site: ``python -m web.site [FOLDER]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from memlab.errors import InputError
from web.lite.build import build as add_lite
from web.publish.repository import NONE, repository
from web.site.build import BUILD, build


def main(arguments: list[str] | None = None) -> int:
    """Build the site and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m web.site", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=BUILD, help="where to write")
    parser.add_argument("--lite", action="store_true", help="add JupyterLite")
    given = parser.parse_args(arguments)
    try:
        where = repository()
        if where is None:
            print(NONE)
        build(given.folder, where, lite=given.lite)
        if given.lite:
            add_lite(given.folder)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The site is {given.folder / 'index.html'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
